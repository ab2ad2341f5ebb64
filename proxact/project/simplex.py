"""The probability simplex."""

from __future__ import annotations

import torch
from torch import Tensor

from .._checks import EmptySetError
from ._vectors import as_radius, projection


@projection
def simplex(x: Tensor, radius: float | Tensor = 1.0, *, dim: int = -1) -> Tensor:
    r"""Project onto :math:`\{y \ge 0 : \sum_i y_i = radius\}`: sparsemax for radius 1.

    Exact: a sort finds the entries that stay positive, then one level is subtracted from all of them.

    Args:
        x: floating-point tensor.
        radius: >= 0; a number, or a tensor that broadcasts against x with ``dim`` removed.
        dim: the axis of x that holds the vectors.

    Example:
        >>> simplex(torch.tensor([1.0, 0.6, -1.0]))
        tensor([0.7000, 0.3000, 0.0000])
    """
    if x.shape[-1] == 0:
        raise EmptySetError("the set is empty: simplex needs at least 1 entry along dim, got 0")
    return onto_simplex(x, as_radius(radius, x))


def onto_simplex(x: Tensor, radius: Tensor) -> Tensor:
    # Adding one number to all entries changes nothing, so the largest can be 0: no cancellation for huge x.
    top = x.detach().amax(-1, keepdim=True)
    shifted = torch.where(top.isinf(), torch.where(x == top, 0, -torch.inf), x - top)
    descending = shifted.detach().sort(-1, descending=True).values
    count = torch.arange(1, x.shape[-1] + 1, dtype=x.dtype, device=x.device)
    support = (count * descending > descending.cumsum(-1) - radius).sum(-1, keepdim=True).clamp(min=1)
    smallest = descending.gather(-1, support - 1)
    # Entries equal to the smallest supported one are supported as well: the tie is cut by value, not by position.
    active = shifted.detach() >= smallest
    level = (torch.where(active, shifted, 0).sum(-1, keepdim=True) - radius) / active.sum(-1, keepdim=True)
    return torch.relu(shifted - level)
