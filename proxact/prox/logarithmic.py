"""Functions that grow like the logarithm."""

from __future__ import annotations

import torch
from torch import Tensor

from ._entry import elementwise


def _asinh(y: Tensor) -> Tensor:
    return torch.cosh(y) - y * y / 2


@elementwise(_asinh, "(-inf, inf)")
def asinh(x: Tensor) -> Tensor:
    r"""Inverse hyperbolic sine: :math:`\arg\min_y \tfrac12 (y - x)^2 + \cosh y - \tfrac12 y^2`.

    Args:
        x: floating-point tensor.

    Example:
        >>> asinh(torch.tensor([0.0, 0.75]))
        tensor([0.0000, 0.6931])
    """
    return torch.asinh(x)


def _symlog(y: Tensor) -> Tensor:
    size = y.abs()
    return torch.expm1(size) - size - y * y / 2


@elementwise(_symlog, "(-inf, inf)")
def symlog(x: Tensor) -> Tensor:
    r"""Symmetric logarithm :math:`\mathrm{sgn}(x) \ln(1 + |x|) = \arg\min_y \tfrac12 (y - x)^2 + \phi(y)`,

    .. math:: \phi(y) = e^{|y|} - |y| - 1 - \tfrac12 y^2

    Args:
        x: floating-point tensor.

    Example:
        >>> symlog(torch.tensor([-1.0, 0.0]))
        tensor([-0.6931,  0.0000])
    """
    # torch.sign and abs have derivative 0 at 0, where this function has 1.
    is_below = x < 0
    return torch.where(is_below, -1, 1) * torch.log1p(torch.where(is_below, -x, x))
