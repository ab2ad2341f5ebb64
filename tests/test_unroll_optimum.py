"""Every solver finds the optimum that Clarabel finds through cvxpy, and keeps to the constraints."""

import math

import cvxpy
import numpy as np
import pytest
import torch
from cases import CASES, ids

from proxact import project, prox
from proxact.unroll import ADMM, FISTA, PDHG, PGD, ProximalGradient

pytestmark = pytest.mark.filterwarnings("ignore:Solution may be inaccurate")  # Clarabel may stall short of 1e-10
F64 = torch.float64
COUNTS = [pytest.param(10, id="10"), pytest.param(100, id="100", marks=pytest.mark.slow)]
EXACT = {f"tol_{kind}": 1e-10 for kind in ("gap_abs", "gap_rel", "feas")}


def normal(*shape, seed):
    return torch.randn(*shape, dtype=F64, generator=torch.Generator().manual_seed(seed))


def quadratic(count, n, seed):
    """Positive definite matrices with eigenvalues from 0.1 to about 4."""
    M = normal(count, n, n, seed=seed)
    return M @ M.mT / n + 0.1 * torch.eye(n, dtype=F64)


def optimum(x, objective, constraints):
    problem = cvxpy.Problem(cvxpy.Minimize(objective), constraints)
    problem.solve(solver="CLARABEL", **EXACT)
    assert problem.status in ("optimal", "optimal_inaccurate")
    return problem.value, x.value


def check_objective(P, q, x, reference, values=1e-5):
    """The objective to 1e-6 relative, and x as far as an interior point method determines it."""
    ours = (x * (P @ x.unsqueeze(-1)).squeeze(-1)).sum(-1) / 2 + (q * x).sum(-1)
    theirs = torch.tensor([value for value, _ in reference], dtype=F64)
    assert ((ours - theirs).abs() <= 1e-6 * theirs.abs()).all(), ((ours - theirs) / theirs).abs().max()
    points = torch.stack([torch.as_tensor(np.asarray(point)).flatten() for _, point in reference])
    assert ((x - points).norm(dim=-1) <= values * points.norm(dim=-1)).all()


def solve(solver, q):
    result = solver.solve(q)
    assert result.converged.all()
    return result.x


GRADIENT_METHODS = [PGD, ProximalGradient, FISTA, ADMM, PDHG]


@pytest.mark.parametrize("count", COUNTS)
@pytest.mark.parametrize("method", GRADIENT_METHODS)
def test_qp_over_orthant_and_box(method, count):
    n, limit = 8, 0.6
    P, q = quadratic(count, n, seed=1), normal(count, n, seed=2)
    q[:, 0] = -q[:, 0].abs()  # or the optimum may be 0, and no error is small relative to it
    x = cvxpy.Variable(n)
    for g, constraints in [
        (project.nonnegative, [x >= 0]),
        (lambda v: project.box(v, -limit, limit), [x >= -limit, x <= limit]),
    ]:
        found = solve(method(P, g, steps=5000, tol=1e-10), q)
        torch.testing.assert_close(g(found), found, atol=0, rtol=0)
        reference = [
            optimum(x, cvxpy.quad_form(x, cvxpy.psd_wrap(p)) / 2 + c @ x, constraints)
            for p, c in zip(P.numpy(), q.numpy(), strict=True)
        ]
        check_objective(P, q, found, reference)


@pytest.mark.parametrize("count", COUNTS)
@pytest.mark.parametrize("method", [ADMM, PDHG])
def test_qp_over_polyhedra(method, count):
    n, k = 6, 10
    P, q = quadratic(count, n, seed=3), 3 * normal(count, n, seed=4)
    H, r = normal(count, k, n, seed=5), 0.2 + normal(count, k, seed=6).abs()
    found = solve(method(P, lambda v: project.box(v, -math.inf, r), H, steps=20_000, tol=1e-10), q)
    assert ((H @ found.unsqueeze(-1)).squeeze(-1) <= r + 1e-7).all()
    x, reference = cvxpy.Variable(n), []
    for p, c, h, b in zip(P.numpy(), q.numpy(), H.numpy(), r.numpy(), strict=True):
        reference.append(optimum(x, cvxpy.quad_form(x, cvxpy.psd_wrap(p)) / 2 + c @ x, [h @ x <= b]))
    check_objective(P, q, found, reference)


def test_qp_over_a_polyhedron_by_its_projection():
    """The paper's form, PGD with the projection onto the polyhedron itself: a solver in each step of a solver."""
    P, q = quadratic(2, 4, seed=21) + 3 * torch.eye(4, dtype=F64), 6 * normal(2, 4, seed=22)
    H, r = normal(6, 4, seed=23), 0.2 + normal(6, seed=24).abs()
    inner = solve(PGD(P, lambda v: project.polyhedron(v, H, r), tol=1e-8), q)
    outer = solve(ADMM(P, lambda v: project.box(v, -math.inf, r), H, tol=1e-10), q)
    assert (inner - outer).norm() <= 1e-6 * outer.norm()


@pytest.mark.parametrize("count", COUNTS)
@pytest.mark.parametrize("method", [ADMM, PDHG])
def test_socp_with_linear_objective(method, count):
    """min c'x subject to |F_i x + d_i| <= r_i'x + e_i for three cones, one of them a ball."""
    n, cones, m = 5, 3, 4
    F, r = normal(count, cones, m, n, seed=7), 0.3 * normal(count, cones, n, seed=8)
    d = 0.3 * normal(count, cones, m, seed=9)
    e = d.norm(dim=-1) + 0.5 + normal(count, cones, seed=10).abs()
    F[:, 0, :, :], r[:, 0], d[:, 0] = torch.eye(n, dtype=F64)[:m], 0, 0
    c = normal(count, n, seed=11)
    A = torch.cat([r.unsqueeze(-2), F], -2)
    h = torch.cat([e.unsqueeze(-1), d], -1)

    def onto_cones(v):
        return (project.lorentz(v.unflatten(-1, h.shape[-2:]) + h) - h).flatten(-2)

    found = solve(method(torch.zeros(n, n, dtype=F64), onto_cones, A.flatten(1, 2), steps=200_000, tol=1e-9), c)
    inside = (A @ found[:, None, :, None]).squeeze(-1) + h
    assert (inside[..., 1:].norm(dim=-1) <= inside[..., 0] + 1e-7).all()
    x, reference = cvxpy.Variable(n), []
    for i in range(count):
        rows = [
            cvxpy.norm(F[i, j].numpy() @ x + d[i, j].numpy()) <= r[i, j].numpy() @ x + e[i, j].item()
            for j in range(cones)
        ]
        reference.append(optimum(x, c[i].numpy() @ x, rows))
    check_objective(torch.zeros(n, n, dtype=F64), c, found, reference, values=1e-4)  # x is less determined than c'x


@pytest.mark.parametrize("count", COUNTS)
@pytest.mark.parametrize("method", [ADMM, PDHG])
def test_sdp(method, count):
    """min <C, X> subject to <A_i, X> = b_i and X psd, with strictly feasible primal and dual points."""
    n, k = 4, 3
    S = normal(count, k + 1, n, n, seed=12)
    S = S + S.mT
    S = S / torch.linalg.matrix_norm(S)[..., None, None]
    root = normal(count, 2, n, n, seed=13)
    X0, Z0 = (root @ root.mT / n + 0.3 * torch.eye(n, dtype=F64)).unbind(1)
    b = (S[:, :k] * X0[:, None]).sum((-1, -2))
    C = Z0 + (normal(count, k, 1, 1, seed=14) * S[:, :k]).sum(1)
    A = torch.cat([S[:, :k].flatten(-2), torch.eye(n * n, dtype=F64).expand(count, -1, -1)], -2)

    def onto_equations_and_psd(v):
        return torch.cat([b, project.psd(v[..., k:].unflatten(-1, (n, n))).flatten(-2)], -1)

    zero = torch.zeros(n * n, n * n, dtype=F64)
    found = solve(method(zero, onto_equations_and_psd, A, steps=200_000, tol=1e-9), C.flatten(-2))
    X = found.unflatten(-1, (n, n))
    assert torch.linalg.eigvalsh((X + X.mT) / 2).min() > -1e-7
    torch.testing.assert_close((S[:, :k] * X[:, None]).sum((-1, -2)), b, atol=1e-6, rtol=1e-6)
    x, reference = cvxpy.Variable((n, n), symmetric=True), []
    for i in range(count):
        rows = [cvxpy.trace(S[i, j].numpy() @ x) == b[i, j].item() for j in range(k)]
        reference.append(optimum(x, cvxpy.trace(C[i].numpy() @ x), [*rows, x >> 0]))
    check_objective(zero, C.flatten(-2), found, reference, values=1e-4)


@pytest.mark.parametrize("method", [PGD, FISTA, ADMM, PDHG])
def test_quadratic_over_psd(method):
    """The nearest psd matrix in a weighted norm: the paper's last class by every method."""
    n, count = 3, 10
    weight = 0.5 + normal(count, n, n, seed=15).abs()
    weight = weight + weight.mT
    target = normal(count, n, n, seed=16)
    target = target + target.mT
    P, q = torch.diag_embed(weight.flatten(-2)), -(weight * target).flatten(-2)
    found = solve(method(P, lambda v: project.psd(v.unflatten(-1, (n, n))).flatten(-2), steps=5000, tol=1e-10), q)
    x, reference = cvxpy.Variable((n, n), symmetric=True), []
    for w, t in zip(weight.numpy(), target.numpy(), strict=True):
        cost = cvxpy.sum(cvxpy.multiply(w, cvxpy.square(x - t))) / 2
        value, point = optimum(x, cost, [x >> 0])
        reference.append((value - (w * t * t).sum() / 2, point))
    check_objective(P, q, found, reference, values=1e-5)


@pytest.mark.parametrize("method", [ProximalGradient, FISTA, ADMM, PDHG])
def test_lasso(method):
    """A prox that the step scales."""
    n, count, weight = 8, 10, 0.4

    def soft_threshold(v, step):
        return torch.sign(v) * torch.relu(v.abs() - weight * step)

    P, q = quadratic(count, n, seed=17), normal(count, n, seed=18)
    found = solve(method(P, soft_threshold, steps=5000, tol=1e-10), q)
    x, reference = cvxpy.Variable(n), []
    for p, c in zip(P.numpy(), q.numpy(), strict=True):
        value, point = optimum(x, cvxpy.quad_form(x, cvxpy.psd_wrap(p)) / 2 + c @ x + weight * cvxpy.norm1(x), [])
        reference.append((value - weight * np.abs(point).sum(), point))
    check_objective(P, q, found, reference)


@pytest.mark.parametrize("case", [c for c in CASES if c.name[:4] != "cone" or c.name == "cone3@0.3"], ids=ids)
def test_methods_agree_on_every_set_of_the_library(case):
    """Where x = P_C(x - (Px + q)), which characterises the solution, and which no method computes."""
    P, q = quadratic(2, case.n, seed=25) + torch.eye(case.n, dtype=F64), 3 * normal(2, case.n, seed=26)
    is_solved_by_iteration = case.tolerance > 1e-12
    for method in (FISTA, ADMM)[: 1 if case.name == "soc" else 2] if is_solved_by_iteration else GRADIENT_METHODS:
        x = solve(method(P, case, tol=1e-8, steps=5000), q)
        fixed = case(x - (P @ x.unsqueeze(-1)).squeeze(-1) - q)
        assert (x - fixed).norm() <= 1e-6 * q.norm(), method


def test_proxes_of_the_library():
    """A penalty that the step scales, and an activation, which is a prox for step 1 alone."""
    P, q = quadratic(10, 6, seed=27) / 4, normal(10, 6, seed=28)
    x = solve(ADMM(P, lambda v, step: prox.soft_threshold(v, 0.4 * step), tol=1e-10), q)
    slope = (P @ x.unsqueeze(-1)).squeeze(-1) + q
    assert (slope.abs() <= 0.4 + 1e-8).all()
    torch.testing.assert_close(slope[x != 0], -0.4 * x.sign()[x != 0], rtol=0, atol=1e-8)
    assert 0 < (x == 0).double().mean() < 1

    for solver in (
        ProximalGradient(P, lambda v, step: prox.sigmoid(v), step=1.0, tol=1e-10),
        ADMM(P, lambda v, step: prox.sigmoid(v), rho=1.0, tol=1e-10),
    ):
        x = solve(solver, q)
        slope = (P @ x.unsqueeze(-1)).squeeze(-1) + q
        torch.testing.assert_close(slope, x - torch.logit(x), rtol=0, atol=1e-8)  # minus the slope of the penalty


@pytest.mark.parametrize("scale", [1e-4, 1e4])
@pytest.mark.parametrize("method", GRADIENT_METHODS)
def test_scale_of_the_problem_does_not_matter(method, scale):
    """Objective and variables in other units: the same relative accuracy, not a stop at an absolute one."""
    P, q = quadratic(5, 4, seed=19), normal(5, 4, seed=20)
    plain = solve(method(P, project.nonnegative, steps=5000, tol=1e-9), q)
    scaled = solve(method(P, project.nonnegative, steps=5000, tol=1e-9), scale * q) / scale
    torch.testing.assert_close(scaled, plain, rtol=1e-6, atol=1e-8)
    rescaled = solve(method(scale * P, project.nonnegative, steps=5000, tol=1e-9), scale * q)
    torch.testing.assert_close(rescaled, plain, rtol=1e-6, atol=1e-8)


def test_small_step_does_not_pass_for_convergence():
    P, q = torch.eye(3, dtype=F64), torch.ones(3, dtype=F64)
    result = PGD(P, lambda v: project.box(v, -5.0, 5.0), step=1e-9, steps=50).solve(q)
    assert not result.converged.any()
    assert result.x.abs().max() < 1e-6
