"""What the solvers share: the loop, the test for optimality, learned weights, the gradient."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from .._checks import check_choice, check_positive_int
from ..project._vectors import without_autocast
from ._implicit import at_fixed_point
from ._network import Weights, as_parameters, with_parameters
from ._optimality import balanced, is_flat, residuals
from ._problem import Prox, broadcast, check_linear, check_quadratic, check_vector, norm, takes_step, times
from ._result import NotConvergedError, Result

GRADIENTS = ("unroll", "implicit")
WEIGHTS = ("fixed", "tied", "untied")


class Solver(nn.Module):
    """The base of all solvers: subclasses say what one step is.

    A subclass gives the matrices of a step (``_weights``), the step as a map of one tensor (``_map``), and the point
    that a state stands for (``_point``): x, z = prox(...) and the multiplier y, a subgradient of g at z by the way it
    is made. So x is optimal when Ax = z and Px + q + A'y = 0, and the two residuals, each relative to its largest
    term, are a certificate that holds for any solver and any step size.
    """

    P: Tensor
    A: Tensor | None
    size: Tensor
    learned: tuple[str, ...] = ("W", "B", "step")

    def __init__(
        self,
        P: Tensor,
        g: Prox,
        A: Tensor | None = None,
        *,
        steps: int = 1000,
        tol: float | None = 1e-6,
        every: int = 10,
        gradient: str = "unroll",
        weights: str = "fixed",
    ) -> None:
        super().__init__()
        check_quadratic(P)
        if A is not None:
            check_linear(A, P)
        check_positive_int("steps", steps)
        check_positive_int("every", every)
        check_choice("gradient", gradient, GRADIENTS)
        check_choice("weights", weights, WEIGHTS)
        _check_tol(tol, P.dtype, gradient, weights)
        if weights != "fixed" and max(P.ndim, 0 if A is None else A.ndim) > 2:
            raise ValueError(f"weights={weights!r} needs one P and A for all problems, got P of shape {tuple(P.shape)}")
        self.register_buffer("P", P)
        self.register_buffer("A", A)
        self.g = g
        self.takes_step = self.needs_step = takes_step(g)
        self.steps, self.tol, self.every, self.gradient, self.weights = steps, tol, every, gradient, weights
        self.layers = nn.ModuleList()
        self.adapts = False
        self.fewer_layers = 0

    def forward(self, q: Tensor, x0: Tensor | None = None) -> Tensor:
        """The minimiser for each q, (..., n); from x0 where given.

        Raises:
            NotConvergedError: with a ``tol`` that some problem did not reach.
        """
        if self.tol is None:
            return self._run(q, x0)
        result = self.solve(q, x0)
        if not result.converged.all():
            raise NotConvergedError(result.explain(self.tol, self.steps))
        return result.x

    def solve(self, q: Tensor, x0: Tensor | None = None) -> Result:
        """Like calling the solver, but what did not converge is reported in the result and not raised."""
        if self.tol is None:
            raise ValueError(
                "tol must be a number for solve(): with tol=None this is a network of fixed depth; call it"
            )
        q, x0 = self._begin(q, x0)
        if not q.isfinite().all():
            raise ValueError("q must be finite, got nan or inf among its entries")
        with without_autocast(q):
            is_implicit = self.gradient == "implicit" and torch.is_grad_enabled()
            with torch.set_grad_enabled(torch.is_grad_enabled() and not is_implicit):
                s, size, layer, b, record = self._iterate(q, x0)
            if is_implicit:
                layer = self._weights(size)  # again, with the derivatives that the loop went without
                b = times(layer["B"], q)
                s = at_fixed_point(lambda v: self._map(v, b, layer), s, lambda v: self._read(v, b, layer, q))
            x, z, _ = self._point(s, b, layer, q)
            self._check_projection(z)
            return Result(z if self.A is None else x, **record)

    def _run(self, q: Tensor, x0: Tensor | None) -> Tensor:
        """All steps, without a look at the residual: a network."""
        q, x0 = self._begin(q, x0)
        layers = self._layers()
        drives = {id(layer): times(layer["B"], q) for layer in {id(layer): layer for layer in layers}.values()}
        s, memory = self._start(x0), None
        for layer in layers[:-1]:
            s, memory = self._advance(s, memory, drives[id(layer)], layer)
        return self._read(s, drives[id(layers[-1])], layers[-1], q)

    def _iterate(self, q: Tensor, x0: Tensor) -> tuple[Tensor, Tensor, Weights, Tensor, dict[str, Tensor]]:
        """The last state, the step size, matrices and Bq it belongs to, and the fields of the result."""
        size, layer = self.size, self._weights(self.size)
        b = times(layer["B"], q)
        s, memory, scales, history = self._start(x0), None, None, []
        iterations = torch.full(q.shape[:-1], self.steps, device=q.device)
        balance_at = self.every
        assert self.tol is not None
        for k in range(1, self.steps + 1):
            if k == 1 or k == self.steps or k % self.every == 0:
                with torch.no_grad():
                    primal, dual, scales = residuals(self.P, self.A, q, *self._point(s, b, layer, q), scales)
                history.append(torch.maximum(primal, dual))
                converged = history[-1] <= self.tol
                iterations = torch.where(converged, iterations.clamp(max=k), self.steps)
                if converged.all() or k == self.steps:
                    break
                # At doubling intervals, so that the size is constant for ever longer and convergence is not lost.
                if self.adapts and k == balance_at:
                    balance_at *= 2
                    new = balanced(size, primal, dual)
                    if not torch.equal(new, size):
                        s, size, layer = self._resized(s, layer, new), new, self._weights(new)
                        memory = None
                        b = times(layer["B"], q)
            s, memory = self._advance(s, memory, b, layer)
        record = {"converged": converged, "iterations": iterations, "history": torch.stack(history)}
        return s, size, layer, b, record | {"stalled": ~converged & is_flat(record["history"])}

    def _begin(self, q: Tensor, x0: Tensor | None) -> tuple[Tensor, Tensor]:
        """q and the start with all batch axes."""
        n = self.P.shape[-1]
        check_vector("q", q, n, self.P)
        matrices = broadcast("A", self.P.shape[:-2] if self.A is None else self.A.shape[:-2], "P", self.P.shape[:-2])
        batch = broadcast("q", q.shape[:-1], "P and A", matrices)
        if x0 is None:
            x0 = torch.zeros_like(q)
        check_vector("x0", x0, n, self.P)
        batch = broadcast("x0", x0.shape[:-1], "the problems", batch)
        if self.P.requires_grad or (self.A is not None and self.A.requires_grad):
            check_quadratic(self.P)  # they may have been trained since they were checked
            self._measure()
        return q.expand(*batch, n), x0.expand(*batch, n)

    def _learn(self) -> None:
        """Make the matrices of the step parameters: one set of them, or one for each step."""
        if self.weights != "fixed":
            names = [name for name in self.learned if name != "step" or self.needs_step]
            count = 1 if self.weights == "tied" else max(1, self.steps - self.fewer_layers)
            self.layers = as_parameters(self._weights(self.size), names, count)

    def _layers(self) -> list[Weights]:
        """The matrices of every step; steps that share them have the same object."""
        found = with_parameters(self._weights(self.size), self.layers)
        return found + found[-1:] * (self.steps - len(found))

    def _prox(self, v: Tensor, step: Tensor) -> Tensor:
        z = self.g(v, step=step.unsqueeze(-1) if step.ndim else step) if self.takes_step else self.g(v)
        if not isinstance(z, Tensor) or z.shape != v.shape:
            got = tuple(z.shape) if isinstance(z, Tensor) else type(z).__name__
            raise ValueError(f"g must return a tensor of the shape it is given, {tuple(v.shape)}, got {got}")
        return z

    def _check_projection(self, z: Tensor) -> None:
        """A g without ``step`` must be a projection; the prox of anything else depends on the step."""
        if self.takes_step:
            return
        with torch.no_grad():
            moved = norm(self.g(z) - z) > torch.finfo(z.dtype).eps ** 0.5 * norm(z)
        if moved.any():
            raise ValueError(
                "g must be a projection when it takes no step, but g(g(v)) differs from g(v) here; a prox of anything "
                "else depends on the step: give it as g(v, step), the minimiser of step g(y) + |y - v|^2/2"
            )

    def extra_repr(self) -> str:
        shapes = f"P={tuple(self.P.shape)}" + ("" if self.A is None else f", A={tuple(self.A.shape)}")
        name = "" if isinstance(self.g, nn.Module) else f", g={getattr(self.g, '__name__', type(self.g).__name__)}"
        return f"{shapes}{name}, steps={self.steps}, tol={self.tol}, weights={self.weights!r}"

    # What a subclass gives.

    def _measure(self) -> None:
        """Check the step size against the spectral norm, or choose one, and keep it in ``size``."""
        raise NotImplementedError

    def _weights(self, size: Tensor) -> Weights:
        """The matrices of a step: B multiplies q, ``step`` goes to g."""
        raise NotImplementedError

    def _start(self, x0: Tensor) -> Tensor:
        return x0

    def _map(self, s: Tensor, b: Tensor, layer: Weights) -> Tensor:
        """One step, with b = Bq."""
        raise NotImplementedError

    def _advance(self, s: Tensor, memory: Any, b: Tensor, layer: Weights) -> tuple[Tensor, Any]:
        """One step of the loop, where a method needs more than the last state."""
        return self._map(s, b, layer), None

    def _point(self, s: Tensor, b: Tensor, layer: Weights, q: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """x, z and y after one more step."""
        raise NotImplementedError

    def _read(self, s: Tensor, b: Tensor, layer: Weights, q: Tensor) -> Tensor:
        x, z, _ = self._point(s, b, layer, q)
        return z if self.A is None else x

    def _resized(self, s: Tensor, layer: Weights, size: Tensor) -> Tensor:
        """The state that stands for the same point with another size."""
        return s


def _check_tol(tol: object, dtype: torch.dtype, gradient: str, weights: str) -> None:
    if tol is None:
        if gradient == "implicit":
            raise ValueError("tol must be a number with gradient='implicit', which needs a fixed point, got None")
        return
    if isinstance(tol, bool) or not isinstance(tol, (int, float)):
        raise TypeError(f"tol must be a float or None, got {tol!r}")
    if not torch.finfo(dtype).eps <= tol < 1:
        raise ValueError(f"tol must be in [{torch.finfo(dtype).eps:.3g}, 1) for {dtype}, got {tol}")
    if weights != "fixed":
        raise ValueError(
            f"tol must be None with weights={weights!r}, got {tol}: learned weights leave the problem's solution"
        )
