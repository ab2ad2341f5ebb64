"""Leaky ReLU and PReLU."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

from ._entry import elementwise


def _leaky_relu(y: Tensor, a: float | Tensor) -> Tensor:
    below = torch.where(y < 0, y, 0)
    return (1 / a - 1) * below * below / 2


@elementwise(_leaky_relu, "(-inf, inf)", a="(0, 1]")
def leaky_relu(x: Tensor, a: float | Tensor = 0.01) -> Tensor:
    r"""Leaky ReLU, and PReLU where the slope is a tensor: :math:`\arg\min_y \tfrac12 (y - x)^2 + \phi(y)`,

    .. math:: \phi(y) = \left(\tfrac1a - 1\right) \tfrac12 y^2 \text{ for } y \le 0, \quad 0 \text{ above}

    A slope of 0 is :func:`relu`; one above 1 or below 0 belongs to no convex penalty.

    Args:
        x: floating-point tensor.
        a: the slope for x <= 0, in (0, 1]; a number, or a tensor that broadcasts to x, which gets a gradient.

    Example:
        >>> leaky_relu(torch.tensor([-2.0, 3.0]), 0.1)
        tensor([-0.2000,  3.0000])
    """
    return torch.where(x > 0, x, a * x) if isinstance(a, Tensor) else F.leaky_relu(x, a)
