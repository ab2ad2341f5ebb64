"""The arctangent."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from ._entry import elementwise


def _atan(y: Tensor, c: float | Tensor) -> Tensor:
    # cos(pi y/2) as the sine of the distance to the end, which is exactly 0 there
    return -2 / (math.pi * c) * torch.sin(math.pi / 2 * (1 - y.abs())).log() - y * y / 2


@elementwise(_atan, "(-1, 1)", c="(0, pi/2]")
def atan(x: Tensor, c: float | Tensor = 1.0) -> Tensor:
    r"""Arctangent :math:`\tfrac2\pi \arctan(c x) = \arg\min_y \tfrac12 (y - x)^2 + \phi(y)` with, on (-1, 1),

    .. math:: \phi(y) = -\tfrac{2}{\pi c} \ln\cos\left(\tfrac\pi2 y\right) - \tfrac12 y^2

    At c = pi/2, the largest, the slope at 0 is 1.

    Args:
        x: floating-point tensor.
        c: the scale, in (0, pi/2]; a number, or a tensor that broadcasts to x.

    Example:
        >>> atan(torch.tensor([-1.0, 1e9]))
        tensor([-0.5000,  1.0000])
    """
    return 2 / math.pi * torch.atan(c * x)
