"""Quadratic, second-order cone and semidefinite programs, and certificates that a point is optimal."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from .measure import excess, worst


class OrthantQP(NamedTuple):
    """min 1/2 <x, P x> + <q, x> over x >= 0: what a ReLU network solves."""

    P: Tensor
    q: Tensor


class QP(NamedTuple):
    """min 1/2 <x, P x> + <q, x> over H x <= r."""

    P: Tensor
    q: Tensor
    H: Tensor
    r: Tensor

    def value(self, x: Tensor) -> Tensor:
        return 0.5 * (x * (x @ self.P)).sum(-1) + x @ self.q

    def slack(self, x: Tensor) -> Tensor:
        return self.r - x @ self.H.mT

    def gap(self, x: Tensor, multipliers: Tensor) -> float:
        """0 if x is optimal, with these multipliers of H x <= r for a proof."""
        slack = self.slack(x)
        stationary = x @ self.P + self.q + multipliers @ self.H
        return worst(excess(slack, multipliers), stationary, multipliers * slack)


class SOCP(NamedTuple):
    """min <c, x> over ||A_i x + b_i|| <= <d_i, x> + e_i for every i.

    A: (cones, k, n), b: (cones, k), d: (cones, n), e: (cones,). Zero rows fill up cones with fewer than k.
    """

    c: Tensor
    A: Tensor
    b: Tensor
    d: Tensor
    e: Tensor

    def value(self, x: Tensor) -> Tensor:
        return x @ self.c

    def sides(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """<d_i, x> + e_i, (..., cones), and A_i x + b_i, (..., cones, k)."""
        return x @ self.d.mT + self.e, torch.einsum("ikn,...n->...ik", self.A, x) + self.b

    def gap(self, x: Tensor, mu: Tensor, nu: Tensor) -> float:
        """0 if x is optimal, with multipliers mu, (cones,), and nu, (cones, k), of the two sides for a proof."""
        right, left = self.sides(x)
        stationary = mu @ self.d + torch.einsum("ik,ikn->n", nu, self.A) - self.c
        complementary = mu * right + (nu * left).sum(-1)
        return worst(excess(right - _norm(left), mu - _norm(nu)), stationary, complementary)


class SDP(NamedTuple):
    """min <c, x> over F0 + sum_i x_i F_i positive semidefinite. F0: (k, k), F: (n, k, k)."""

    c: Tensor
    F0: Tensor
    F: Tensor

    def value(self, x: Tensor) -> Tensor:
        return x @ self.c

    def matrix(self, x: Tensor) -> Tensor:
        return self.F0 + torch.einsum("...n,nij->...ij", x, self.F)

    def gap(self, x: Tensor, Z: Tensor) -> float:
        """0 if x is optimal, with the multiplier Z, (k, k), of the matrix for a proof."""
        matrix = self.matrix(x)
        stationary = torch.einsum("nij,ij->n", self.F, Z) - self.c
        semidefinite = excess(torch.linalg.eigvalsh(matrix), torch.linalg.eigvalsh(Z))
        return worst(semidefinite, matrix - matrix.mT, Z - Z.mT, stationary, (matrix * Z).sum())


def _norm(v: Tensor) -> Tensor:
    return torch.linalg.vector_norm(v, dim=-1)
