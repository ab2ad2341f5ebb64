"""Sigmoid, tanh and tanhshrink."""

from __future__ import annotations

import math

import torch
import torch.nn.functional as F
from torch import Tensor

from ._entry import elementwise

_NEWTON_STEPS = 12  # to rounding from the start below, for every y


def _sigmoid(y: Tensor) -> Tensor:
    return torch.xlogy(y, y) + torch.special.xlog1py(1 - y, -y) - y * y / 2


@elementwise(_sigmoid, "[0, 1]")
def sigmoid(x: Tensor) -> Tensor:
    r"""Logistic sigmoid: :math:`\arg\min_y \tfrac12 (y - x)^2 + \phi(y)` with, on [0, 1],

    .. math:: \phi(y) = y \ln y + (1 - y) \ln(1 - y) - \tfrac12 y^2

    The penalty is 0 at 0 and -1/2 at 1.

    Args:
        x: floating-point tensor.

    Example:
        >>> sigmoid.penalty(sigmoid(torch.tensor([-200.0, 0.0, 200.0])))
        tensor([ 0.0000, -0.8181, -0.5000])
    """
    return torch.sigmoid(x)


def _tanh(y: Tensor) -> Tensor:
    # y artanh y + ln(1 - y^2)/2, written so that both ends are finite
    return (torch.special.xlog1py(1 + y, y) + torch.special.xlog1py(1 - y, -y)) / 2 - y * y / 2


@elementwise(_tanh, "[-1, 1]")
def tanh(x: Tensor) -> Tensor:
    r"""Hyperbolic tangent: :math:`\arg\min_y \tfrac12 (y - x)^2 + \phi(y)` with, on [-1, 1],

    .. math:: \phi(y) = y\,\mathrm{artanh}\,y + \tfrac12 \ln(1 - y^2) - \tfrac12 y^2

    The penalty is ln 2 - 1/2 at -1 and 1.

    Args:
        x: floating-point tensor.

    Example:
        >>> tanh.penalty(tanh(torch.tensor([0.0, 200.0])))
        tensor([0.0000, 0.1931])
    """
    return torch.tanh(x)


def _tanhshrink(y: Tensor) -> Tensor:
    # With t - tanh t = |y|, the supremum over z of y z - phi_tanh(z) is at z = tanh t, and is ln cosh t - z^2/2.
    size = torch.where(y < 0, -y, y)
    t = (3 * size.detach()).pow(1 / 3)  # t - tanh t <= t^3/3: below the root, and near it where that is small
    for _ in range(_NEWTON_STEPS):
        z = torch.tanh(t)
        t = t - (t - z - size) / torch.where(z > 0, z * z, 1)
    z = torch.tanh(t)
    return t + F.softplus(-2 * t) - math.log(2) - z * z / 2


@elementwise(_tanhshrink, "(-inf, inf)")
def tanhshrink(x: Tensor) -> Tensor:
    r"""Tanhshrink :math:`x - \tanh x = \arg\min_y \tfrac12 (y - x)^2 + \phi(y)`,

    .. math:: \phi(y) = \sup_z\ y z - \phi_{\tanh}(z) = \ln\cosh t - \tfrac12\tanh^2 t, \quad t - \tanh t = |y|

    the conjugate of the penalty of tanh: Moreau's identity.

    Args:
        x: floating-point tensor.

    Example:
        >>> tanhshrink(torch.tensor([-1.0, 3.0]))
        tensor([-0.2384,  2.0049])
    """
    return F.tanhshrink(x)
