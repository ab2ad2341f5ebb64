"""The rotated second-order cone."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from ._vectors import bounded, largest, projection, unbounded
from .lorentz import lorentz


@projection
def rotated_lorentz(x: Tensor, *, dim: int = -1) -> Tensor:
    r"""Project onto :math:`\{(u, v, w) : \|w\|_2^2 \le 2 u v,\ u, v \ge 0\}`, u and v the first entries along ``dim``.

    A rotation of the first two axes by pi/4 makes it the Lorentz cone.

    Args:
        x: floating-point tensor; at least two entries along ``dim``.
        dim: the axis of x that holds the vectors.

    Example:
        >>> rotated_lorentz(torch.tensor([2.0, -1.0, 0.0]))
        tensor([2.0000, 0.0000, 0.0000])
    """
    if x.shape[-1] < 2:
        raise ValueError(f"rotated_lorentz needs at least 2 entries along dim, got {x.shape[-1]}")
    scale, infinite = largest(x), x.isinf().any(-1, keepdim=True)
    return unbounded(_rotate(lorentz(_rotate(bounded(x, scale)))), scale, infinite)


def _rotate(x: Tensor) -> Tensor:
    """Its own inverse."""
    u, v = x[..., :1] * math.sqrt(0.5), x[..., 1:2] * math.sqrt(0.5)
    return torch.cat([u + v, u - v, x[..., 2:]], -1)
