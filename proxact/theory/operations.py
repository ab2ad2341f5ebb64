"""The paper's table of operations, counted by a scalar that tallies what is done to it."""

from __future__ import annotations

import functools
import math
import operator
from collections import Counter
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from ..project import cone
from .claim import Claim, Construction
from .measure import F64, cone_gap, normal, worst

OPERATIONS = ("+", "-", "*", "/", "sqrt", "compare")


class Counted:
    """A float that counts its operations in a tally it shares with its results."""

    def __init__(self, value: float, tally: Counter[str]) -> None:
        self.value = value
        self.tally = tally

    def _after(self, operation: str, value: float) -> Counted:
        self.tally[operation] += 1
        return Counted(value, self.tally)

    def __add__(self, other: Counted | float) -> Counted:
        return self._after("+", self.value + _value(other))

    def __sub__(self, other: Counted | float) -> Counted:
        return self._after("-", self.value - _value(other))

    def __mul__(self, other: Counted | float) -> Counted:
        return self._after("*", self.value * _value(other))

    def __truediv__(self, other: Counted | float) -> Counted:
        return self._after("/", self.value / _value(other))

    def __pow__(self, exponent: float) -> Counted:
        if exponent != 0.5:
            raise ValueError(f"only the power 0.5, a square root, is counted; got {exponent}")
        return self._after("sqrt", math.sqrt(self.value))

    def __le__(self, other: Counted | float) -> bool:
        self.tally["compare"] += 1
        return self.value <= _value(other)


def cone_formula(x: Sequence[Any], alpha: float, planar: bool = False) -> list[Any]:
    """The projection onto C_alpha^(m), 0 < alpha < pi/2, in the order of operations whose count is the paper's table.

    What depends on m and alpha alone is a constant and not counted. Outside the cone the projection is a + h / b, which
    takes no multiplication for each entry, and b <= 1 says that x is inside, which takes no tan(alpha) t.

    Args:
        x: m floats, or anything with their operations, such as :class:`Counted`.
        alpha: half-apex angle.
        planar: for m = 2, the norm without a square root: h is (d, -d).
    """
    m, tan = len(x), math.tan(alpha)
    root = math.sqrt(m)
    mean = _total(x) / m
    h = [entry - mean for entry in x]
    t = mean * root
    if planar:
        n, unit = (h[0] if h[1] <= h[0] else h[1]), root
    else:
        n, unit = _total([entry * entry for entry in h]) ** 0.5, 1.0
    reach = n * (unit * tan) + t  # unit * n is the norm of h
    if reach <= 0:
        return [0.0] * m
    s = reach / (tan * tan + 1)
    shrink = n / (s * (tan / unit))
    if shrink <= 1:
        return list(x)
    along = s * (1 / root)
    return [along + entry / shrink for entry in h]


def count_operations(m: int, alpha: float = 0.5, planar: bool = False) -> dict[str, int]:
    """The operations of the costliest case, which is that of a point with a nonzero projection outside the cone."""
    tally: Counter[str] = Counter()
    cone_formula([Counted(float(i == 0), tally) for i in range(m)], alpha, planar)
    return {operation: tally[operation] for operation in OPERATIONS}


def paper_counts(m: int) -> list[int]:
    """The rows of the paper's table."""
    return [3 * m - 1, m, m + 4, m + 3, 1, 2]


def _value(number: Counted | float) -> float:
    return number.value if isinstance(number, Counted) else number


def _total(terms: Sequence[Any]) -> Any:
    return functools.reduce(operator.add, terms)


SIZES = range(3, 10)
ALPHA = 0.8
POINTS, PLANAR_POINTS = 2 * normal(300, 5, seed=1), 2 * normal(300, 2, seed=2)


def _projected_by_formula() -> Construction:
    general = [cone_formula(x, ALPHA) for x in POINTS.tolist()]
    planar = [cone_formula(x, ALPHA, planar=True) for x in PLANAR_POINTS.tolist()]
    return {"general": torch.tensor(general, dtype=F64), "planar": torch.tensor(planar, dtype=F64)}


def _formula_gap(general: Tensor, planar: Tensor) -> float:
    certified = worst(cone_gap(POINTS, general, ALPHA), cone_gap(PLANAR_POINTS, planar, ALPHA))
    return worst(certified, general - cone(POINTS, ALPHA, 5), planar - cone(PLANAR_POINTS, ALPHA))


def _counted() -> Construction:
    general = [list(count_operations(m).values()) for m in SIZES]
    planar = list(count_operations(2, planar=True).values())
    return {"general": torch.tensor(general, dtype=F64), "planar": torch.tensor(planar, dtype=F64)}


def _count_gap(general: Tensor, planar: Tensor) -> float:
    table = torch.tensor([paper_counts(m) for m in SIZES], dtype=F64)
    return worst(general - table, planar - torch.tensor([4, 2, 4, 5, 0, 3], dtype=F64))


def _count_reading(general: Tensor, planar: Tensor) -> str:
    slope = general[1].sum() - general[0].sum()
    return f"total {slope:g} m + {general[0].sum() - slope * SIZES[0]:g}, and {planar.sum():g} for m = 2"


CLAIMS = [
    Claim(
        name="the projection formula gives the projection",
        where="Theorem 4",
        construct=_projected_by_formula,
        residual=_formula_gap,
    ),
    Claim(
        name="every row of the table of operations, for m = 2 and for m = 3 to 9",
        where="Table of complexity",
        construct=_counted,
        residual=_count_gap,
        tolerance=0.0,
        kind="count",
        reading=_count_reading,
    ),
]
