"""ELU and CELU."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

from ._entry import elementwise


def _entropy(y: Tensor, a: float) -> Tensor:
    """(y + a) ln(1 + y/a) - y for y in [-a, 0]."""
    return torch.special.xlog1py(y + a, y / a) - y


def _elu(y: Tensor, a: float) -> Tensor:
    below = torch.where(y < 0, y, 0)
    return _entropy(below, a) - below * below / 2


@elementwise(_elu, "[-a, inf)", a="(0, 1]")
def elu(x: Tensor, a: float = 1.0) -> Tensor:
    r"""ELU: x for x >= 0, else :math:`a (e^x - 1)`; :math:`\arg\min_y \tfrac12 (y - x)^2 + \phi(y)` with, for y >= -a,

    .. math:: \phi(y) = (y + a) \ln\frac{y + a}{a} - y - \tfrac12 y^2 \text{ for } y \le 0, \quad 0 \text{ above}

    Above a = 1 the slope a just below 0 exceeds 1 and there is no convex penalty: that raises.

    Args:
        x: floating-point tensor.
        a: minus the limit for x to -inf, in (0, 1].

    Example:
        >>> elu(torch.tensor([-200.0, 2.0]), 0.5)
        tensor([-0.5000,  2.0000])
    """
    return F.elu(x, a)


def _celu(y: Tensor, a: float) -> Tensor:
    below = torch.where(y < 0, y, 0)
    return a * _entropy(below, a) - below * below / 2


@elementwise(_celu, "[-a, inf)", a="(0, inf)")
def celu(x: Tensor, a: float = 1.0) -> Tensor:
    r"""CELU: x for x >= 0, else :math:`a (e^{x/a} - 1)`; :math:`\arg\min_y \tfrac12 (y - x)^2 + \phi(y)`, y >= -a,

    .. math:: \phi(y) = a \left[(y + a) \ln\left(1 + \tfrac{y}{a}\right) - y\right] - \tfrac12 y^2
        \text{ for } y \le 0, \quad 0 \text{ above}

    Args:
        x: floating-point tensor.
        a: minus the limit for x to -inf, > 0.

    Example:
        >>> celu(torch.tensor([-200.0, 2.0]), 3.0)
        tensor([-3.,  2.])
    """
    return F.celu(x, a)
