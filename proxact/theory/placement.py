"""A cone with any vertex and axis: affine maps before and after the unit."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn.functional import linear

from .. import project
from .claim import Claim, Construction
from .measure import F64, cone_axis, cone_gap, normal


def reflection(start: Tensor, end: Tensor) -> Tensor:
    """The symmetric orthogonal matrix that swaps two unit vectors."""
    across = start - end
    size = across @ across
    identity = torch.eye(len(start), dtype=start.dtype)
    return identity if size == 0 else identity - 2 * torch.outer(across, across) / size


def move_cone(axis: Tensor, vertex: Tensor) -> Construction:
    """Layers before and after the unit that make it project onto the cone with this axis and vertex.

    The paper has a layer after the unit alone; that changes the image but not where the unit has its kinks.

    Args:
        axis: (m,), any length but 0.
        vertex: (m,).
    """
    length = torch.linalg.vector_norm(axis)
    if not length > 0:
        raise ValueError(f"axis must be a nonzero vector, got {axis}")
    turn = reflection(cone_axis(len(axis)).to(axis.dtype), axis / length)
    return {"W_before": turn, "b_before": -turn @ vertex, "W_after": turn, "b_after": vertex}


ALPHA, AXIS, VERTEX = 0.6, normal(4, seed=1), normal(4, seed=2)
POINTS = 3 * normal(500, 4, seed=3)


def placement_gap(W_before: Tensor, b_before: Tensor, W_after: Tensor, b_after: Tensor) -> float:
    y = linear(project.cone(linear(POINTS, W_before, b_before), ALPHA, 4), W_after, b_after)
    return cone_gap(POINTS, y, ALPHA, AXIS / torch.linalg.vector_norm(AXIS), VERTEX)


def best_map_after() -> Construction:
    """The paper's way: an affine map after the unit alone, the one with the least squared error on the points."""
    moved = move_cone(AXIS, VERTEX)
    wanted = linear(
        project.cone(linear(POINTS, moved["W_before"], moved["b_before"]), ALPHA, 4), moved["W_after"], moved["b_after"]
    )
    features = torch.cat([project.cone(POINTS, ALPHA, 4), torch.ones(len(POINTS), 1, dtype=F64)], -1)
    fitted = torch.linalg.lstsq(features, wanted).solution.mT
    identity, none = torch.eye(4, dtype=F64), torch.zeros(4, dtype=F64)
    return {"W_before": identity, "b_before": none, "W_after": fitted[:, :-1], "b_after": fitted[:, -1]}


CLAIMS = [
    Claim(
        name="affine maps before and after the unit give the cone any vertex and axis",
        where="Appendix, choice of cones",
        construct=lambda: move_cone(AXIS, VERTEX),
        residual=placement_gap,
    )
]
