"""Why no shallow ReLU network is the projection onto a cone, as numbers that can be measured."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable

import torch
from torch import Tensor
from torch.func import grad, jacrev, vmap

from ..project import cone
from .claim import Claim, Construction
from .measure import F64, cone_axis, worst
from .shallow import random_net

_REACH = 1e-6
"""How far from a kink the derivatives on its two sides are taken."""


def kink(function: Callable[[Tensor], Tensor], points: Tensor, across: Tensor) -> Tensor:
    """The change of the Jacobian at each point in the direction ``across``: (points, outputs, inputs)."""
    jacobian = vmap(jacrev(function))
    return jacobian(points + _REACH * across) - jacobian(points - _REACH * across)


def kink_rays(alpha: float) -> Tensor:
    """The four rays in the plane, (4, 2), along which the projection for m = 2 has kinks: edges of cone and polar.

    A ReLU network has its kinks along whole lines. These rays pair up into lines at alpha = pi/4 alone.
    """
    polar = alpha + math.pi / 2
    angles = math.pi / 4 + torch.tensor([alpha, -alpha, polar, -polar], dtype=F64)
    return torch.stack([angles.cos(), angles.sin()], -1)


def curvature_witness(m: int, alpha: float) -> Construction:
    """For m >= 3: a point, a direction, and the second derivative there of the projection's axis component.

    Beside the cone that component is cos(alpha) (t cos(alpha) + n sin(alpha)), n = ||h||, and the norm is curved across
    h: by 1/n. A ReLU network is piecewise linear, with second derivative 0.
    """
    if m < 3:
        raise ValueError(f"m must be at least 3, as the projection is piecewise linear for m = 2; got {m}")
    away, sideways = _differences(m)
    n = 1.5
    return {
        "point": 0.2 * cone_axis(m) + n * away,
        "direction": sideways,
        "curvature": torch.tensor(math.sin(alpha) * math.cos(alpha) / n, dtype=F64),
    }


def odd_part_gap(alpha: float) -> float:
    """Every shallow ReLU network of any width has at least this relative error on large spheres, for every m >= 2.

    Far out a network is W2 relu(W1 x), up to a constant, and relu(u) - relu(-u) = u makes its odd part linear. The odd
    part of the projection is not, unless alpha = pi/4: see :func:`odd_part_witness`.
    """
    side = max(math.tan(alpha), 1 / math.tan(alpha))
    return abs(math.cos(2 * alpha)) / (2 * (1 + math.hypot(1, side)))


def odd_part_witness(m: int, alpha: float) -> Construction:
    """Points e + s d, e - s d, e and coefficients 1, 1, -2, where d is orthogonal to the axis e.

    They sum to 0, and so does every linear function of them. With s so large that the outer points and their negatives
    are outside the cone and its polar, P(x) - P(-x) = 2 cos^2(alpha) e +- 2 s sin^2(alpha) d there, and e at e: they
    sum to 2 cos(2 alpha) e. A function within r ||x|| of P makes that at most 2 r times the weighted norms.
    """
    side = max(math.tan(alpha), 1 / math.tan(alpha))
    axis, shift = cone_axis(m), side * _differences(m)[0]
    return {
        "points": torch.stack([axis + shift, axis - shift, axis]),
        "coefficients": torch.tensor([1.0, 1.0, -2.0], dtype=F64),
    }


def odd_sum(function: Callable[[Tensor], Tensor], points: Tensor, coefficients: Tensor) -> Tensor:
    return coefficients @ (function(points) - function(-points))


def _differences(m: int) -> tuple[Tensor, Tensor]:
    """Two unit vectors orthogonal to the axis and, for m >= 3, to each other."""
    away, sideways = torch.zeros(2, m, dtype=F64)
    away[0], away[1] = 1, -1
    sideways[0], sideways[1], sideways[-1] = 1, 1, -2
    return away / math.sqrt(2), sideways / math.sqrt(6)


NET = random_net(2, 12, 2, seed=1)


def _rays(alpha: float) -> Construction:
    return {"rays": kink_rays(alpha)}


def ray_gap(alpha: float, rays: Tensor) -> float:
    """A kink of norm 1 on each ray, none on the opposite one."""
    across = rays.flip(-1) * torch.tensor([-1.0, 1.0], dtype=F64)
    here, opposite = (kink(lambda x: cone(x, alpha), points, across) for points in (rays, -rays))
    return worst(torch.linalg.matrix_norm(here) - 1, opposite)


def _far_points_of_lines() -> Construction:
    """Two points, 1000 apart, on the line where each hidden unit of the network has its kink."""
    W, b = NET.W1, NET.b1
    size = (W * W).sum(-1, keepdim=True)
    foot, along = -b.unsqueeze(-1) * W / size, W.flip(-1) * torch.tensor([-1.0, 1.0], dtype=F64) / size.sqrt()
    return {"forth": foot + 500 * along, "back": foot - 500 * along}


def _line_gap(forth: Tensor, back: Tensor) -> float:
    own = NET.W2.mT.unsqueeze(-1) * NET.W1.unsqueeze(1)  # relu' goes from 0 to 1
    return worst(kink(NET.relu, forth, NET.W1) - own, kink(NET.relu, back, NET.W1) - own)


def _curvature_gap(alpha: float, point: Tensor, direction: Tensor, curvature: Tensor) -> float:
    m = len(point)

    def component(s: Tensor) -> Tensor:
        return cone(point + s * direction, alpha, m) @ cone_axis(m)

    return worst(grad(grad(component))(torch.zeros((), dtype=F64)) - curvature)


def _odd_part_gap(alpha: float, points: Tensor, coefficients: Tensor) -> float:
    m = points.shape[-1]
    net = random_net(m, 50, m, seed=2)
    of_cone = torch.linalg.vector_norm(odd_sum(lambda x: cone(x, alpha, m), points, coefficients))
    largest = 2 * (coefficients.abs() * torch.linalg.vector_norm(points, dim=-1)).sum()
    of_net = odd_sum(lambda x: torch.relu(x @ net.W1.mT) @ net.W2.mT, points, coefficients)
    return worst(of_cone / largest - odd_part_gap(alpha), of_net)


CLAIMS = [
    *[
        Claim(
            name=f"m = 2, alpha = {alpha:.3g}: kinks on four rays, and none on the rays opposite",
            where="Theorem 2, its proof",
            construct=functools.partial(_rays, alpha),
            residual=functools.partial(ray_gap, alpha),
            kind="witness",
        )
        for alpha in (0.4, math.pi / 3)
    ],
    Claim(
        name="a shallow ReLU net has its kinks along whole lines",
        where="Theorem 2, its proof",
        construct=_far_points_of_lines,
        residual=_line_gap,
        kind="witness",
    ),
    *[
        Claim(
            name=f"m = {m}, alpha = {alpha:.3g}: the projection is curved, by sin(2 alpha) / (2 n)",
            where="Theorem 2, its proof",
            construct=functools.partial(curvature_witness, m, alpha),
            residual=functools.partial(_curvature_gap, alpha),
            kind="witness",
        )
        for m, alpha in ((3, math.pi / 4), (3, math.atan(math.sqrt(2))), (5, 1.2))
    ],
    *[
        Claim(
            name=f"m = {m}, alpha = {alpha:.3g}: far out any ReLU net is off by {odd_part_gap(alpha):.2g} |x| or more",
            where="Theorem 2, its proof made quantitative",
            construct=functools.partial(odd_part_witness, m, alpha),
            residual=functools.partial(_odd_part_gap, alpha),
            kind="witness",
        )
        for m, alpha in ((2, math.pi / 3), (3, 0.4), (6, 1.1))
    ],
]
