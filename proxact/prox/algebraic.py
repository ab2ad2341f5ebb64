"""Softsign, inverse square root units, bent identity and the Geman-McClure function."""

from __future__ import annotations

import math

import torch
import torch.nn.functional as F
from torch import Tensor

from ._entry import elementwise

STEEPEST = 8 / math.sqrt(27)
"""mu r^2 / (1 + r^2) is steepest at r = 1/sqrt(3), with slope mu sqrt(27)/8."""


def _softsign(y: Tensor) -> Tensor:
    size = y.abs()
    return -size - torch.log1p(-size) - y * y / 2


@elementwise(_softsign, "(-1, 1)")
def softsign(x: Tensor) -> Tensor:
    r"""Softsign, Elliot's function, :math:`x / (1 + |x|) = \arg\min_y \tfrac12 (y - x)^2 + \phi(y)` with, on (-1, 1),

    .. math:: \phi(y) = -|y| - \ln(1 - |y|) - \tfrac12 y^2

    Args:
        x: floating-point tensor.

    Example:
        >>> softsign(torch.tensor([-1.0, 3.0]))
        tensor([-0.5000,  0.7500])
    """
    return F.softsign(x)


def _isru(y: Tensor) -> Tensor:
    return -y * y / 2 - ((1 - y) * (1 + y)).sqrt()


@elementwise(_isru, "[-1, 1]")
def isru(x: Tensor) -> Tensor:
    r"""Inverse square root unit :math:`x / \sqrt{1 + x^2} = \arg\min_y \tfrac12 (y - x)^2 + \phi(y)` with, on [-1, 1],

    .. math:: \phi(y) = -\tfrac12 y^2 - \sqrt{1 - y^2}

    Args:
        x: floating-point tensor.

    Example:
        >>> isru(torch.tensor([0.75, -1e30]))
        tensor([ 0.6000, -1.0000])
    """
    return over_root(x)


def over_root(x: Tensor) -> Tensor:
    """x / sqrt(1 + x^2); beyond 1 as 1 / sqrt(1 + x^-2), where no square overflows and no difference cancels."""
    is_large = x.abs() > 1
    small, inverse = torch.where(is_large, 0, x), 1 / torch.where(is_large, x, 1)
    sign = torch.where(x < 0, -1, 1)
    return torch.where(is_large, sign * torch.rsqrt(1 + inverse * inverse), small * torch.rsqrt(1 + small * small))


def _isrlu(y: Tensor) -> Tensor:
    return 1 + _isru(torch.where(y < 0, y, 0))


@elementwise(_isrlu, "[-1, inf)")
def isrlu(x: Tensor) -> Tensor:
    r"""Inverse square root linear unit: x for x >= 0, else :math:`x / \sqrt{1 + x^2}`;
    :math:`\arg\min_y \tfrac12 (y - x)^2 + \phi(y)` with, on [-1, inf),

    .. math:: \phi(y) = 1 - \tfrac12 y^2 - \sqrt{1 - y^2} \text{ for } y \le 0, \quad 0 \text{ above}

    Args:
        x: floating-point tensor.

    Example:
        >>> isrlu(torch.tensor([-0.75, 2.0]))
        tensor([-0.6000,  2.0000])
    """
    return torch.where(x < 0, over_root(x), x)


def _bent_identity(y: Tensor) -> Tensor:
    return y / 2 - (y + 1 / 2).log() / 4


@elementwise(_bent_identity, "(-0.5, inf)")
def bent_identity(x: Tensor) -> Tensor:
    r"""Bent identity :math:`\tfrac12 (x + \sqrt{x^2 + 1} - 1) = \arg\min_y \tfrac12 (y - x)^2 + \phi(y)`, y > -1/2,

    .. math:: \phi(y) = \tfrac12 y - \tfrac14 \ln\left(y + \tfrac12\right)

    Args:
        x: floating-point tensor.

    Example:
        >>> bent_identity(torch.tensor([-1e30, 0.0, 0.75]))
        tensor([-0.5000,  0.0000,  0.5000])
    """
    size = torch.where(x > 0, x, -x)
    root = torch.hypot(size, torch.ones_like(size))
    # For x < 0 the sum x + root cancels; it is 1 / (|x| + root).
    return torch.where(x > 0, (size / 2 + root / 2) - 1 / 2, 1 / 2 / (size + root) - 1 / 2)


def geman_mcclure_penalty(size: Tensor, mu: float | Tensor) -> Tensor:
    """The penalty for y = size >= 0. Each term has an infinite slope at 0, where their sum is flat."""
    is_zero = size == 0
    safe = torch.where(is_zero, mu / 2, size)
    rest = torch.where(safe < mu, mu - safe, 0)
    value = mu * torch.atan2(safe.sqrt(), rest.sqrt()) - (safe * rest).sqrt() - safe * safe / 2
    return torch.where(is_zero, 0, value)


def _geman_mcclure(y: Tensor, mu: float | Tensor) -> Tensor:
    return geman_mcclure_penalty(y.abs(), mu)


@elementwise(_geman_mcclure, "[-mu, mu]", mu="(0, 8/sqrt(27)]")
def geman_mcclure(x: Tensor, mu: float | Tensor = STEEPEST) -> Tensor:
    r"""Geman-McClure function :math:`\mu\,\mathrm{sgn}(x)\,x^2 / (1 + x^2) = \arg\min_y \tfrac12 (y - x)^2 + \phi(y)`
    with, on [-mu, mu],

    .. math:: \phi(y) = \mu \arctan\sqrt{\frac{|y|}{\mu - |y|}} - \sqrt{|y| (\mu - |y|)} - \tfrac12 y^2

    At the largest mu, 8/sqrt(27), the steepest slope is 1.

    Args:
        x: floating-point tensor.
        mu: the limit for large x, in (0, 8/sqrt(27)]; a number, or a tensor that broadcasts to x.

    Example:
        >>> geman_mcclure(torch.tensor([-1.0, 1e30]), 1.0)
        tensor([-0.5000,  1.0000])
    """
    unit = over_root(x)
    return mu * unit * unit.abs()
