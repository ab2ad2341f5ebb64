"""One layer is one step of projected gradient descent on min 1/2 <x, P x> + <q, x> over a set."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn.functional import hardsigmoid, hardtanh, linear

from .. import project
from .claim import Claim, Construction
from .measure import F64, box_gap, cone_gap, normal, orthant_gap, worst


class Quadratic(NamedTuple):
    """1/2 <x, P x> + <q, x>, and a step that suits it."""

    P: Tensor
    q: Tensor
    gamma: float

    def gradient(self, x: Tensor) -> Tensor:
        x = x.detach().requires_grad_()
        value = 0.5 * (x * (x @ self.P)).sum() + (x @ self.q).sum()
        return torch.autograd.grad(value, x)[0]

    def step(self, x: Tensor) -> Tensor:
        return x - self.gamma * self.gradient(x)


def gradient_layer(P: Tensor, q: Tensor, gamma: float) -> Construction:
    """Weight I - gamma P and bias -gamma q: with the projection onto a set as activation, a step of the method.

    Args:
        P: (n, n), symmetric and positive definite.
        q: (n,).
        gamma: the step, with ||I - gamma P|| < 1.
    """
    if not torch.equal(P, P.mT):
        raise ValueError("P must be symmetric: (P + P.mT) / 2 has the same objective")
    weight = torch.eye(P.shape[-1], dtype=P.dtype) - gamma * P
    rate = torch.linalg.matrix_norm(weight, 2).item()
    if not rate < 1:
        raise ValueError(f"gamma must make the norm of I - gamma P less than 1, got gamma={gamma} and norm {rate:.6g}")
    return {"weight": weight, "bias": -gamma * q}


def hard_sigmoid_layer(P: Tensor, q: Tensor, gamma: float, lower: Tensor, upper: Tensor) -> Construction:
    """A step over the box [lower, upper]: scale * hardsigmoid(weight x + bias) + shift.

    Hard sigmoid has slope 1/6 and range [0, 1], so a box projection is one scaled and shifted before and after it.
    """
    layer, width = gradient_layer(P, q, gamma), upper - lower
    stretch, middle = 6 / width, (lower + upper) / 2
    return {
        "weight": stretch.unsqueeze(-1) * layer["weight"],
        "bias": stretch * (layer["bias"] - middle),
        "scale": width,
        "shift": lower,
    }


def relu_rnn(weight: Tensor, bias: Tensor) -> nn.RNN:
    """A recurrent network that ignores its input: every time step is a layer, so M of them are M steps."""
    n = weight.shape[0]
    rnn = nn.RNN(1, n, nonlinearity="relu", batch_first=True, dtype=weight.dtype)
    none = torch.zeros(n, dtype=weight.dtype)
    rnn.load_state_dict(
        {"weight_ih_l0": none.unsqueeze(-1), "bias_ih_l0": none, "weight_hh_l0": weight, "bias_hh_l0": bias}
    )
    return rnn.requires_grad_(False)


def example() -> Quadratic:
    """Six variables: two cones of dimension 3."""
    root = normal(6, 6, seed=1)
    P = root @ root.T / 6 + torch.eye(6, dtype=F64) / 2
    P = (P + P.T) / 2
    return Quadratic(P, 2 * normal(6, seed=2), 1 / torch.linalg.matrix_norm(P, 2).item())


POINTS = 2 * normal(200, 6, seed=3)
LOWER, UPPER = -1 - normal(6, seed=4) ** 2, 1 + normal(6, seed=5) ** 2
CONE_ALPHA, STEPS = 1.0, 300


def _orthant_step_gap(weight: Tensor, bias: Tensor) -> float:
    return orthant_gap(example().step(POINTS), torch.relu(linear(POINTS, weight, bias)))


def _rnn_gap(weight: Tensor, bias: Tensor) -> float:
    """The states are the iterates, and the last one is optimal: x and the gradient nonnegative, one of them 0."""
    problem, start = example(), POINTS[:20]
    states, _ = relu_rnn(weight, bias)(torch.zeros(len(start), STEPS, 1, dtype=F64), start.unsqueeze(0))
    x, iterates = start, []
    for _ in range(STEPS):
        x = project.box(problem.step(x), 0.0, torch.inf)
        iterates.append(x)
    last = states[:, -1]
    return worst(states - torch.stack(iterates, 1), torch.minimum(last, problem.gradient(last)))


def _hardtanh_step_gap(weight: Tensor, bias: Tensor) -> float:
    return box_gap(example().step(POINTS), hardtanh(linear(POINTS, weight, bias)), -1.0, 1.0)


def _hard_sigmoid_step_gap(weight: Tensor, bias: Tensor, scale: Tensor, shift: Tensor) -> float:
    y = scale * hardsigmoid(linear(POINTS, weight, bias)) + shift
    return box_gap(example().step(POINTS), y, LOWER, UPPER)


def _cone_step_gap(weight: Tensor, bias: Tensor) -> float:
    y = project.cone(linear(POINTS, weight, bias), CONE_ALPHA, 3)
    return cone_gap(example().step(POINTS).unflatten(-1, (2, 3)), y.unflatten(-1, (2, 3)), CONE_ALPHA)


CLAIMS = [
    Claim(
        name="a ReLU layer is a step of projected gradient descent over the orthant",
        where="Theorem 1",
        construct=lambda: gradient_layer(*example()),
        residual=_orthant_step_gap,
    ),
    Claim(
        name=f"a ReLU RNN is {STEPS} steps, and ends at the optimum",
        where="Corollary 1, Proposition 1",
        construct=lambda: gradient_layer(*example()),
        residual=_rnn_gap,
        tolerance=1e-11,
    ),
    Claim(
        name="a hardtanh layer is a step over the box [-1, 1]",
        where="Example 1, corrected",
        construct=lambda: gradient_layer(*example()),
        residual=_hardtanh_step_gap,
    ),
    Claim(
        name="a scaled and shifted hard sigmoid layer is a step over any box",
        where="Example 1, corrected",
        construct=lambda: hard_sigmoid_layer(*example(), LOWER, UPPER),
        residual=_hard_sigmoid_step_gap,
    ),
    Claim(
        name="an MPU layer is a step over a product of second-order cones",
        where="Section 2.2",
        construct=lambda: gradient_layer(*example()),
        residual=_cone_step_gap,
    ),
]
