r"""Numerical minimisation of :math:`w\,\phi(y) + \tfrac12 \|y - x\|^2`, which knows nothing of its closed form.

Numbers: golden-section search on values. Vectors: the ellipsoid method, which needs no more than a subgradient of the
objective where y is in the domain and of ``outside`` where it is not; so kinks, corners and sets without interior are
no different from the smooth case. Both in float64, all points at once.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
from torch import Tensor

Penalty = Callable[[Tensor], Tensor]

_GOLDEN = (3 - math.sqrt(5)) / 2
_REACH = 100.0  # how far from x, in units of 1 + |x|, a number is looked for
_GOLDEN_STEPS = 75  # from the reach of |x| = 100 to the 1e-8 that values can tell
_FEASIBLE = 1e-8  # a point this little outside counts as inside: a plane has to have some thickness
_SMALL = 1e-8  # the size of an ellipsoid that is not cut again


def event_axes(penalty: Penalty, x: Tensor) -> int:
    """How many of the last axes of x are one argument of the penalty: 0 if it acts on numbers, 1 on vectors."""
    with torch.no_grad():
        return x.ndim - penalty(x).ndim


def minimise(penalty: Penalty, x: Tensor, outside: Penalty | None = None, weight: float = 1.0) -> Tensor:
    """argmin over y of weight * penalty(y) + |y - x|^2 / 2, in float64.

    Args:
        penalty: a convex function, inf outside its domain; elementwise, or of the last axes of x.
        x: points, any number of them.
        outside: at most 0 on the domain; needed for vectors where the penalty is not finite everywhere.
        weight: > 0.
    """
    x = x.detach().double()
    axes = event_axes(penalty, x)
    if axes == 0:
        return _minimise_numbers(penalty, x, weight)
    shape = x.shape[x.ndim - axes :]
    flat = x.reshape(-1, shape.numel())

    def in_shape(function: Penalty) -> Penalty:
        return lambda v: function(v.reshape(x.shape)).reshape(-1)

    if flat.shape[-1] == 1:
        return _minimise_numbers(lambda v: penalty(v.reshape(-1, *shape)).reshape(v.shape), x, weight)
    found = _minimise_vectors(in_shape(penalty), flat, in_shape(outside) if outside else None, weight)
    return found.reshape(x.shape)


@torch.no_grad()
def _minimise_numbers(penalty: Penalty, x: Tensor, weight: float) -> Tensor:
    middle = _finite_point(penalty).expand_as(x)
    reach = _REACH * (1 + x.abs())
    low, high = torch.minimum(x, middle) - reach, torch.maximum(x, middle) + reach
    best = penalty(middle)
    for _ in range(_GOLDEN_STEPS):
        upward = high - middle > middle - low
        probe = middle + _GOLDEN * torch.where(upward, high - middle, low - middle)
        value = penalty(probe).nan_to_num(nan=math.inf, posinf=math.inf)
        # The difference of the squares is taken by hand: it is small where the squares are large.
        is_better = weight * (value - best) + (probe - middle) * ((probe + middle) / 2 - x) < 0
        above, below = upward & ~is_better, ~upward & ~is_better  # the probe becomes an end
        low = torch.where(below, probe, torch.where(upward & is_better, middle, low))
        high = torch.where(above, probe, torch.where(~upward & is_better, middle, high))
        middle, best = torch.where(is_better, probe, middle), torch.where(is_better, value, best)
    return middle


def _finite_point(penalty: Penalty) -> Tensor:
    """A number where the penalty is finite: the best one for x = 0 of many."""
    sizes = torch.logspace(-8, 4, 601, dtype=torch.float64)
    steps = torch.linspace(-10, 10, 2001, dtype=torch.float64)
    points = torch.cat([steps, -sizes, sizes])
    value = (penalty(points) + points * points / 2).nan_to_num(nan=math.inf, posinf=math.inf)
    if not value.isfinite().any():
        raise ValueError("penalty must be finite somewhere in [-1e4, 1e4]; it was inf or nan at every point tried")
    return points[value.argmin()]


def _minimise_vectors(penalty: Penalty, x: Tensor, outside: Penalty | None, weight: float) -> Tensor:
    n = x.shape[-1]
    reach = 10 + 4 * x.abs().amax().item()
    # Not a point that symmetry could make optimal in all directions but one: the others would never be cut.
    centre = torch.arange(1.0, n + 1, dtype=x.dtype, device=x.device).sin().expand_as(x)
    # The ellipsoid is centre + axes @ (unit ball). A cut through its centre leaves a half that a smaller one contains.
    axes = reach * torch.eye(n, dtype=x.dtype, device=x.device).expand(len(x), n, n)
    widen, flatten = n / math.sqrt(n * n - 1), 1 - math.sqrt((n - 1) / (n + 1))
    # The volume shrinks by exp(-1/(2n + 2)) in a step; of a plane only a slice of thickness _FEASIBLE is left.
    volume = n * math.log(reach / _SMALL) + math.log(reach / _FEASIBLE)
    is_open = torch.ones_like(x[:, :1], dtype=torch.bool)
    for _ in range(int(2 * (n + 1) * volume)):
        normal = _cut(penalty, x, outside, weight, centre)
        slope = (axes.mT @ normal.unsqueeze(-1)).squeeze(-1)
        length = torch.linalg.vector_norm(slope, dim=-1, keepdim=True)
        unit = slope / torch.where(length > 0, length, 1)
        width = (axes @ unit.unsqueeze(-1)).squeeze(-1)
        # Done where it is small, and where it is thinner than rounding of centre and axes, so that it cannot be cut.
        longest = torch.linalg.vector_norm(axes, dim=(-1, -2)).unsqueeze(-1)
        rounding = 1e-15 * (1 + centre.abs().amax(-1, keepdim=True) + longest)
        is_open &= (longest > _SMALL) & (length > rounding * torch.linalg.vector_norm(normal, dim=-1, keepdim=True))
        if not is_open.any():
            break
        centre = torch.where(is_open, centre - width / (n + 1), centre)
        axes = torch.where(
            is_open.unsqueeze(-1), widen * (axes - flatten * width.unsqueeze(-1) * unit.unsqueeze(-2)), axes
        )
    return centre


def _cut(penalty: Penalty, x: Tensor, outside: Penalty | None, weight: float, centre: Tensor) -> Tensor:
    """The gradient of the objective, or that of ``outside`` for a centre out of the domain."""
    with torch.enable_grad():
        y = centre.detach().requires_grad_()
        value = penalty(y)
        distance = outside(y) if outside else torch.full_like(value, -math.inf)
        is_inside = (distance <= _FEASIBLE).detach().unsqueeze(-1)
        if not (value.detach().isfinite() | ~is_inside.squeeze(-1)).all():
            raise ValueError(
                "penalty is not finite in its domain: give outside, at most 0 only where penalty is finite"
            )
        objective = weight * value + ((y - x) ** 2).sum(-1) / 2
        normal = torch.autograd.grad(objective.sum(), y, retain_graph=True)[0]
        if not is_inside.all():
            normal = torch.where(is_inside, normal, torch.autograd.grad(distance.sum(), y)[0])
    return normal
