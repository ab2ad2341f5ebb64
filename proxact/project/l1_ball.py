"""The ball of the 1-norm."""

from __future__ import annotations

import torch
from torch import Tensor

from ._vectors import as_radius, largest, projection
from .simplex import onto_simplex


@projection
def l1_ball(x: Tensor, radius: float | Tensor = 1.0, *, dim: int = -1) -> Tensor:
    r"""Project onto :math:`\{y : \sum_i |y_i| \le radius\}`: soft thresholding at the level that meets the radius.

    Args:
        x: floating-point tensor.
        radius: >= 0; a number, or a tensor that broadcasts against x with ``dim`` removed.
        dim: the axis of x that holds the vectors.

    Example:
        >>> l1_ball(torch.tensor([2.0, -1.5]), 1.0)
        tensor([ 0.7500, -0.2500])
    """
    limit = as_radius(radius, x)
    if x.shape[-1] == 0:
        return x
    scale = largest(x)
    inside = (x / scale).abs().sum(-1, keepdim=True) < limit / scale
    return torch.where(inside, x, torch.sign(x) * onto_simplex(x.abs(), limit))
