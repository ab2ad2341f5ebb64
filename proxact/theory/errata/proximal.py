"""Corrections to the section on proximal operators and to the box example."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn.functional import hardsigmoid, hardtanh, softshrink

from ..claim import Construction, Erratum
from ..gradient_step import example
from ..leaky import envelope_gap, leak_of
from ..measure import F64, box_gap, normal, worst

PROBLEM, L1_WEIGHT = example(), 0.3


def _fixed_point(threshold: float) -> Tensor:
    """Of the step with the soft threshold, the prox of threshold * ||.||_1."""
    x = torch.zeros_like(PROBLEM.q)
    for _ in range(500):
        x = softshrink(PROBLEM.step(x), threshold)
    return x


def _lasso_gap(x: Tensor, hessian: Tensor) -> float:
    """0 if and only if x minimises 1/2 <x, hessian x> + <q, x> + weight ||x||_1."""
    return worst(x - softshrink(x - hessian @ x - PROBLEM.q, L1_WEIGHT))


def _lasso(threshold: float, factor: float) -> Construction:
    return {"x": _fixed_point(threshold), "hessian": factor * PROBLEM.P}


SOFTMAX_INPUT = normal(5, seed=1)


def _softmax_penalty(quadratic: float) -> Construction:
    return {"y": SOFTMAX_INPUT.softmax(-1), "quadratic": torch.tensor(quadratic, dtype=F64)}


def _softmax_gap(y: Tensor, quadratic: Tensor) -> float:
    """0 if and only if y minimises the negative entropy + quadratic ||y||^2 + 1/2 ||y - x||^2 on the simplex."""
    slope = y.log() + 1 + 2 * quadratic * y + y - SOFTMAX_INPUT
    return worst(slope - slope.mean(), y.sum() - 1)


def _ends(sigmoid_at_0: float, sigmoid_at_1: float, tanh_at_1: float) -> Construction:
    return {"ends": torch.tensor([sigmoid_at_0, sigmoid_at_1, tanh_at_1], dtype=F64)}


def _ends_gap(ends: Tensor) -> float:
    """A lower semicontinuous penalty has its limits for end values."""
    near = torch.tensor([1e-13, 1 - 1e-13], dtype=F64)
    sigmoid = torch.special.xlogy(near, near) + torch.special.xlogy(1 - near, 1 - near) - near**2 / 2
    tanh = near[1] * near[1].atanh() + (torch.log((1 - near[1]) * (1 + near[1])) - near[1] ** 2) / 2
    return worst(ends - torch.stack([*sigmoid, tanh]))


LAMBDA = 0.5


def _leaky_gap(scale: Tensor, leak: Tensor) -> float:
    """The leaky soft threshold against the envelope of scale * abs."""
    x = torch.linspace(-4, 4, 401, dtype=F64)
    y = (1 - leak) * softshrink(x, 1.0) + leak * x
    return worst(envelope_gap(x, y, lambda v: softshrink(v, LAMBDA * scale.item()), LAMBDA))


def _leaky(scale: float) -> Construction:
    return {"scale": torch.tensor(scale, dtype=F64), "leak": torch.tensor(leak_of(LAMBDA), dtype=F64)}


BOX_POINTS = 2 * normal(200, seed=2)


ERRATA = [
    Erratum(
        where="Proposition 2",
        says="x = Prox_g(z)",
        name="x = Prox_{gamma g}(z)",
        construct=lambda: _lasso(PROBLEM.gamma * L1_WEIGHT, 1.0),
        printed=lambda: _lasso(L1_WEIGHT, 1.0),
        residual=_lasso_gap,
    ),
    Erratum(
        where="Section 3, problem",
        says="x' P x",
        name="1/2 x' P x, for the step I - gamma P to match",
        construct=lambda: _lasso(PROBLEM.gamma * L1_WEIGHT, 1.0),
        printed=lambda: _lasso(PROBLEM.gamma * L1_WEIGHT, 2.0),
        residual=_lasso_gap,
    ),
    Erratum(
        where="Example 2, softmax",
        says="prox of the negative entropy",
        name="prox of negative entropy - 1/2 ||.||^2 on the simplex",
        construct=lambda: _softmax_penalty(-0.5),
        printed=lambda: _softmax_penalty(0.0),
        residual=_softmax_gap,
    ),
    Erratum(
        where="Example 2, sigmoid and tanh at the ends",
        says="sigmoid 0 at {0, 1}; tanh +inf at +-1",
        name="sigmoid 0 at 0 and -1/2 at 1; tanh ln 2 - 1/2 at +-1",
        construct=lambda: _ends(0.0, -0.5, torch.tensor(2.0, dtype=F64).log().item() - 0.5),
        printed=lambda: _ends(0.0, 0.0, torch.inf),
        residual=_ends_gap,
        tolerance=1e-10,
    ),
    Erratum(
        where="Theorem 3",
        says="Leaky f is the prox of M_{lam g}, f the prox of (lam + 1) g",
        name="right as stated: the envelope is of phi / (lam + 1) when f = prox of phi; leak = lam / (1 + lam)",
        construct=lambda: _leaky(1 / (1 + LAMBDA)),
        residual=_leaky_gap,
    ),
    Erratum(
        where="Example 1",
        says="hard sigmoid for [-1, 1]",
        name="hardtanh; hard sigmoid is a scaled and shifted one",
        construct=lambda: {"y": hardtanh(BOX_POINTS)},
        printed=lambda: {"y": hardsigmoid(BOX_POINTS)},
        residual=lambda y: box_gap(BOX_POINTS, y, -1.0, 1.0),
    ),
]
