"""Many runs, on this machine or a cluster: ``proxact sweep``, and what other commands run their jobs with."""

from .execute import execute
from .job import Job, Outcome

__all__ = ["Job", "Outcome", "execute"]
