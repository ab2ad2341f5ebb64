"""Exchange the activations of existing models: ``convert``, ``revert``, ``summary``, ``param_groups``."""

from .groups import param_groups
from .model import convert, revert
from .report import Report
from .summary import Summary, summary

__all__ = ["Report", "Summary", "convert", "param_groups", "revert", "summary"]
