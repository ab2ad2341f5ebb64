"""Proximal and projected gradient descent."""

from __future__ import annotations

from typing import Any

from torch import Tensor, nn

from ._network import Weights, as_network, check_network
from ._problem import Prox, as_size, identity_like, largest_eigenvalue, times
from ._solver import Solver


class GradientSolver(Solver):
    """Steps x -> Prox_{step g}(W x + B q) with W = I - step P and B = -step I; what they start from is a subclass's."""

    largest_step = 2.0  # times 1/||P||_2

    def __init__(self, P: Tensor, g: Prox, *, step: float | Tensor | None = None, **options: Any) -> None:
        super().__init__(P, g, **options)
        self.given_step = step
        self._measure()
        self._learn()

    def _measure(self) -> None:
        name, curvature = type(self).__name__, largest_eigenvalue(self.P)
        if not (curvature > 0).all():
            raise ValueError(
                f"{name} needs P != 0: for a linear objective its step condition ||I - step P||_2 < 1 cannot hold for "
                "any step; use ADMM or PDHG, or add a multiple of I to P"
            )
        step = 1 / curvature if self.given_step is None else as_size("step", self.given_step, self.P, curvature.shape)
        limit = self.largest_step / curvature
        too_long = (step > limit * (1 + 1e-6)) if self.largest_step == 1 else (step >= limit)
        if too_long.any():
            allowed = f"(0, {self.largest_step:g}/||P||_2" + ("]" if self.largest_step == 1 else ")")
            raise ValueError(
                f"step must be in {allowed} for {name}, that is at most {limit.min():.6g} here, got {step.max():.6g}"
            )
        self.register_buffer("size", step, persistent=False)

    def _weights(self, size: Tensor) -> Weights:
        identity, step = identity_like(self.P), size[..., None, None]
        return {"W": identity - step * self.P, "B": -step * identity, "step": size}

    def _map(self, s: Tensor, b: Tensor, layer: Weights) -> Tensor:
        return self._prox(times(layer["W"], s) + b, layer["step"])

    def _point(self, s: Tensor, b: Tensor, layer: Weights, q: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        v = times(layer["W"], s) + b
        z = self._prox(v, layer["step"])
        return z, z, (v - z) / layer["step"].unsqueeze(-1)


class ProximalGradient(GradientSolver):
    r"""Proximal gradient descent for

    .. math:: \min_x \tfrac12 x^T P x + q^T x + g(x), \qquad
        x^{(l)} = \mathrm{Prox}_{step\, g}\big((I - step\, P)\, x^{(l-1)} - step\, q\big).

    Args:
        P: symmetric and positive semidefinite, not 0, (..., n, n); batch axes for problems with a P each.
        g: ``g(v, step)``, the minimiser over y of step g(y) + \|y - v\|^2/2; or a projection ``g(v)``, where the step
            has no effect. The name ``step`` is what tells them apart. Step has the shape () or (..., 1). An activation
            that is the prox of phi is so for step 1: give ``step=1.0`` and ``lambda v, step: torch.sigmoid(v)``.
        step: in (0, 2/\|P\|_2), 1/\|P\|_2 unless given; a number or one for each P. It carries no gradient.
        steps: the most steps, or with ``tol=None`` their number.
        tol: stop when Px + q + y = 0 holds to ``tol`` relative to its largest term, y the subgradient of g. ``None``
            makes a network of ``steps`` layers.
        every: steps between two measurements of the residual.
        gradient: ``"unroll"`` differentiates the steps, ``"implicit"`` the solution, in the memory of one step.
        weights: ``"fixed"``: W and B follow from P; ``"tied"``: they are learned and all steps share them (an RNN);
            ``"untied"``: learned for each step (LISTA). Learned ones need ``tol=None`` and start from the fixed ones.

    Shape:
        q: (..., n), its batch axes broadcast with those of P; x: the same.

    Example:
        >>> lasso = ProximalGradient(torch.eye(2), lambda v, step: torch.nn.functional.softshrink(v, step.item()))
        >>> lasso(torch.tensor([-3.0, 4.0]))
        tensor([ 2., -3.])
    """

    def to_fnn(self, q: Tensor) -> nn.Sequential:
        """The steps for one q as plain layers, x0 -> x: ``Linear(n, n)`` and g, ``steps`` times; needs ``tol=None``."""
        check_network(self, q)
        layers = self._layers()
        affines = {id(layer): (layer["W"], times(layer["B"], q)) for layer in layers}
        return as_network(self, [affines[id(layer)] for layer in layers], [layer["step"] for layer in layers])


class PGD(ProximalGradient):
    r"""Projected gradient descent: :class:`ProximalGradient` for the indicator of a set.

    .. math:: \min_x \tfrac12 x^T P x + q^T x \ \text{s.t.}\ x \in C, \qquad
        x^{(l)} = \Pi_C\big((I - step\, P)\, x^{(l-1)} - step\, q\big).

    On the orthant every step is a layer with ReLU, the paper's starting point.

    Args:
        P, step, steps, tol, every, gradient, weights: as for :class:`ProximalGradient`.
        g: the projection onto C, ``g(v)``: of :mod:`proxact.project`, a module, ``torch.relu``.

    Example:
        >>> from proxact import project
        >>> solver = PGD(torch.tensor([[2.0, 1.0], [1.0, 2.0]]), project.nonnegative)
        >>> solver(torch.tensor([-2.0, 1.0]))
        tensor([1., 0.])
    """

    def __init__(self, P: Tensor, g: Prox, **options: Any) -> None:
        super().__init__(P, g, **options)
        if self.takes_step:
            raise TypeError("g must be a projection g(v) for PGD, got one that takes a step; use ProximalGradient")
