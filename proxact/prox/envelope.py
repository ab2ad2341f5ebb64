"""Moreau envelopes."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from .._checks import check_float_tensor
from ._interval import Interval
from ._minimise import event_axes, minimise

_POSITIVE = Interval("(0, inf)")


def moreau_envelope(
    penalty: Callable[[Tensor], Tensor],
    lam: float = 1.0,
    *,
    prox: Callable[[Tensor], Tensor] | None = None,
    outside: Callable[[Tensor], Tensor] | None = None,
) -> Callable[[Tensor], Tensor]:
    r"""The function :math:`M(y) = \min_v\ \phi(v) + \tfrac{1}{2\lambda} \|v - y\|^2`, smooth whatever :math:`\phi` is.

    Its gradient is :math:`(y - v)/\lambda` at the minimising v; autograd gives that, to first order.

    The paper's theorem: if f is the prox of :math:`\phi`, then :math:`\tfrac{1}{1+\lambda} f(x) +
    \tfrac{\lambda}{1+\lambda} x` is the prox of the envelope of :math:`\phi / (1 + \lambda)`, and
    :class:`proxact.nn.Leaky` computes it.

    Args:
        penalty: convex, inf outside its domain; elementwise, or of the last axes.
        lam: > 0.
        prox: the prox of ``lam * penalty`` in closed form, where it is known (for an indicator: the projection).
            Without it v is found numerically in float64, as in :func:`proxact.prox.verify`.
        outside: as in :func:`proxact.prox.verify`.

    Example:
        The envelope of the absolute value is Huber's function:

        >>> moreau_envelope(torch.abs)(torch.tensor([0.5, 3.0]))
        tensor([0.1250, 2.5000])
    """
    _POSITIVE.check("lam", lam, takes_tensor=False)

    def envelope(y: Tensor) -> Tensor:
        check_float_tensor("y", y)
        with torch.no_grad():
            v = minimise(penalty, y, outside, weight=lam).to(y.dtype) if prox is None else prox(y)
            value = penalty(v)
        squares = (v - y) ** 2 / (2 * lam)
        return value + (squares.flatten(-axes).sum(-1) if (axes := event_axes(penalty, y)) else squares)

    return envelope
