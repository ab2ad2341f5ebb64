"""A box."""

from __future__ import annotations

import torch
from torch import Tensor

from .._checks import EmptySetError, raise_if
from ._vectors import as_vector, projection


@projection
def box(x: Tensor, lower: float | Tensor = 0.0, upper: float | Tensor = 1.0, *, dim: int = -1) -> Tensor:
    r"""Project onto :math:`\{y : lower \le y \le upper\}`, entry by entry.

    The derivative at a bound is 0, as that of ``torch.relu`` at 0.

    Args:
        x: floating-point tensor.
        lower, upper: numbers (infinite ones allowed) or vectors of length n, batch axes in front allowed.
        dim: the axis of x that holds the vectors.

    Example:
        >>> box(torch.tensor([-3.0, 0.5, 3.0]), -1.0, 1.0)
        tensor([-1.0000,  0.5000,  1.0000])
    """
    low, high = as_vector("lower", lower, x), as_vector("upper", upper, x)
    raise_if(low > high, EmptySetError, "the set is empty: lower must be <= upper, got {} and {}", lower, upper)
    return torch.where(x <= low, low, torch.where(x >= high, high, x))
