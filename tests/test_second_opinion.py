"""SCS and Clarabel, through cvxpy, as second opinions at the accuracy they have."""

import math

import cvxpy
import numpy as np
import pytest
from cases import CASES, SOC_A, A, H, R, ids, points

SOLVERS = {"SCS": ({"eps": 1e-10, "max_iters": 20_000}, 2e-7), "CLARABEL": ({}, 5e-5)}


def constraints(case, y):
    """The set as cvxpy writes it."""
    p = {key: getattr(value, "numpy", lambda v=value: v)() for key, value in case.params.items()}
    if case.name.startswith("cone"):
        t, h = cvxpy.sum(y) / math.sqrt(case.n), y - cvxpy.sum(y) / case.n
        if p["alpha"] == 0:
            return [h == 0, t >= 0]
        return [math.cos(p["alpha"]) * cvxpy.norm(h) <= math.sin(p["alpha"]) * t]
    bounded = [(i, v) for i, v in enumerate(p.get("lower", ())) if np.isfinite(v)]
    square = cvxpy.reshape(y, (3, 3), order="C") if case.n == 9 else None
    return {
        "nonnegative": lambda: [y >= 0],
        "box": lambda: [*[y[i] >= v for i, v in bounded], y <= p["upper"]],
        "halfspace": lambda: [p["a"] @ y <= p["b"]],
        "hyperplane": lambda: [p["a"] @ y == p["b"]],
        "affine": lambda: [A.numpy() @ y == p["b"]],
        "polyhedron": lambda: [H.numpy() @ y <= R.numpy()],
        "l1_ball": lambda: [cvxpy.norm1(y) <= p["radius"]],
        "l2_ball": lambda: [cvxpy.norm(y) <= p["radius"]],
        "linf_ball": lambda: [cvxpy.norm_inf(y) <= p["radius"]],
        "simplex": lambda: [y >= 0, cvxpy.sum(y) == p["radius"]],
        "lorentz": lambda: [cvxpy.norm(y[1:]) <= y[0]],
        "rotated_lorentz": lambda: [cvxpy.norm(cvxpy.hstack([math.sqrt(2) * y[2:], y[0] - y[1]])) <= y[0] + y[1]],
        "soc": lambda: [cvxpy.norm(SOC_A.numpy() @ y + p["d"]) <= p["r"] @ y + p["c"]],
        "psd": lambda: [square >> 0, square == square.T],
        "exponential": lambda: [cvxpy.ExpCone(y[0], y[1], y[2])],
    }[case.name]()


@pytest.mark.filterwarnings("ignore:Solution may be inaccurate")  # SCS stalls short of 1e-10; the values still count
@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("case", [c for c in CASES if c.name not in ("cone1@0", "cone1@1.57")], ids=ids)
def test_solver_agrees(case, solver):
    options, tolerance = SOLVERS[solver]
    x = points(case, 80)[:12]  # plain random points
    for given, got in zip(x.numpy(), case(x).numpy(), strict=True):
        y = cvxpy.Variable(case.n)
        problem = cvxpy.Problem(cvxpy.Minimize(cvxpy.sum_squares(y - given)), constraints(case, y))
        problem.solve(solver=solver, **options)
        assert problem.status in ("optimal", "optimal_inaccurate")
        assert np.abs(y.value - got).max() <= tolerance * max(1, np.abs(given).max())
