"""Softmax, sparsemax and what lies between, on the probability simplex."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor

from ..project._vectors import as_scalar
from ..project.simplex import onto_simplex
from ._entry import along_dim
from .indicator import outside_simplex

_BISECTIONS, _NEWTON_STEPS = 12, 8  # Newton from within ln(n)/4096 below the root of a convex function
_FAR = 1e4  # entries this far below the largest have no weight, whatever alpha


def _on_simplex(y: Tensor, **_: object) -> Tensor:
    return outside_simplex(y)


def _entropy(y: Tensor) -> Tensor:
    # Below the smallest number the logarithm stays as it is: steep and finite just outside the simplex.
    return (y * y.clamp(min=torch.finfo(y.dtype).tiny).log() - y * y / 2).sum(-1)


@along_dim(_entropy, _on_simplex, "the simplex")
def softmax(x: Tensor, *, dim: int = -1) -> Tensor:
    r"""Softmax: :math:`\arg\min_y \tfrac12 \|y - x\|^2 + \sum_i y_i \ln y_i - \tfrac12 \|y\|^2` on the simplex.

    Args:
        x: floating-point tensor.
        dim: the axis of x that holds the vectors.

    Example:
        >>> softmax(torch.tensor([0.0, math.log(3)]))
        tensor([0.2500, 0.7500])
    """
    return torch.softmax(x, -1)


def _zero(y: Tensor) -> Tensor:
    return y.new_zeros(y.shape[:-1])


@along_dim(_zero, _on_simplex, "the simplex")
def sparsemax(x: Tensor, *, dim: int = -1) -> Tensor:
    r"""Sparsemax: :math:`\arg\min_y \tfrac12 \|y - x\|^2` on the simplex, :func:`proxact.project.simplex`.

    Args:
        x: floating-point tensor.
        dim: the axis of x that holds the vectors.

    Example:
        >>> sparsemax(torch.tensor([1.0, 0.6, -1.0]))
        tensor([0.7000, 0.3000, 0.0000])
    """
    return onto_simplex(x, x.new_ones(1))


def _tsallis(y: Tensor, alpha: float | Tensor) -> Tensor:
    order = _order(alpha, y)
    positive = torch.where(y > 0, y, 1)
    # y (y^order - 1), which grows on with the same slope just below 0
    power = torch.where(y > 0, positive * torch.expm1(order * positive.log()), -y)
    return (power / (order * (1 + order)) - y * y / 2).sum(-1)


@along_dim(_tsallis, _on_simplex, "the simplex", alpha="[1, 2]")
def entmax(x: Tensor, alpha: float | Tensor = 1.5, *, dim: int = -1) -> Tensor:
    r"""Alpha-entmax: :math:`\arg\min_y \tfrac12 \|y - x\|^2 + \phi(y)` with, on the simplex,

    .. math:: \phi(y) = \sum_i \frac{y_i^\alpha - y_i}{\alpha (\alpha - 1)} - \tfrac12 \|y\|^2

    Softmax at alpha = 1, sparsemax at alpha = 2; weights can be exactly 0 for every alpha > 1. Above 2 the penalty is
    not convex: that raises. The solution is :math:`y_i = [1 + (\alpha - 1)(x_i - t)]_+^{1/(\alpha - 1)}`; the level t
    that gives the sum 1 is found by bisection and Newton steps and differentiated implicitly, twice.

    Args:
        x: floating-point tensor.
        alpha: in [1, 2]; a number, or a tensor that broadcasts against x with ``dim`` removed, which gets a gradient.
        dim: the axis of x that holds the vectors.

    Example:
        >>> entmax(torch.tensor([1.0, 0.0, -2.0]))
        tensor([0.8307, 0.1693, 0.0000])
    """
    if not isinstance(alpha, Tensor) and alpha == 1:
        return torch.softmax(x, -1)
    if not isinstance(alpha, Tensor) and alpha == 2:
        return onto_simplex(x, x.new_ones(1))
    order = _order(alpha, x)
    below_top = x - x.detach().amax(-1, keepdim=True)
    below_top = torch.where(below_top < -_FAR, -_FAR, below_top)
    level = _level(below_top.detach(), order.detach())
    slope = _weights(below_top.detach() - level, order.detach())[1].sum(-1, keepdim=True)
    for _ in range(2):  # value 0; gives the level its first and second derivatives
        total = _weights(below_top - level, order)[0].sum(-1, keepdim=True)
        level = level + (total - total.detach()) / slope
    return _weights(below_top - level, order)[0]


def _order(alpha: Any, like: Tensor) -> Tensor:
    """alpha - 1, a little above 0 at least, where all is as for softmax; its derivative stays 1."""
    order = as_scalar("alpha", alpha, like).unsqueeze(-1) - 1
    return order.detach().clamp(min=torch.finfo(like.dtype).eps ** 0.5) + (order - order.detach())


def _weights(v: Tensor, order: Tensor) -> tuple[Tensor, Tensor]:
    """[1 + order v]_+^(1/order) and its derivative in v; the logarithm keeps both exact for an order near 0."""
    is_zero = order * v <= -1
    inner = torch.where(is_zero, 0, order * v)
    weight = torch.where(is_zero, 0, (torch.log1p(inner) / order).exp())
    return weight, weight / (1 + inner)


def _level(below_top: Tensor, order: Tensor) -> Tensor:
    """The t with sum [1 + order (x - t)]_+^(1/order) = 1: between one weight of 1 and n equal ones."""
    low = torch.zeros_like(below_top[..., :1])
    high = -torch.expm1(-order * math.log(below_top.shape[-1])) / order + low
    for _ in range(_BISECTIONS):
        middle = (low + high) / 2
        is_low = _weights(below_top - middle, order)[0].sum(-1, keepdim=True) > 1
        low, high = torch.where(is_low, middle, low), torch.where(is_low, high, middle)
    for _ in range(_NEWTON_STEPS):
        weight, slope = _weights(below_top - low, order)
        low = low + (weight.sum(-1, keepdim=True) - 1) / slope.sum(-1, keepdim=True)
    return low
