"""Accelerated proximal gradient descent."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from ._network import Affine, Weights, as_network, check_network
from ._problem import identity_like, times
from .gradient import GradientSolver


class FISTA(GradientSolver):
    r"""Proximal gradient descent with Nesterov's momentum, for

    .. math:: \min_x \tfrac12 x^T P x + q^T x + g(x), \qquad
        x^{(l)} = \mathrm{Prox}_{step\, g}\big((I - step\, P)\, y^{(l-1)} - step\, q\big), \quad
        y^{(l)} = x^{(l)} + \beta_l\, (x^{(l)} - x^{(l-1)}).

    With a ``tol`` the momentum starts afresh, for each problem, where it points uphill, which makes convergence linear
    when P is positive definite. With ``tol=None`` all layers have the beta of the textbook, and ``to_fnn`` works.

    Args:
        P, g, steps, tol, every, gradient, weights: as for :class:`~proxact.unroll.ProximalGradient`.
        step: in (0, 1/\|P\|_2], 1/\|P\|_2 unless given.

    Example:
        >>> from proxact import project
        >>> FISTA(torch.tensor([[2.0, 1.0], [1.0, 2.0]]), project.box)(torch.tensor([-2.0, 1.0]))
        tensor([1., 0.])
    """

    largest_step = 1.0

    def _advance(self, s: Tensor, memory: Any, b: Tensor, layer: Weights) -> tuple[Tensor, Any]:
        previous, t = memory or (s, torch.ones_like(s[..., :1]))
        x = self._map(s, b, layer)
        t_next = _next(t)
        beta = (t - 1) / t_next
        if self.tol is not None:
            is_uphill = ((s - x) * (x - previous)).sum(-1, keepdim=True) > 0
            beta, t_next = torch.where(is_uphill, 0, beta), torch.where(is_uphill, 1, t_next)
        return x + beta * (x - previous), (x, t_next)

    def to_fnn(self, q: Tensor) -> nn.Sequential:
        """The steps for one q as plain layers, x0 -> x. Each holds (last x, x), of which g acts on the second."""
        check_network(self, q)
        identity, zero = identity_like(self.P), torch.zeros_like(self.P)
        layers = self._layers()
        affines: list[Affine] = []
        t = torch.ones_like(q[:1])
        for k, layer in enumerate(layers):
            W, bias = layer["W"], torch.cat([torch.zeros_like(q), times(layer["B"], q)])
            if k == 0:
                weight = torch.cat([identity, W])
            else:
                beta, t = (t - 1) / _next(t), _next(t)
                weight = torch.cat([torch.cat([zero, identity], 1), torch.cat([-beta * W, (1 + beta) * W], 1)])
            affines.append((weight, bias))
        last = torch.cat([zero, identity], 1), torch.zeros_like(q)
        return as_network(self, affines, [layer["step"] for layer in layers], keep=len(q), last=last)


def _next(t: Tensor) -> Tensor:
    return (1 + torch.sqrt(1 + 4 * t * t)) / 2
