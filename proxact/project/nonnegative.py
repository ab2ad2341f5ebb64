"""The nonnegative orthant."""

from __future__ import annotations

import torch
from torch import Tensor

from ._vectors import projection


@projection
def nonnegative(x: Tensor, *, dim: int = -1) -> Tensor:
    r"""Project onto :math:`\{y : y \ge 0\}`: ReLU.

    Args:
        x: floating-point tensor.
        dim: the axis of x that holds the vectors.

    Example:
        >>> nonnegative(torch.tensor([-1.0, 2.0]))
        tensor([0., 2.])
    """
    return torch.relu(x)
