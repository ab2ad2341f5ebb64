"""Projections of one number onto an interval, and the hard sigmoid."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

from .._checks import EmptySetError
from ._entry import elementwise


def _zero(y: Tensor) -> Tensor:
    return torch.zeros_like(y)


@elementwise(_zero, "[0, inf)")
def relu(x: Tensor) -> Tensor:
    r"""ReLU: :math:`\arg\min_{y \ge 0} \tfrac12 (y - x)^2`, the projection onto the half-line.

    Args:
        x: floating-point tensor.

    Example:
        >>> relu(torch.tensor([-1.0, 2.0]))
        tensor([0., 2.])
    """
    return torch.relu(x)


@elementwise(_zero, "[0, 6]")
def relu6(x: Tensor) -> Tensor:
    r"""ReLU6: :math:`\arg\min_{0 \le y \le 6} \tfrac12 (y - x)^2`.

    Args:
        x: floating-point tensor.

    Example:
        >>> relu6(torch.tensor([-1.0, 2.0, 7.0]))
        tensor([0., 2., 6.])
    """
    return F.relu6(x)


@elementwise(_zero, "[-1, 1]")
def hardtanh(x: Tensor) -> Tensor:
    r"""Hardtanh: :math:`\arg\min_{-1 \le y \le 1} \tfrac12 (y - x)^2`. :func:`clip` has other bounds.

    Args:
        x: floating-point tensor.

    Example:
        >>> hardtanh(torch.tensor([-3.0, 0.5]))
        tensor([-1.0000,  0.5000])
    """
    return F.hardtanh(x)


def _zero_between(y: Tensor, low: float, high: float) -> Tensor:
    _check_order(low, high)
    return torch.zeros_like(y)


@elementwise(_zero_between, "[low, high]", low="[-inf, inf]", high="[-inf, inf]")
def clip(x: Tensor, low: float = 0.0, high: float = 1.0) -> Tensor:
    r"""Clip to an interval: :math:`\arg\min_{low \le y \le high} \tfrac12 (y - x)^2`.

    The derivative at a bound is 0, as that of ``torch.relu`` at 0. Bounds by entry: :func:`proxact.prox.box`.

    Args:
        x: floating-point tensor.
        low, high: numbers, low <= high; infinite ones allowed.

    Example:
        >>> clip(torch.tensor([-3.0, 0.5, 3.0]), -2.0, 1.0)
        tensor([-2.0000,  0.5000,  1.0000])
    """
    _check_order(low, high)
    return F.hardtanh(x, low, high)


def _check_order(low: float, high: float) -> None:
    if low > high:
        raise EmptySetError(f"the set is empty: low must be <= high, got {low} and {high}")


def _hardsigmoid(y: Tensor) -> Tensor:
    return 5 / 2 * y * y - 3 * y


@elementwise(_hardsigmoid, "[0, 1]")
def hardsigmoid(x: Tensor) -> Tensor:
    r"""Hard sigmoid: :math:`\arg\min_{0 \le y \le 1} \tfrac12 (y - x)^2 + \tfrac52 y^2 - 3 y`.

    Its slope is 1/6, so it is no projection onto a box.

    Args:
        x: floating-point tensor.

    Example:
        >>> hardsigmoid(torch.tensor([-4.0, 0.0, 1.5]))
        tensor([0.0000, 0.5000, 0.7500])
    """
    return F.relu6(x + 3) / 6  # torch's own hardsigmoid has no second derivative
