"""What a solver returns, and what it raises."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor


class NotConvergedError(RuntimeError):
    """Some problems did not reach the tolerance."""


@dataclass(frozen=True)
class Result:
    """What :meth:`Solver.solve` found, for each problem of the batch.

    Attributes:
        x: (..., n). Where a problem did not converge, neither its x nor the gradient of it is the solution's.
        converged: (...), whether the residual fell to ``tol``.
        stalled: (...), not converged and no longer falling: constraints that contradict each other, an objective
            without lower bound, or a ``tol`` below what the dtype resolves.
        iterations: (...), steps to ``tol``.
        history: (measurements, ...), the residual after the first step, every ``every`` steps and at the end.
    """

    x: Tensor
    converged: Tensor
    stalled: Tensor
    iterations: Tensor
    history: Tensor

    @property
    def residual(self) -> Tensor:
        """The last measurement, (...)."""
        return self.history[-1]

    def explain(self, tol: float | None, steps: int) -> str:
        """Why this is not a solution, for an error message."""
        failed, stalled = int((~self.converged).sum()), int(self.stalled.sum())
        worst = self.residual[~self.converged].max().item()
        of = f"{failed} of {self.converged.numel()} problems"
        text = f"{of} did not reach tol={tol} in {steps} steps, the worst residual is {worst:.2g}"
        if stalled:
            text += (
                f"; in {stalled} of them it no longer falls: constraints that contradict each other, an objective "
                f"without lower bound, or a tol too small for {self.x.dtype}"
            )
        return text + "; solve() returns this status instead of raising"
