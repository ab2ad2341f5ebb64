"""A solver finds the same optimum before and after a problem is rewritten, and it is the certified one."""

import cvxpy
import pytest

from proxact import theory
from proxact.theory.inclusion import example_orthant, example_qp, example_socp
from proxact.theory.measure import normal

TOLERANCE = 1e-6
seeds = pytest.mark.parametrize("seed", range(8))


def solve(problem):
    """The least value, and a point that has it, by cvxpy."""
    data = {name: value.numpy() for name, value in problem._asdict().items()}
    x = cvxpy.Variable(len(data["c"] if "c" in data else data["q"]))
    if isinstance(problem, theory.SOCP):
        objective = data["c"] @ x
        cones = zip(data["A"], data["b"], data["d"], data["e"], strict=True)
        constraints = [cvxpy.norm(A @ x + b) <= d @ x + e for A, b, d, e in cones]
    elif isinstance(problem, theory.SDP):
        objective = data["c"] @ x
        constraints = [data["F0"] + sum(x[i] * F for i, F in enumerate(data["F"])) >> 0]
    else:
        objective = 0.5 * cvxpy.quad_form(x, cvxpy.psd_wrap(data["P"])) + data["q"] @ x
        constraints = [x >= 0] if isinstance(problem, theory.OrthantQP) else [data["H"] @ x <= data["r"]]
    program = cvxpy.Problem(cvxpy.Minimize(objective), constraints)
    program.solve(solver="CLARABEL")
    assert program.status == "optimal"
    return program.value


def close(value):
    return pytest.approx(value, rel=TOLERANCE, abs=TOLERANCE)


@seeds
def test_orthant_problem_is_a_qp(seed):
    problem, x, _ = example_orthant(seed)
    qp = theory.orthant_to_qp(problem)
    assert solve(problem) == close(qp.value(x).item())
    assert solve(qp) == close(qp.value(x).item())


@seeds
def test_qp_is_an_socp(seed):
    qp, x, _ = example_qp(seed)
    assert solve(qp) == close(qp.value(x).item())
    assert solve(theory.qp_to_socp(qp)) == close(qp.value(x).item())


@seeds
def test_socp_is_an_sdp(seed):
    socp, x, _, _ = example_socp(seed)
    assert solve(socp) == close(socp.value(x).item())
    assert solve(theory.socp_to_sdp(socp)) == close(socp.value(x).item())


@pytest.mark.parametrize("seed", range(3))
def test_orthant_problem_is_an_sdp(seed):
    """All the way, with the proof of optimality."""
    problem, x, multipliers = example_orthant(seed)
    qp = theory.orthant_to_qp(problem)
    socp = theory.qp_to_socp(qp)
    sdp = theory.socp_to_sdp(socp)
    mu, nu = theory.socp_multipliers(qp, x, multipliers)
    lifted = theory.socp_point(qp, x)
    assert qp.gap(x, multipliers) < 1e-12
    assert socp.gap(lifted, mu, nu) < 1e-12
    assert sdp.gap(lifted, theory.sdp_multiplier(mu, nu)) < 1e-12
    assert solve(sdp) == close(qp.value(x).item())


@seeds
def test_certificates_refuse_other_points(seed):
    """Feasible or not, a point that is not optimal has no multipliers."""
    qp, x, multipliers = example_qp(seed)
    socp, z, mu, nu = example_socp(seed)
    sdp, Z = theory.socp_to_sdp(socp), theory.sdp_multiplier(mu, nu)
    step = 1e-3 * normal(4, seed=seed)
    for gap in (qp.gap(x + step, multipliers), socp.gap(z + step, mu, nu), sdp.gap(z + step, Z)):
        assert gap > 1e-6
