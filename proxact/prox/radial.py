r"""Functions of the length of a vector.

Where a nondecreasing 1-Lipschitz :math:`\rho` is the prox of :math:`\phi` on the numbers >= 0,
:math:`\rho(\|x\|)\,x/\|x\|` is the prox of :math:`\phi(\|y\|)`.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor

from ..project._vectors import as_scalar, largest, safe_norm
from ._entry import along_dim
from .algebraic import geman_mcclure_penalty, over_root
from .indicator import norm


def anywhere(y: Tensor, **_: object) -> Tensor:
    return y.new_full(y.shape[:-1], -math.inf)


def _length(y: Tensor, lam: float | Tensor) -> Tensor:
    return as_scalar("lam", lam, y) * norm(y)


@along_dim(_length, anywhere, "all vectors", lam="[0, inf)")
def group_soft_threshold(x: Tensor, lam: float | Tensor = 0.5, *, dim: int = -1) -> Tensor:
    r"""Group soft threshold :math:`(1 - \lambda / \|x\|)_+\,x = \arg\min_y \tfrac12 \|y - x\|^2 + \lambda \|y\|_2`.

    Args:
        x: floating-point tensor.
        lam: the threshold, >= 0; a number, or a tensor that broadcasts against x with ``dim`` removed.
        dim: the axis of x that holds the vectors.

    Example:
        >>> group_soft_threshold(torch.tensor([3.0, 4.0]), 2.5)
        tensor([1.5000, 2.0000])
    """
    return _shortened(x, as_scalar("lam", lam, x).unsqueeze(-1))


def _shortened(x: Tensor, threshold: Tensor) -> Tensor:
    scale = largest(x)
    length, divisor = safe_norm(x / scale)
    return torch.relu(length - threshold / scale) / divisor * x


def _minus_length(y: Tensor, b: float | Tensor) -> Tensor:
    return -as_scalar("b", b, y) * norm(y)


@along_dim(_minus_length, anywhere, "all vectors", b="(-inf, 0]")
def modrelu(x: Tensor, b: float | Tensor = -0.5, *, dim: int = -1) -> Tensor:
    r"""ModReLU :math:`\mathrm{relu}(|z| + b)\,z / |z| = \arg\min_y \tfrac12 |y - z|^2 - b\,|y|` of complex numbers z.

    Args:
        x: floating-point tensor with the real and imaginary parts along ``dim``, as ``torch.view_as_real`` gives them.
        b: the bias, <= 0 (above, small numbers would jump: no penalty is convex); a number, or a tensor that broadcasts
            against x with ``dim`` removed.
        dim: the axis of x that holds the two parts.

    Example:
        >>> modrelu(torch.tensor([3.0, 4.0]), -2.5)
        tensor([1.5000, 2.0000])
    """
    return _shortened(x, -as_scalar("b", b, x).unsqueeze(-1))


def _squash(y: Tensor, mu: float | Tensor) -> Tensor:
    return geman_mcclure_penalty(norm(y), as_scalar("mu", mu, y))


def _beyond(y: Tensor, mu: float | Tensor) -> Tensor:
    return norm(y) - as_scalar("mu", mu, y)


@along_dim(_squash, _beyond, "|y| <= mu", mu="(0, 8/sqrt(27)]")
def squash(x: Tensor, mu: float | Tensor = 1.0, *, dim: int = -1) -> Tensor:
    r"""The squash of capsule networks :math:`\mu \frac{\|x\|^2}{1 + \|x\|^2} \frac{x}{\|x\|} = \arg\min_y
    \tfrac12 \|y - x\|^2 + \phi(\|y\|)`, with the :math:`\phi` of :func:`geman_mcclure`.

    Args:
        x: floating-point tensor.
        mu: the length that long vectors get, in (0, 8/sqrt(27)]; a number, or a tensor that broadcasts against x with
            ``dim`` removed.
        dim: the axis of x that holds the vectors.

    Example:
        >>> squash(torch.tensor([0.6, 0.8]))
        tensor([0.3000, 0.4000])
    """
    scale = largest(x)
    unit = x / scale
    length, divisor = safe_norm(unit)
    return as_scalar("mu", mu, x).unsqueeze(-1) * over_root(length * scale) ** 2 / divisor * unit
