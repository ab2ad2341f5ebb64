"""A half-space."""

from __future__ import annotations

import torch
from torch import Tensor

from ._vectors import projection
from .hyperplane import onto_plane


@projection
def halfspace(x: Tensor, a: Tensor, b: float | Tensor = 0.0, *, dim: int = -1) -> Tensor:
    r"""Project onto :math:`\{y : \langle a, y \rangle \le b\}`.

    Args:
        x: floating-point tensor.
        a: the outward normal, not zero; length n, batch axes in front allowed.
        b: the offset; a number, or a tensor that broadcasts against x with ``dim`` removed.
        dim: the axis of x that holds the vectors.

    Example:
        >>> halfspace(torch.tensor([1.0, 2.0]), torch.tensor([0.0, 1.0]), 0.5)
        tensor([1.0000, 0.5000])
    """
    on_plane, is_below = onto_plane(x, a, b)
    return torch.where(is_below, x, on_plane)
