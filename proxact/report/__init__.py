"""``proxact report``: one page on which every experiment shows its results beside the paper's."""

from .build import build

__all__ = ["build"]
