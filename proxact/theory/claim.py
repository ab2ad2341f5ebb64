"""A claim is something constructed and a measure of how far it is from what was claimed of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, NamedTuple

from torch import Tensor

Construction = dict[str, Tensor]
Kind = Literal["exact", "witness", "approximation", "count"]


class Verdict(NamedTuple):
    holds: bool
    residual: float
    reading: str = ""
    printed_residual: float | None = None


@dataclass(frozen=True, kw_only=True)
class Claim:
    """A result of the paper that can be wrong.

    Attributes:
        name: what is claimed.
        where: the place in the paper.
        construct: what the claim says exists: weights, points, numbers.
        residual: takes a construction by keywords, and measures how far it is from what is claimed of it. It must not
            see where the construction came from, so that a wrong one has a large residual.
        tolerance: the largest residual of a claim that holds.
        kind: ``exact`` weights that give the same function, a ``witness`` that something is impossible, an
            ``approximation`` whose error was measured, a ``count``.
        reading: numbers of the construction that are worth printing.
    """

    name: str
    where: str
    construct: Callable[[], Construction]
    residual: Callable[..., float]
    tolerance: float = 1e-12
    kind: Kind = "exact"
    reading: Callable[..., str] | None = None

    def verdict(self) -> Verdict:
        construction = self.construct()
        residual = self.residual(**construction)
        reading = self.reading(**construction) if self.reading else ""
        return Verdict(residual <= self.tolerance, residual, reading)  # a nan does not hold


@dataclass(frozen=True, kw_only=True)
class Erratum(Claim):
    """A correction: ``name`` says what holds, ``says`` what is printed. Where what is printed can be constructed too,
    the same residual must refuse it."""

    says: str
    printed: Callable[[], Construction] | None = None

    def verdict(self) -> Verdict:
        verdict = super().verdict()
        if self.printed is None:
            return verdict
        residual = self.residual(**self.printed())
        refused = not residual <= self.tolerance
        return verdict._replace(holds=verdict.holds and refused, printed_residual=residual)
