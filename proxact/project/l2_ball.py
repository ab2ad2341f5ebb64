"""The Euclidean ball."""

from __future__ import annotations

import torch
from torch import Tensor

from ._vectors import as_radius, largest, limit_direction, projection, safe_norm


@projection
def l2_ball(x: Tensor, radius: float | Tensor = 1.0, *, dim: int = -1) -> Tensor:
    r"""Project onto :math:`\{y : \|y\|_2 \le radius\}`: x, or x scaled to length ``radius``.

    Args:
        x: floating-point tensor.
        radius: >= 0; a number, or a tensor that broadcasts against x with ``dim`` removed.
        dim: the axis of x that holds the vectors.

    Example:
        >>> l2_ball(torch.tensor([3.0, 4.0]), 1.0)
        tensor([0.6000, 0.8000])
    """
    limit = as_radius(radius, x)
    scale = largest(x)
    z = limit_direction(x, x / scale)
    norm, divisor = safe_norm(z)
    return torch.where((norm < limit / scale) & x.isfinite(), x, z / divisor * torch.where(limit.isinf(), 1, limit))
