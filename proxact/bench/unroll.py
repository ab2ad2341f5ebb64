"""``proxact bench unroll``: box-constrained QPs solved together against a loop of cvxpy and OSQP solves, in one run.

Every contender gets the loosest tolerance of its own that brings the objective of all its problems within 1e-6 of the
optimum. No solver is asked what the optimum is: for x in the box and r = Px + q,
f(x) - min f <= max over y in the box of r'(x - y), which has a closed form.
"""

from __future__ import annotations

import functools
import importlib
import json
import statistics
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from rich.console import Console
from rich.table import Table
from torch import Tensor, nn

from ..info import origin
from ..unroll import ADMM, FISTA
from .timing import interleaved, keep_freed_memory

_ACCURACY = 1e-6
_TOLERANCES = tuple(digit * 10.0**-power for power in range(3, 9) for digit in (5, 2, 1))


@dataclass(frozen=True)
class Problems:
    """min 1/2 x'Px + q'x over the box [-1, 1]^n, P (1 or count, n, n)."""

    P: Tensor
    q: Tensor

    def first(self, count: int) -> Problems:
        return Problems(self.P[:count], self.q[:count])

    def gap(self, x: Tensor) -> float:
        """The worst bound on (f(x) - min f) / |min f|, or on how far x is outside of the box."""
        inside = x.clamp(-1, 1)
        slope = (self.P @ inside.unsqueeze(-1)).squeeze(-1) + self.q
        bound = (slope * inside + slope.abs()).sum(-1)
        value = ((slope + self.q) * inside).sum(-1) / 2
        # min f <= f(x), and it is negative, as f(0) = 0: |f(x)| is the smaller one where f(x) is negative as well.
        relative = bound / (-value).clamp(min=0)
        return max(relative.max().item(), (x - inside).abs().max().item())


def problems(count: int, n: int, shared: bool) -> Problems:
    """Random QPs of condition number 100 with about half of the bounds active."""
    generator = torch.Generator().manual_seed(0)
    M = torch.randn(1 if shared else count, n, n, dtype=torch.float64, generator=generator)
    Q, _ = torch.linalg.qr(M)
    P = Q * torch.logspace(-2, 0, n, dtype=torch.float64) @ Q.mT
    return Problems((P + P.mT) / 2, 0.4 * torch.randn(count, n, dtype=torch.float64, generator=generator))


Solve = Callable[[Problems, float], Tensor]


def batched(method: Callable[..., Any], dtype: torch.dtype = torch.float64) -> Solve:
    """One call for all problems; hardtanh is the projection onto this box."""

    def solve(given: Problems, tol: float) -> Tensor:
        P, q = (given.P[0] if len(given.P) == 1 else given.P).to(dtype), given.q.to(dtype)
        return method(P, nn.functional.hardtanh, tol=tol, steps=1000).solve(q).x.double()

    return solve


def cvxpy_loop(given: Problems) -> Solve:
    """One problem with parameters, compiled once (DPP), then solved for each set of values; one P is a constant."""
    import cvxpy

    n, is_shared = given.q.shape[-1], len(given.P) == 1
    root, q, x = cvxpy.Parameter((n, n)), cvxpy.Parameter(n), cvxpy.Variable(n)
    curvature = cvxpy.quad_form(x, given.P[0].numpy()) if is_shared else cvxpy.sum_squares(root @ x)
    problem = cvxpy.Problem(cvxpy.Minimize(curvature / 2 + q @ x), [x >= -1, x <= 1])

    def solve(given: Problems, tol: float) -> Tensor:
        roots, found = torch.linalg.cholesky(given.P).mT.numpy(), []
        for i, vector in enumerate(given.q.numpy()):
            root.value, q.value = roots[0 if is_shared else i], vector
            problem.solve(solver="OSQP", eps_abs=tol, eps_rel=tol, max_iter=100_000)
            assert x.value is not None
            found.append(torch.from_numpy(x.value.copy()))
        return torch.stack(found)

    return solve


def osqp_loop(given: Problems) -> Solve:
    """OSQP itself: set up once, then new values."""
    import numpy as np

    n = given.q.shape[-1]
    osqp, sparse = (importlib.import_module(name) for name in ("osqp", "scipy.sparse"))  # they have no types
    rows, columns = np.triu_indices(n)
    order = np.lexsort((rows, columns))
    rows, columns = rows[order], columns[order]

    def solve(given: Problems, tol: float) -> Tensor:
        solver, found = osqp.OSQP(), []
        P, q = given.P.numpy(), given.q.numpy()
        first = sparse.csc_matrix((P[0][rows, columns], (rows, columns)), shape=(n, n))
        box = sparse.identity(n, format="csc")
        options = {"verbose": False, "eps_abs": tol, "eps_rel": tol, "max_iter": 100_000}
        solver.setup(first, q[0], box, -np.ones(n), np.ones(n), **options)
        for i in range(len(q)):
            solver.update(q=q[i], **({"Px": P[i][rows, columns]} if len(P) > 1 else {}))
            found.append(torch.from_numpy(solver.solve(raise_error=True).x.copy()))
        return torch.stack(found)

    return solve


def loosest(solve: Solve, sample: Problems) -> float:
    """The largest tolerance with which a solver reaches the accuracy."""
    for tol in _TOLERANCES:
        if sample.gap(solve(sample, tol)) <= _ACCURACY:
            return tol
    raise SystemExit(f"no tolerance down to {_TOLERANCES[-1]} reaches an accuracy of {_ACCURACY}")


def measure(given: Problems, sample: int, rounds: int) -> dict[str, dict[str, float]]:
    """Seconds for all problems, the cvxpy loop's from a sample, every contender once in each round."""
    whole, threads = len(given.q), torch.get_num_threads()
    contenders = {
        "cvxpy loop": (cvxpy_loop(given), sample),
        "OSQP loop": (osqp_loop(given), whole),
        "ADMM": (batched(ADMM), whole),
        "ADMM, float32": (batched(ADMM, torch.float32), whole),
        "FISTA": (batched(FISTA), whole),
    }
    rows: dict[str, dict[str, float]] = {}
    calls: dict[str, Callable[[], None]] = {}
    torch.set_num_threads(1)  # as the loops
    for name, (solve, solved) in contenders.items():
        part = given.first(solved)
        tol = loosest(solve, part)
        rows[name] = {"solved": solved, "tolerance": tol, "gap": part.gap(solve(part, tol))}
        calls[name] = functools.partial(_discard, solve, part, tol)
    times = interleaved(calls, rounds, seconds=60)
    torch.set_num_threads(threads)
    for name, row in rows.items():
        row["seconds"] = statistics.median(times[name]) * whole / row["solved"]
        row["ratio"] = rows["cvxpy loop"]["seconds"] / row["seconds"]
    return rows


def _discard(solve: Solve, given: Problems, tol: float) -> None:
    solve(given, tol)


def run_unroll(out: Path, quick: bool) -> None:
    keep_freed_memory()
    n, count = 50, 100 if quick else 1000
    console = Console(width=120)
    table = Table("problems", "solver", "seconds", "tolerance", "relative gap", "cvxpy / this")
    record: dict[str, Any] = {**origin(), "problems": count, "variables": n, "accuracy": _ACCURACY}
    for label, shared in [("a P each", False), ("one P", True)]:
        try:
            rows = measure(problems(count, n, shared), *((20, 3) if quick else (100, 9)))
        except ModuleNotFoundError as error:
            raise SystemExit(f"proxact bench unroll needs {error.name}: pip install 'proxact[dev]'") from error
        for name, row in rows.items():
            shown = f"{row['seconds']:.3f}" + ("" if row["solved"] == count else f" (from {row['solved']})")
            numbers = [f"{row['tolerance']:g}", f"{row['gap']:.1e}", f"{row['ratio']:.1f}"]
            table.add_row(label, name, shown, *numbers)
        record[label] = rows
    console.print(table)
    console.print(f"{count} QPs of {n} variables over a box, one thread each; ours includes the checks of P.")
    out.mkdir(parents=True, exist_ok=True)
    (out / "unroll.json").write_text(json.dumps(record, indent=1) + "\n")
    console.print(f"Written: {out / 'unroll.json'}")
