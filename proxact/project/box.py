"""A box."""

from __future__ import annotations

import torch
from torch import Tensor

from .._checks import EmptySetError, raise_if
from ._vectors import as_parameter, projection


@projection
def box(x: Tensor, lower: float | Tensor = 0.0, upper: float | Tensor = 1.0) -> Tensor:
    r"""Project onto :math:`\{y : lower \le y \le upper\}`, entry by entry.

    The derivative at a bound is 0, as that of ``torch.relu`` at 0.

    Args:
        x: floating-point tensor.
        lower, upper: numbers (infinite ones allowed) or tensors that broadcast against x with ``dim`` moved last.

    Example:
        >>> box(torch.tensor([-3.0, 0.5, 3.0]), -1.0, 1.0)
        tensor([-1.0000,  0.5000,  1.0000])
    """
    low, high = as_parameter("lower", lower, x), as_parameter("upper", upper, x)
    raise_if(low > high, EmptySetError, "the set is empty: lower must be <= upper, got {} and {}", lower, upper)
    return torch.where(x <= low, low, torch.where(x >= high, high, x))
