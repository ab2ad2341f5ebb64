"""What the claims measure with: samples, distances, and certificates that a point is a projection."""

from __future__ import annotations

import math

import torch
from torch import Tensor

F64 = torch.float64


def normal(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=F64)


def worst(*errors: Tensor | float) -> float:
    """The largest absolute entry; nan if any is nan, which max of Python would miss."""
    return torch.stack([torch.as_tensor(error, dtype=F64).abs().max() for error in errors]).max().item()


def excess(*slacks: Tensor) -> float:
    """By how much the worst entry is below 0, where all should be nonnegative; nan if any is."""
    return worst(*[slack.clamp(max=0) for slack in slacks])


def cone_axis(m: int) -> Tensor:
    return torch.full((m,), m**-0.5, dtype=F64)


def cone_gap(x: Tensor, y: Tensor, alpha: float, axis: Tensor | None = None, vertex: Tensor | float = 0.0) -> float:
    """0 if and only if y is the projection of x onto a cone: y is in the cone, x - y in its polar, both orthogonal."""
    axis = cone_axis(x.shape[-1]) if axis is None else axis
    inner, outer = y - vertex, x - y
    in_cone, in_polar = _cone_slack(inner, alpha, axis), _cone_slack(outer, math.pi / 2 - alpha, -axis)
    return worst(excess(in_cone, in_polar), (inner * outer).sum(-1))


def box_gap(x: Tensor, y: Tensor, lower: float | Tensor, upper: float | Tensor) -> float:
    """0 if and only if y is the projection of x onto a box: x - y makes an obtuse angle with every way into the box."""
    return excess(y - lower, upper - y, (x - y) * (y - lower), (x - y) * (y - upper))


def orthant_gap(x: Tensor, y: Tensor) -> float:
    """0 if and only if y is the projection of x onto the nonnegative orthant."""
    return worst(excess(y, y - x), y * (x - y))


def _cone_slack(v: Tensor, alpha: float, axis: Tensor) -> Tensor:
    """Nonnegative in the cone, and minus the distance to its boundary plane outside."""
    t = v @ axis
    n = torch.linalg.vector_norm(v - t.unsqueeze(-1) * axis, dim=-1)
    return t * math.sin(alpha) - n * math.cos(alpha)
