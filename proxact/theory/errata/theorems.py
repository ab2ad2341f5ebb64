"""Corrections to the theorems on cones and to their proofs."""

from __future__ import annotations

import functools
import math

import torch
from torch import Tensor

from ...project import cone, lorentz
from ..claim import Construction, Erratum
from ..embedding import relu_net_of_half_space, relu_net_of_ray
from ..measure import F64, cone_axis, normal, worst
from ..placement import AXIS, VERTEX, best_map_after, move_cone, placement_gap
from ..shallow import ShallowNet, random_net


def _excepted(m: int, alpha: float) -> Construction:
    points = normal(500, m, seed=1)
    return {"points": points, "projected": cone(points, alpha, m)}


def _orthant_distance(points: Tensor, projected: Tensor) -> float:
    return worst(projected - torch.relu(points))


def _odd_part_at_quarter() -> Construction:
    points = normal(500, 3, seed=2)
    return {"points": points, "difference": cone(points, math.pi / 4, 3) - cone(-points, math.pi / 4, 3)}


def _linearity(points: Tensor, difference: Tensor) -> float:
    return worst(difference - points)


LENGTH_ALPHA = 0.8
LENGTH_POINTS = cone_axis(3) * normal(200, 1, seed=3).abs() + 9 * torch.tensor([1.0, -1.0, 0.0], dtype=F64)


def _length(stretch: float) -> Construction:
    """The s of the formula, times ``stretch``; every point is outside the cone, on the cone's side."""
    tan, t = math.tan(LENGTH_ALPHA), LENGTH_POINTS @ cone_axis(3)
    n = torch.linalg.vector_norm(LENGTH_POINTS - t.unsqueeze(-1) * cone_axis(3), dim=-1)
    return {"length": stretch * (tan * n + t) / (tan**2 + 1)}


def _length_gap(length: Tensor) -> float:
    return worst(length - torch.linalg.vector_norm(cone(LENGTH_POINTS, LENGTH_ALPHA, 3), dim=-1))


SCALARS = torch.tensor([0.7, -0.4, 2.0], dtype=F64)


def _on_axis_gap(value: Tensor) -> float:
    projected = cone(SCALARS.unsqueeze(-1).expand(3, 4), 0.5, 4)
    return worst(projected - value) if value.shape == projected.shape else math.inf


def _nets_at_the_ends() -> Construction:
    nets = {"ray": relu_net_of_ray(3), "half": relu_net_of_half_space(3)}
    return {f"{end}_{name}": value for end, net in nets.items() for name, value in net._asdict().items()}


def _ends_gap(**weights: Tensor) -> float:
    x = normal(300, 3, seed=4)
    ray, half = (ShallowNet(*[weights[f"{end}_{name}"] for name in ShallowNet._fields]) for end in ("ray", "half"))
    return worst(ray.relu(x) - cone(x, 0.0, 3), half.relu(x) - cone(x, math.pi / 2, 3))


CASE_ALPHA = 0.5


def _at_angle_from_axis(angle: float) -> Tensor:
    turned = torch.tensor(math.pi / 4 + angle, dtype=F64)
    return torch.stack([turned.cos(), turned.sin()])


EDGE_POINT = _at_angle_from_axis(-0.8)  # below the cone; its negative is in the polar
MIDDLE_POINT = _at_angle_from_axis(1.4)  # above the cone; its negative below, both outside the polar


def _printed_cases() -> Construction:
    """P(x) - P(-x) by the first and fourth line of the paper's list."""
    tan, down = math.tan(CASE_ALPHA), torch.tensor([1.0, -1.0], dtype=F64)
    edge_s, middle_s = (_s(point) for point in (EDGE_POINT, MIDDLE_POINT))
    return {"edge": edge_s * (cone_axis(2) + tan * down), "middle": -2 * middle_s * tan * down}


def _true_cases() -> Construction:
    tan, down = math.tan(CASE_ALPHA), torch.tensor([1.0, -1.0], dtype=F64) / math.sqrt(2)
    t = MIDDLE_POINT @ cone_axis(2)
    h = MIDDLE_POINT - t * cone_axis(2)
    middle = 2 * math.cos(CASE_ALPHA) ** 2 * t * cone_axis(2) + 2 * math.sin(CASE_ALPHA) ** 2 * h
    return {"edge": _s(EDGE_POINT) * (cone_axis(2) + tan * down), "middle": middle}


def _s(x: Tensor) -> Tensor:
    tan, t = math.tan(CASE_ALPHA), x @ cone_axis(2)
    return (tan * torch.linalg.vector_norm(x - t * cone_axis(2)) + t) / (tan**2 + 1)


def _cases_gap(edge: Tensor, middle: Tensor) -> float:
    pairs = ((EDGE_POINT, edge), (MIDDLE_POINT, middle))
    return worst(*[cone(x, CASE_ALPHA) - cone(-x, CASE_ALPHA) - difference for x, difference in pairs])


LIMIT_NET, LIMIT_POINT, LIMIT_SCALE = random_net(3, 8, 1, seed=5), normal(3, seed=6), 1e9


def _printed_limit() -> Construction:
    z = torch.relu(LIMIT_NET.W1 @ LIMIT_POINT + LIMIT_NET.b1)
    return {"limit": LIMIT_SCALE * z / LIMIT_SCALE}


def _true_limit() -> Construction:
    return {"limit": torch.relu(LIMIT_NET.W1 @ (LIMIT_SCALE * LIMIT_POINT) + LIMIT_NET.b1) / LIMIT_SCALE}


def _limit_gap(limit: Tensor) -> float:
    return worst(limit - torch.relu(LIMIT_NET.W1 @ LIMIT_POINT))


def _contraction_gap(rate: Tensor) -> float:
    """How far two points in the cone are apart after a step on <c, x>, against how far they were."""
    inside, c = torch.tensor([[9.0, 1, 2], [8.0, -1, 3]], dtype=F64), torch.tensor([1.0, 0.3, -0.2], dtype=F64)
    apart = torch.linalg.vector_norm(inside[0] - inside[1])
    stepped = [lorentz(inside - gamma * c) for gamma in (0.01, 0.1, 1.0)]
    return worst(*[torch.linalg.vector_norm(y[0] - y[1]) / apart - rate for y in stepped])


ERRATA = [
    Erratum(
        where="Theorem 2",
        says="excludes tan(alpha) = sqrt(m - 1)",
        name="the exception is m = 2 at pi/4 alone, where the cone is the orthant",
        construct=functools.partial(_excepted, 2, math.pi / 4),
        printed=functools.partial(_excepted, 3, math.atan(math.sqrt(2))),
        residual=_orthant_distance,
    ),
    Erratum(
        where="Theorem 2, proof for m >= 3",
        says="P(x) - P(-x) is nonlinear",
        name="at pi/4 it is x; the conclusion holds by curvature",
        construct=_odd_part_at_quarter,
        residual=_linearity,
    ),
    Erratum(
        where="Theorem 2, statement",
        says="P(x 1) = ReLU(x), b2 in R^2",
        name="P(x 1) = ReLU(x) 1, b2 in R^m",
        construct=lambda: {"value": torch.relu(SCALARS).unsqueeze(-1).repeat(1, 4)},
        printed=lambda: {"value": torch.relu(SCALARS)},
        residual=_on_axis_gap,
    ),
    Erratum(
        where="Theorem 2, proof",
        says="intervals of alpha with 0 and pi/2",
        name="at both ends a ReLU net is the projection: the open interval is needed",
        construct=_nets_at_the_ends,
        residual=_ends_gap,
    ),
    Erratum(
        where="Theorem 2, proof, cases for m = 2",
        says="direction [1, -1]; 2 s tan(alpha) [-1, 1] for (R2, R2')",
        name="[1, -1] / sqrt(2); 2 cos^2(alpha) t e + 2 sin^2(alpha) h",
        construct=_true_cases,
        printed=_printed_cases,
        residual=_cases_gap,
    ),
    Erratum(
        where="Theorem 2, proof, limit",
        says="t sigma(W x + b) / t",
        name="sigma(W (t x) + b) / t tends to sigma(W x)",
        construct=_true_limit,
        printed=_printed_limit,
        residual=_limit_gap,
        tolerance=1e-8,
    ),
    Erratum(
        where="Theorem 4, proof",
        says="s is the length of the projection",
        name="the length is s sqrt(1 + tan^2(alpha))",
        construct=functools.partial(_length, 1 / math.cos(LENGTH_ALPHA)),
        printed=functools.partial(_length, 1.0),
        residual=_length_gap,
    ),
    Erratum(
        where="Section 2.1, SOCP",
        says="min <c, x> by projected gradient descent",
        name="P = 0 breaks its condition: the step contracts by 1, not less",
        construct=lambda: {"rate": torch.ones((), dtype=F64)},
        residual=_contraction_gap,
    ),
    Erratum(
        where="Appendix, choice of cones",
        says="a layer after the unit moves vertex and axis",
        name="maps before and after are needed",
        construct=lambda: move_cone(AXIS, VERTEX),
        printed=best_map_after,
        residual=placement_gap,
    ),
]
