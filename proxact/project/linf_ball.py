"""The ball of the maximum norm."""

from __future__ import annotations

import torch
from torch import Tensor

from ._vectors import as_radius, projection


@projection
def linf_ball(x: Tensor, radius: float | Tensor = 1.0, *, dim: int = -1) -> Tensor:
    r"""Project onto :math:`\{y : \max_i |y_i| \le radius\}`: hardtanh.

    Args:
        x: floating-point tensor.
        radius: >= 0; a number, or a tensor that broadcasts against x with ``dim`` removed.
        dim: the axis of x that holds the vectors.

    Example:
        >>> linf_ball(torch.tensor([-3.0, 0.5, 3.0]), 1.0)
        tensor([-1.0000,  0.5000,  1.0000])
    """
    limit = as_radius(radius, x)
    return torch.where(x <= -limit, -limit, torch.where(x >= limit, limit, x))
