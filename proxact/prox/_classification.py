"""The answer of ``prox.classify``."""

from __future__ import annotations

import math
from dataclasses import dataclass

from torch import Tensor


@dataclass(frozen=True)
class Classification:
    """What was found out about a function. True in an ``if`` when it can be the prox of a convex penalty."""

    is_prox: bool
    reason: str
    """Why, in words, with the number that decides."""
    lowest: float
    """The least slope, or the least eigenvalue of a Jacobian (of its symmetric part)."""
    highest: float
    """The greatest."""
    asymmetry: float
    """The largest difference between a Jacobian and its transpose."""
    x: Tensor | None
    """Where the reason was found; None for a prox."""

    def __bool__(self) -> bool:
        return self.is_prox

    def __str__(self) -> str:
        return f"{'a prox' if self.is_prox else 'no prox'}: {self.reason}"


def no(reason: str, x: Tensor, low: float = math.nan, high: float = math.nan, skew: float = 0.0) -> Classification:
    """A function that is no prox, and why."""
    return Classification(False, reason, low, high, skew, x)
