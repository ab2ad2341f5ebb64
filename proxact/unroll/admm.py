"""The alternating direction method of multipliers."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from ._network import Weights, as_network, check_network
from ._problem import Prox, as_size, identity_like, norm, times
from ._solver import Solver


class ADMM(Solver):
    r"""ADMM for g of a linear map, for any positive semidefinite P, 0 among them.

    .. math:: \min_x \tfrac12 x^T P x + q^T x + g(A x)

    With z = Prox_{g/rho}(v), :math:`K = (P + rho\, A^T A)^{-1}` and relaxation a, a step is

    .. math:: A x = rho\, A K A^T (2 z - v) - A K q, \qquad v \leftarrow v + a\, (A x - z),

    one linear layer and one g; with a ``tol`` steps are extrapolated.

    The set :math:`\{x : A x \in C\}` needs the projection onto C alone: a polyhedron Hx <= r is A = H and
    ``g = lambda v: project.box(v, -math.inf, r)``; a second-order cone constraint stacks its rows in A and has
    ``g = lambda v: project.lorentz(v + h) - h``.

    Args:
        P: symmetric and positive semidefinite, (..., n, n).
        g: a projection ``g(v)`` or a prox ``g(v, step)``, as for :class:`~proxact.unroll.ProximalGradient`.
        A: (..., k, n), the identity unless given. P + A'A must be regular.
        rho: > 0, a number or one for each P. Unless given it starts from tr(P)/tr(A'A) and, with a ``tol``, follows the
            ratio of the primal to the dual residual.
        relaxation: a in (0, 2).
        steps, tol, every, gradient, weights: as for :class:`~proxact.unroll.ProximalGradient`; the residual is the
            larger one of Ax = z and Px + q + A'y = 0. The map from the last v back to x is not learned. A start x0 says
            nothing about the multipliers, which begin at 0.

    Shape:
        q: (..., n), its batch axes broadcast with those of P and A; x: the same. Without A, x is in the set exactly.

    Example:
        >>> from proxact import project
        >>> solver = ADMM(torch.zeros(2, 2), project.l2_ball)  # a linear objective over the disc
        >>> solver(torch.tensor([3.0, -4.0]))
        tensor([-0.6000,  0.8000])
    """

    def __init__(
        self,
        P: Tensor,
        g: Prox,
        A: Tensor | None = None,
        *,
        rho: float | Tensor | None = None,
        relaxation: float = 1.6,
        **options: Any,
    ) -> None:
        super().__init__(P, g, A, **options)
        if isinstance(relaxation, bool) or not isinstance(relaxation, (int, float)):
            raise TypeError(f"relaxation must be a float in (0, 2), got {relaxation!r}")
        if not 0 < relaxation < 2:
            raise ValueError(f"relaxation must be a float in (0, 2), got {relaxation}")
        self.relaxation = relaxation
        self.given_rho = rho
        self.adapts = rho is None
        self.fewer_layers = 0 if A is None else 1  # the last step ends with x, by matrices that are not learned
        self._measure()
        self._learn()

    def _measure(self) -> None:
        P, gram = self.P.detach(), self._gram().detach()
        curvature, stretch = _trace(P), _trace(gram)
        if self.A is not None:
            together = P / _positive(curvature)[..., None, None] + gram / _positive(stretch)[..., None, None]
            rounding = 10 * P.shape[-1] * torch.finfo(P.dtype).eps
            if (torch.linalg.eigvalsh(together)[..., 0] < rounding).any():
                raise ValueError(
                    "A must have full column rank on the null space of P for ADMM, which inverts P + rho A'A; got a "
                    "singular one; use PDHG, or add rows to A or a multiple of I to P"
                )
        rho = torch.where(curvature > 0, curvature, P.shape[-1]) / stretch
        rho = rho if self.given_rho is None else as_size("rho", self.given_rho, P, rho.shape)
        self.register_buffer("size", rho, persistent=False)

    def _weights(self, size: Tensor) -> Weights:
        rho = size[..., None, None]
        K = torch.cholesky_inverse(torch.linalg.cholesky(torch.addcmul(self.P, rho, self._gram())))
        if self.A is None:
            W = rho * K
            return {"W": W, "B": -K if K.requires_grad else K.neg_(), "step": 1 / size}  # a batch of K may be large
        KA = K @ self.A.mT
        return {"W": rho * (self.A @ KA), "B": -KA.mT, "C": rho * KA, "D": -K, "step": 1 / size}

    def _start(self, x0: Tensor) -> Tensor:
        return x0 if self.A is None else times(self.A, x0)

    def _map(self, s: Tensor, b: Tensor, layer: Weights) -> Tensor:
        z = self._prox(s, layer["step"])
        return s + self.relaxation * (times(layer["W"], 2 * z - s) + b - z)

    def _advance(self, s: Tensor, memory: Any, b: Tensor, layer: Weights) -> tuple[Tensor, Any]:
        """With a tol, a secant step (Anderson's acceleration of depth 1) on the residual r = T(v) - v.

        Measured to need up to half of the steps. Only where r fell, as it does for T itself; the optimality conditions
        decide about convergence either way.
        """
        new = self._map(s, b, layer)
        if self.tol is None:
            return new, None
        with torch.no_grad():  # the limit does not depend on the coefficient, and 0/0 has no derivative
            r = new - s
            if memory is None:
                return new, (new, r)
            change = r - memory[1]
            falls = norm(r) <= norm(memory[1])
            share = (r * change).sum(-1) / (change * change).sum(-1).clamp(min=torch.finfo(r.dtype).tiny)
            share = torch.where(falls, share.clamp(-2, 2), 0).unsqueeze(-1)
        return new - share * (new - memory[0]), (new, r)

    def _point(self, s: Tensor, b: Tensor, layer: Weights, q: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        z = self._prox(s, layer["step"])
        mirrored = 2 * z - s
        Ax = times(layer["W"], mirrored) + b
        v = s + self.relaxation * (Ax - z)
        z = self._prox(v, layer["step"])
        x = Ax if self.A is None else times(layer["C"], mirrored) + times(layer["D"], q)
        return x, z, (v - z) / layer["step"].unsqueeze(-1)

    def _resized(self, s: Tensor, layer: Weights, size: Tensor) -> Tensor:
        """The same z and multiplier y = rho (v - z)."""
        z = self._prox(s, layer["step"])
        return z + (s - z) / (layer["step"] * size).unsqueeze(-1)

    def _gram(self) -> Tensor:
        return identity_like(self.P) if self.A is None else self.A.mT @ self.A

    def to_fnn(self, q: Tensor) -> nn.Sequential:
        """The steps for one q as plain layers, x0 -> x. Each holds (v, z), of which g acts on the second."""
        check_network(self, q)
        layers, a = self._layers(), self.relaxation
        start = identity_like(self.P) if self.A is None else self.A
        k = start.shape[0]
        identity = torch.eye(k, dtype=q.dtype, device=q.device)
        inner = {}
        for layer in layers:
            W, b = layer["W"], times(layer["B"], q)
            row = torch.cat([identity - a * W, a * (2 * W - identity)], 1)
            inner[id(layer)] = torch.cat([row, row]), a * torch.cat([b, b])
        affines = [(torch.cat([start, start]), q.new_zeros(2 * k))] + [inner[id(layer)] for layer in layers]
        steps = [layer["step"] for layer in layers]
        if self.A is None:
            last = torch.cat([torch.zeros_like(identity), identity], 1), torch.zeros_like(q)
            return as_network(self, affines, [*steps, steps[-1]], keep=k, last=last)
        C, D = layers[-1]["C"], layers[-1]["D"]
        return as_network(self, affines[:-1], steps, keep=k, last=(torch.cat([-C, 2 * C], 1), times(D, q)))


def _trace(matrix: Tensor) -> Tensor:
    return matrix.diagonal(dim1=-2, dim2=-1).sum(-1)


def _positive(size: Tensor) -> Tensor:
    return torch.where(size > 0, size, 1)
