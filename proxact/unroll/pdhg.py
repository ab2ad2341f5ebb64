"""The primal-dual hybrid gradient method."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from ._network import Weights, as_network, check_network
from ._problem import Prox, as_size, identity_like, largest_eigenvalue, times
from ._solver import Solver


class PDHG(Solver):
    r"""PDHG, with a gradient step on the quadratic (Condat and Vu): products with P and A alone, nothing is inverted.

    .. math:: \min_x \tfrac12 x^T P x + q^T x + g(A x) = \min_x \max_y \tfrac12 x^T P x + q^T x + y^T A x - g^*(y)

    A step is, with the conjugate's prox by Moreau's identity,

    .. math:: x^+ = x - tau\, (P x + q + A^T y), \quad w = y + sigma\, A (2 x^+ - x), \quad
        y^+ = w - sigma\, \mathrm{Prox}_{g/sigma}(w/sigma).

    Args:
        P: symmetric and positive semidefinite, 0 allowed, (..., n, n).
        g: a projection ``g(v)`` or a prox ``g(v, step)``, as for :class:`~proxact.unroll.ProximalGradient`.
        A: (..., k, n), the identity unless given.
        tau, sigma: > 0 with tau (\|P\|_2/2 + sigma \|A\|_2^2) <= 1, numbers or one for each P. Unless given, sigma
            starts from \|P\|_2/\|A\|_2^2 (1/\|A\|_2 for P = 0) and, with a ``tol``, follows the ratio of the primal to
            the dual residual, and tau = 1/(\|P\|_2 + sigma \|A\|_2^2).
        steps, tol, every, gradient, weights: as for :class:`~proxact.unroll.ADMM`.

    Shape:
        q: (..., n), its batch axes broadcast with those of P and A; x: the same. Without A, x is in the set exactly.

    Example:
        >>> from proxact import project
        >>> solver = PDHG(torch.zeros(2, 2), project.l2_ball)  # a linear objective over the disc
        >>> solver(torch.tensor([3.0, -4.0]))
        tensor([-0.6000,  0.8000])
    """

    learned = ("W", "V", "U", "B", "step")
    curvature: Tensor
    stretch: Tensor

    def __init__(
        self,
        P: Tensor,
        g: Prox,
        A: Tensor | None = None,
        *,
        tau: float | Tensor | None = None,
        sigma: float | Tensor | None = None,
        **options: Any,
    ) -> None:
        super().__init__(P, g, A, **options)
        self.given_tau, self.given_sigma = tau, sigma
        self.adapts = tau is None and sigma is None
        self.needs_step = True  # sigma scales the multipliers, whatever g is
        self._measure()
        self._learn()

    def _measure(self) -> None:
        curvature = largest_eigenvalue(self.P).clamp(min=0)
        stretch = torch.ones_like(curvature) if self.A is None else torch.linalg.matrix_norm(self.A.detach(), 2) ** 2
        if (stretch == 0).any():
            raise ValueError("A must not be 0, got a matrix of zeros")
        curvature, stretch = torch.broadcast_tensors(curvature, stretch)
        self.register_buffer("curvature", curvature, persistent=False)
        self.register_buffer("stretch", stretch, persistent=False)
        if self.given_sigma is not None:
            sigma = as_size("sigma", self.given_sigma, self.P, curvature.shape)
        elif self.given_tau is not None:
            tau = as_size("tau", self.given_tau, self.P, curvature.shape)
            sigma = (1 / tau - self.curvature) / self.stretch
            if (sigma <= 0).any():
                limit = (1 / self.curvature).min()
                raise ValueError(f"tau must be < 1/||P||_2 = {limit:.6g} without a sigma, got {tau.max():.6g}")
        else:
            sigma = torch.where(self.curvature > 0, self.curvature / self.stretch, self.stretch.rsqrt())
        load = self._tau(sigma) * (self.curvature / 2 + sigma * self.stretch)
        if (load > 1 + 1e-6).any():
            raise ValueError(
                "tau and sigma must satisfy tau (||P||_2/2 + sigma ||A||_2^2) <= 1, got "
                f"{load.max():.6g} with ||P||_2 = {self.curvature.max():.6g} and ||A||_2^2 = {self.stretch.max():.6g}"
            )
        self.register_buffer("size", sigma, persistent=False)

    def _tau(self, sigma: Tensor) -> Tensor:
        if self.given_tau is not None:
            return as_size("tau", self.given_tau, self.P, self.curvature.shape)
        return 1 / (self.curvature + sigma * self.stretch)

    def _weights(self, size: Tensor) -> Weights:
        identity = identity_like(self.P)
        A = identity if self.A is None else self.A
        tau, sigma = self._tau(size)[..., None, None], size[..., None, None]
        return {"W": identity - tau * self.P, "V": -tau * A.mT, "U": sigma * A, "B": -tau * identity, "step": 1 / size}

    def _start(self, x0: Tensor) -> Tensor:
        k = x0.shape[-1] if self.A is None else self.A.shape[-2]
        return torch.cat([x0, x0.new_zeros(*x0.shape[:-1], k)], -1)

    def _map(self, s: Tensor, b: Tensor, layer: Weights) -> Tensor:
        x, _, y = self._point(s, b, layer, b)
        return torch.cat([x, y], -1)

    def _point(self, s: Tensor, b: Tensor, layer: Weights, q: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        n, step = self.P.shape[-1], layer["step"].unsqueeze(-1)
        before, y = s[..., :n], s[..., n:]
        x = times(layer["W"], before) + times(layer["V"], y) + b
        v = step * (y + times(layer["U"], 2 * x - before))
        z = self._prox(v, layer["step"])
        return x, z, (v - z) / step

    def to_fnn(self, q: Tensor) -> nn.Sequential:
        """The steps for one q as plain layers, x0 -> x. Each holds (x, v, z), of which g acts on the third."""
        check_network(self, q)
        layers = self._layers()
        n, k = self.P.shape[-1], layers[0]["U"].shape[0]
        identity, other = identity_like(self.P), torch.eye(k, dtype=q.dtype, device=q.device)
        # x and y of the last step in terms of what a layer holds: x0 alone, then (x, v, z) with y = (v - z)/step.
        old_x, old_y = identity, q.new_zeros(k, n)
        affines = []
        for layer in layers:
            b, step = times(layer["B"], q), layer["step"]
            x = layer["W"] @ old_x + layer["V"] @ old_y
            v, shift = step * (old_y + layer["U"] @ (2 * x - old_x)), 2 * step * times(layer["U"], b)
            affines.append((torch.cat([x, v, v]), torch.cat([b, shift, shift])))
            old_x = torch.cat([identity, q.new_zeros(n, 2 * k)], 1)
            old_y = torch.cat([q.new_zeros(k, n), other / step, -other / step], 1)
        seen = old_x if self.A is not None else torch.cat([q.new_zeros(k, n + k), other], 1)
        last = seen, torch.zeros_like(q)
        return as_network(self, affines, [layer["step"] for layer in layers], keep=n + k, last=last)
