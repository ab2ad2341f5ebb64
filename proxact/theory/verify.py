"""Every claim and every correction, run and printed."""

from __future__ import annotations

from collections.abc import Sequence

from . import approximation, embedding, gradient_step, inclusion, leaky, operations, placement, representability
from .claim import Claim, Erratum
from .errata import ERRATA

CLAIMS: list[Claim] = [
    *gradient_step.CLAIMS,
    *inclusion.CLAIMS,
    *operations.CLAIMS,
    *embedding.CLAIMS,
    *placement.CLAIMS,
    *representability.CLAIMS,
    *approximation.CLAIMS,
    *leaky.CLAIMS,
]


def verify_all(claims: Sequence[Claim] = CLAIMS, errata: Sequence[Erratum] = ERRATA) -> bool:
    """Print each claim with its residual and verdict, then the errata; return whether all hold."""
    from .show import show  # rich is for the command line alone

    return show(claims, errata)
