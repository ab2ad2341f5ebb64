"""``proxact bench unroll``: box-constrained QPs solved together against a loop of cvxpy and OSQP solves, in one run.

Every contender gets the loosest tolerance of its own that brings the objective of all problems within 1e-6 of the
optimum. No solver is asked what the optimum is: for x in the box and r = Px + q,
f(x) - min f <= max over y in the box of r'(x - y), which has a closed form.
"""

from __future__ import annotations

import importlib
import json
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from rich.console import Console
from rich.table import Table
from torch import Tensor

from ..info import commit, machine, versions
from ..project import box
from ..unroll import ADMM, FISTA
from .timing import keep_freed_memory

_ACCURACY = 1e-6
_TOLERANCES = (1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 1e-7, 1e-8, 1e-9)
_ROUNDS = 7


@dataclass(frozen=True)
class Problems:
    """min 1/2 x'Px + q'x over the box [-1, 1]^n, P (1 or count, n, n)."""

    P: Tensor
    q: Tensor

    def first(self, count: int) -> Problems:
        return Problems(self.P[:count], self.q[:count])

    def gap(self, x: Tensor) -> float:
        """The worst bound on (f(x) - min f) / |min f|, and on how far x is outside of the box."""
        inside = x.clamp(-1, 1)
        slope = (self.P @ inside.unsqueeze(-1)).squeeze(-1) + self.q
        bound = (slope * inside + slope.abs()).sum(-1)
        value = ((slope + self.q) * inside).sum(-1) / 2
        return max((bound / (value - bound).abs()).max().item(), (x - inside).abs().max().item())


def problems(count: int, n: int, shared: bool) -> Problems:
    """Random QPs of condition number 100 with about half of the bounds active."""
    generator = torch.Generator().manual_seed(0)
    M = torch.randn(1 if shared else count, n, n, dtype=torch.float64, generator=generator)
    Q, _ = torch.linalg.qr(M)
    P = Q * torch.logspace(-2, 0, n, dtype=torch.float64) @ Q.mT
    return Problems((P + P.mT) / 2, 0.4 * torch.randn(count, n, dtype=torch.float64, generator=generator))


Solve = Callable[[Problems, float], Tensor]


def batched(method: Callable[..., Any]) -> Solve:
    def solve(given: Problems, tol: float) -> Tensor:
        P = given.P[0] if len(given.P) == 1 else given.P
        return method(P, lambda v: box(v, -1.0, 1.0), tol=tol, steps=10_000).solve(given.q).x

    return solve


def cvxpy_loop(n: int) -> Solve:
    """One problem with parameters, compiled once (DPP), then solved for each set of values."""
    import cvxpy

    root, q, x = cvxpy.Parameter((n, n)), cvxpy.Parameter(n), cvxpy.Variable(n)
    problem = cvxpy.Problem(cvxpy.Minimize(cvxpy.sum_squares(root @ x) / 2 + q @ x), [x >= -1, x <= 1])

    def solve(given: Problems, tol: float) -> Tensor:
        roots, found = torch.linalg.cholesky(given.P).mT.numpy(), []
        for i, vector in enumerate(given.q.numpy()):
            if i == 0 or len(roots) > 1:
                root.value = roots[i]
            q.value = vector
            problem.solve(solver="OSQP", eps_abs=tol, eps_rel=tol, max_iter=100_000)
            assert x.value is not None
            found.append(torch.from_numpy(x.value.copy()))
        return torch.stack(found)

    return solve


def osqp_loop(n: int) -> Solve:
    """OSQP itself: set up once, then new values."""
    import numpy as np

    osqp, sparse = (importlib.import_module(name) for name in ("osqp", "scipy.sparse"))  # they have no types
    rows, columns = np.triu_indices(n)
    order = np.lexsort((rows, columns))
    rows, columns = rows[order], columns[order]

    def solve(given: Problems, tol: float) -> Tensor:
        solver, found = osqp.OSQP(), []
        P, q = given.P.numpy(), given.q.numpy()
        first = sparse.csc_matrix((P[0][rows, columns], (rows, columns)), shape=(n, n))
        box_rows = sparse.identity(n, format="csc")
        solver.setup(
            first, q[0], box_rows, -np.ones(n), np.ones(n), verbose=False, eps_abs=tol, eps_rel=tol, max_iter=100_000
        )
        for i in range(len(q)):
            solver.update(q=q[i], **({"Px": P[i][rows, columns]} if len(P) > 1 else {}))
            found.append(torch.from_numpy(solver.solve().x.copy()))
        return torch.stack(found)

    return solve


def loosest(solve: Solve, sample: Problems) -> float:
    """The largest tolerance with which a solver reaches the accuracy."""
    for tol in _TOLERANCES:
        if sample.gap(solve(sample, tol)) <= _ACCURACY:
            return tol
    raise SystemExit(f"no tolerance down to {_TOLERANCES[-1]} reaches an accuracy of {_ACCURACY}")


def measure(solve: Solve, given: Problems, solved: int) -> dict[str, float]:
    """Seconds for all problems, from the first ``solved`` of them, with the loosest tolerance that those need."""
    part = given.first(solved)
    tol = loosest(solve, part)
    seconds = []
    for _ in range(_ROUNDS if solved == len(given.q) else 3):
        start = time.perf_counter()
        x = solve(part, tol)
        seconds.append((time.perf_counter() - start) * len(given.q) / solved)
    return {"seconds": statistics.median(seconds), "tolerance": tol, "gap": part.gap(x), "solved": solved}


def run_unroll(out: Path, quick: bool) -> None:
    keep_freed_memory()
    try:
        contenders = {"cvxpy": cvxpy_loop(50), "OSQP": osqp_loop(50)}
    except ModuleNotFoundError as error:
        raise SystemExit(f"proxact bench unroll needs {error.name}: pip install 'proxact[dev]'") from error
    console, count = Console(width=120), 200 if quick else 1000
    every_thread = torch.get_num_threads()
    record: dict[str, Any] = {"machine": machine(), "versions": versions(), "commit": commit()}
    record |= {"date": time.strftime("%Y-%m-%d"), "problems": count, "variables": 50, "accuracy": _ACCURACY}
    table = Table("problems", "solver", "threads", "seconds", "tolerance", "relative gap", "cvxpy / this")
    for label, shared in [("a P each", False), ("one P", True)]:
        given, rows = problems(count, 50, shared), {}
        for name, method in [("ADMM", ADMM), ("FISTA", FISTA)]:
            for threads in sorted({1, every_thread}):
                torch.set_num_threads(threads)
                rows[f"{name}, {threads} threads"] = measure(batched(method), given, count) | {"threads": threads}
        torch.set_num_threads(1)
        rows["cvxpy loop"] = measure(contenders["cvxpy"], given, 20 if quick else 100) | {"threads": 1}
        rows["OSQP loop"] = measure(contenders["OSQP"], given, count) | {"threads": 1}
        for name, row in rows.items():
            row["ratio"] = rows["cvxpy loop"]["seconds"] / row["seconds"]
            shown = f"{row['seconds']:.3f}" + ("" if row["solved"] == count else f" (from {row['solved']:.0f})")
            numbers = [f"{row['tolerance']:g}", f"{row['gap']:.1e}", f"{row['ratio']:.1f}"]
            table.add_row(label, name.split(",")[0], f"{row['threads']}", shown, *numbers)
        record[label] = rows
    torch.set_num_threads(every_thread)
    console.print(table)
    console.print(f"{count} QPs of 50 variables over a box; ours includes the checks of P and the set-up.")
    out.mkdir(parents=True, exist_ok=True)
    (out / "unroll.json").write_text(json.dumps(record, indent=1) + "\n")
    console.print(f"Written: {out / 'unroll.json'}")
