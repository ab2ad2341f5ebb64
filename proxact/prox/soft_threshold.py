"""Soft thresholding, the prox of the absolute value."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

from ._entry import elementwise


def _absolute(y: Tensor, lam: float | Tensor) -> Tensor:
    return lam * y.abs()


@elementwise(_absolute, "(-inf, inf)", lam="[0, inf)")
def soft_threshold(x: Tensor, lam: float | Tensor = 0.5) -> Tensor:
    r"""Soft threshold, or softshrink: :math:`\arg\min_y \tfrac12 (y - x)^2 + \lambda |y|`.

    Args:
        x: floating-point tensor.
        lam: the threshold, >= 0; a number, or a tensor that broadcasts to x, which gets a gradient.

    Example:
        >>> soft_threshold(torch.tensor([-2.0, 0.3, 1.5]))
        tensor([-1.5000,  0.0000,  1.0000])
    """
    return torch.relu(x - lam) - torch.relu(-x - lam) if isinstance(lam, Tensor) else F.softshrink(x, lam)
