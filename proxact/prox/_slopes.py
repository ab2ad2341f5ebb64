"""Functions of one number: are all slopes in [0, 1]?"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from ._classification import Classification, no

_HALVINGS, _JUMP = 18, 1e3  # a slope that grows this much when the points come together is a jump


def classify_numbers(function: Callable[[Tensor], Tensor], radius: float, dtype: torch.dtype) -> Classification:
    near = torch.logspace(-6, 1, 1001, dtype=dtype) * radius
    x = torch.cat([torch.linspace(-radius, radius, 20_001, dtype=dtype), near, -near]).unique()
    # Points that nearly coincide would only show the rounding of f.
    gap = 8 * torch.finfo(dtype).eps ** 0.5 * x[1:].abs()
    x = torch.cat([x[:1], x[1:][x.diff() > gap]])
    y = function(x)
    if not y.isfinite().all():
        where = x[~y.isfinite()][0]
        return no(f"not finite at x = {where:.4g}", where)
    slope = y.diff() / x.diff()
    size = y.abs() + x.abs()
    noise = 1e-9 + 16 * torch.finfo(dtype).eps * (size[1:] + size[:-1]) / x.diff()
    falls, climbs = slope < -noise, slope > 1 + noise
    at_low, low, jump_down = _steepest(function, x, slope, -1)
    at_high, high, jump_up = _steepest(function, x, slope, 1)
    for is_wrong, where, steep, jump in ((falls, at_low, low, jump_down), (climbs, at_high, high, jump_up)):
        if is_wrong.any() and jump:
            return no(f"not continuous: jumps by {jump:.4g} at x = {where:.4g}", where, low, high)
        if is_wrong.any():
            kind = "not monotone" if steep < 0 else "not 1-Lipschitz"
            return no(f"{kind}: slope {steep:.4g} at x = {where:.4g}", where, low, high)
    return Classification(True, f"monotone and 1-Lipschitz, slopes in [{low:.4g}, {high:.4g}]", low, high, 0.0, None)


def _steepest(
    function: Callable[[Tensor], Tensor], x: Tensor, slopes: Tensor, sign: int
) -> tuple[Tensor, float, float | None]:
    """Where f climbs (sign = 1) or falls most, its slope there, and the height if it is a jump.

    The interval is halved towards the steeper side: the slope settles at a value or, at a jump, doubles every time.
    """
    worst = int((sign * slopes).argmax())
    ends, first = x[worst : worst + 2], slopes[worst].item()
    for _ in range(_HALVINGS):
        middle = ends.mean()
        halves = [torch.stack([ends[0], middle]), torch.stack([middle, ends[1]])]
        ends = max(halves, key=lambda half: sign * _slope(function, half))
    slope = _slope(function, ends)
    jump = function(ends).diff().item() if abs(slope) > _JUMP * abs(first) else None
    return ends[0], slope, jump


def _slope(function: Callable[[Tensor], Tensor], ends: Tensor) -> float:
    return (function(ends).diff() / ends.diff()).item()
