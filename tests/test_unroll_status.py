"""What cannot be solved says so: an error that names the argument, or a status."""

import math

import pytest
import torch
from torch import nn

from proxact import EmptySetError, project
from proxact.unroll import ADMM, FISTA, PDHG, PGD, NotConvergedError, ProximalGradient

F64 = torch.float64
I2 = torch.eye(2)
Z2 = torch.zeros(2, 2)
q2 = torch.ones(2)
relu = torch.relu
METHODS = [PGD, ProximalGradient, FISTA, ADMM, PDHG]


def shrink(v, step):
    return torch.sign(v) * torch.relu(v.abs() - step)


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: PGD([[1.0]], relu), TypeError, ["P", "list"]),
        (lambda: PGD(I2.long(), relu), TypeError, ["P", "int64"]),
        (lambda: PGD(I2.half(), relu), TypeError, ["P", "float32 or float64", "float16"]),
        (lambda: PGD(torch.ones(2), relu), ValueError, ["P", "(2,)"]),
        (lambda: PGD(torch.ones(2, 3), relu), ValueError, ["P", "(..., n, n)", "(2, 3)"]),
        (lambda: PGD(I2 * math.nan, relu), ValueError, ["P", "finite"]),
        (lambda: PGD(torch.tensor([[1.0, 0.5], [0.0, 1.0]]), relu), ValueError, ["P", "symmetric", "0.5"]),
        (lambda: PGD(torch.diag(torch.tensor([1.0, -0.5])), relu), ValueError, ["P", "semidefinite", "-0.5"]),
        (lambda: PDHG(torch.stack([I2, -I2]), relu), ValueError, ["P", "semidefinite", "-1"]),
        (lambda: ADMM(-I2, relu, rho=5.0), ValueError, ["P", "semidefinite", "-1"]),
        (lambda: PGD(Z2, relu), ValueError, ["PGD", "P != 0", "||I - step P||_2 < 1", "ADMM", "PDHG"]),
        (lambda: ProximalGradient(Z2, shrink), ValueError, ["ProximalGradient", "P != 0", "ADMM", "PDHG"]),
        (lambda: FISTA(torch.stack([I2, Z2]), relu), ValueError, ["FISTA", "P != 0", "ADMM", "PDHG"]),
        (lambda: PGD(4 * I2, relu, step=0.5), ValueError, ["step", "(0, 2/||P||_2)", "0.5"]),
        (lambda: FISTA(4 * I2, relu, step=0.3), ValueError, ["step", "(0, 1/||P||_2]", "0.25", "0.3"]),
        (lambda: PGD(I2, relu, step=-1.0), ValueError, ["step", "-1.0", "> 0"]),
        (lambda: PGD(I2, relu, step=math.inf), ValueError, ["step", "inf", "finite"]),
        (lambda: PGD(I2, relu, step="long"), TypeError, ["step", "long"]),
        (lambda: PGD(I2.expand(3, 2, 2), relu, step=torch.ones(2)), ValueError, ["step", "(2,)", "(3,)"]),
        (lambda: ADMM(I2, relu, rho=0.0), ValueError, ["rho", "0.0", "> 0"]),
        (lambda: ADMM(I2, relu, relaxation=2.0), ValueError, ["relaxation", "2.0", "(0, 2)"]),
        (lambda: ADMM(I2, relu, relaxation="over"), TypeError, ["relaxation", "over"]),
        (lambda: ADMM(Z2, relu, torch.ones(1, 2)), ValueError, ["A", "column rank", "PDHG"]),
        (lambda: PDHG(I2, relu, tau=1.0, sigma=1.0), ValueError, ["tau", "sigma", "<= 1", "1.5"]),
        (lambda: PDHG(I2, relu, 2 * I2, sigma=1.0, tau=0.3), ValueError, ["tau", "sigma", "1.35", "4"]),
        (lambda: PDHG(I2, relu, tau=2.0), ValueError, ["tau", "1/||P||_2", "2"]),
        (lambda: PDHG(I2, relu, sigma=math.nan), ValueError, ["sigma", "nan"]),
        (lambda: PDHG(I2, relu, Z2), ValueError, ["A", "zeros"]),
        (lambda: ADMM(I2, relu, torch.ones(3)), ValueError, ["A", "(3,)"]),
        (lambda: ADMM(I2, relu, torch.ones(2, 3)), ValueError, ["A", "(..., k, 2)", "(2, 3)"]),
        (lambda: ADMM(I2, relu, I2.double()), TypeError, ["A", "float32", "float64"]),
        (lambda: ADMM(I2.expand(3, 2, 2), relu, I2.expand(2, 2, 2)), ValueError, ["A", "(3,)", "(2,)"]),
        (lambda: PGD(I2, relu, steps=0), ValueError, ["steps", "0"]),
        (lambda: PGD(I2, relu, every=1.5), TypeError, ["every", "1.5"]),
        (lambda: PGD(I2, relu, tol=0.0), ValueError, ["tol", "0.0", "1.19e-07"]),
        (lambda: PGD(I2, relu, tol="small"), TypeError, ["tol", "small"]),
        (lambda: PGD(I2, relu, gradient="magic"), ValueError, ["gradient", "magic", "'implicit'"]),
        (lambda: PGD(I2, relu, tol=None, gradient="implicit"), ValueError, ["tol", "implicit", "None"]),
        (lambda: PGD(I2, relu, weights="free"), ValueError, ["weights", "free", "'untied'"]),
        (lambda: PGD(I2, relu, weights="tied"), ValueError, ["tol", "None", "tied"]),
        (lambda: PGD(I2.expand(3, 2, 2), relu, weights="tied", tol=None), ValueError, ["weights", "(3, 2, 2)"]),
        (lambda: PGD(I2, "relu"), TypeError, ["g", "'relu'"]),
        (lambda: PGD(I2, shrink), TypeError, ["g", "projection", "ProximalGradient"]),
        (lambda: ADMM(I2, project.cone), TypeError, ["g(v)", "g(v, step)", "alpha"]),
        (lambda: ADMM(I2, lambda v, gamma: v), TypeError, ["g(v)", "g(v, step)", "gamma"]),
        (lambda: PGD(I2, lambda v: v[..., :1])(q2), ValueError, ["g", "(2,)", "(1,)"]),
        (lambda: PGD(I2, lambda v: None)(q2), ValueError, ["g", "(2,)", "NoneType"]),
        (lambda: PGD(I2, relu)([1.0, 1.0]), TypeError, ["q", "list"]),
        (lambda: PGD(I2, relu)(q2.double()), TypeError, ["q", "float32", "float64"]),
        (lambda: PGD(I2, relu)(torch.ones(3)), ValueError, ["q", "(..., 2)", "(3,)"]),
        (lambda: PGD(I2, relu)(torch.tensor(1.0)), ValueError, ["q", "(..., 2)", "()"]),
        (lambda: PGD(I2.expand(3, 2, 2), relu)(torch.ones(2, 2)), ValueError, ["q", "(3,)", "(2,)"]),
        (lambda: PGD(I2, relu)(q2 * math.nan), ValueError, ["q", "finite"]),
        (lambda: PGD(I2, relu)(q2, torch.ones(3)), ValueError, ["x0", "(..., 2)", "(3,)"]),
        (lambda: PGD(I2, relu)(torch.ones(4, 2), torch.ones(3, 2)), ValueError, ["x0", "(4,)", "(3,)"]),
        (lambda: PGD(I2, relu, tol=None).solve(q2), ValueError, ["tol", "solve", "None"]),
        (lambda: PGD(I2, relu).to_fnn(q2), ValueError, ["tol", "to_fnn", "None"]),
        (lambda: PGD(I2, relu, tol=None).to_fnn(torch.ones(3, 2)), ValueError, ["to_fnn", "(3, 2)"]),
        (lambda: PDHG(I2.expand(3, 2, 2), relu, tol=None).to_fnn(q2), ValueError, ["to_fnn", "(3, 2, 2)"]),
        (lambda: PGD(I2, lambda v: project.box(v, 1.0, 0.0))(q2), EmptySetError, ["empty"]),
    ],
)  # fmt: skip
def test_message(call, error, words):
    with pytest.raises(error) as caught:
        call()
    for word in words:
        assert word in str(caught.value)


@pytest.mark.parametrize("method", METHODS)
def test_activation_that_is_no_projection_is_noticed(method):
    """Sigmoid is a prox at step 1 alone: a solver with another step would solve another problem."""
    solver = method(torch.diag(torch.tensor([1.0, 3.0])), nn.Sigmoid())
    with pytest.raises(ValueError, match="must be a projection"):
        solver(q2)
    network = method(torch.diag(torch.tensor([1.0, 3.0])), nn.Sigmoid(), steps=3, tol=None)
    assert network(q2).isfinite().all()  # but a network may have any activation


@pytest.mark.parametrize("method", METHODS)
def test_too_few_steps(method):
    P = torch.diag(torch.tensor([1.0, 1e-3], dtype=F64))
    q = torch.tensor([[1.0, -1.0], [0.0, 0.0]], dtype=F64)
    solver = method(P, relu, steps=15, tol=1e-9)
    with pytest.raises(NotConvergedError) as caught:
        solver(q)
    for word in ("1 of 2 problems", "tol=1e-09", "15 steps", "solve()"):
        assert word in str(caught.value)
    result = solver.solve(q)
    assert result.converged.tolist() == [False, True]
    assert result.iterations.tolist() == [15, 1]
    assert result.residual[0] > 1e-9


CONTRADICTION = torch.tensor([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]], dtype=F64)
"""x1 <= -1 and x1 >= 1, the second row with a lower bound."""


def below_and_above(v):
    low = torch.tensor([-math.inf, 1.0, -math.inf], dtype=F64)
    high = torch.tensor([-1.0, math.inf, 1.0], dtype=F64)
    return project.box(v, low, high)


@pytest.mark.parametrize("curvature", [0.0, 1.0])
@pytest.mark.parametrize("method", [ADMM, PDHG])
def test_infeasible(method, curvature):
    P, q = curvature * torch.eye(2, dtype=F64), torch.tensor([[1.0, -1.0], [0.3, -2.0]], dtype=F64)
    solver = method(P, below_and_above, CONTRADICTION, steps=2000)
    result = solver.solve(q)
    assert not result.converged.any()
    assert result.stalled.all()
    assert (result.residual > 1e-3).all()
    with pytest.raises(NotConvergedError, match="contradict each other"):
        solver(q)


@pytest.mark.parametrize("method", [PGD, FISTA, ADMM, PDHG])
def test_unbounded_below(method):
    """P is flat in the second variable and q pulls it to infinity."""
    P = torch.diag(torch.tensor([1.0, 0.0], dtype=F64))
    q = torch.tensor([1.0, -1.0], dtype=F64)
    result = method(P, relu, steps=2000).solve(q)
    assert not result.converged
    assert result.stalled
    assert result.residual > 1e-3


@pytest.mark.parametrize("method", [ADMM, PDHG])
def test_unbounded_linear_program(method):
    result = method(torch.zeros(2, 2, dtype=F64), relu, steps=2000).solve(torch.tensor([1.0, -1.0], dtype=F64))
    assert not result.converged
    assert result.stalled


@pytest.mark.parametrize("method", METHODS)
def test_solution_at_zero(method):
    """Every term of the optimality condition may vanish: relative to them nothing would ever be small."""
    P = torch.diag(torch.tensor([1.0, 3.0], dtype=F64))
    for q in (torch.zeros(2, dtype=F64), torch.tensor([1.0, 2.0], dtype=F64)):
        result = method(P, relu).solve(q, torch.tensor([4.0, 5.0], dtype=F64))
        assert result.converged
        assert result.x.abs().max() < 1e-5


def test_p_that_was_trained_is_checked_again():
    P = torch.eye(2).requires_grad_()
    solver = PGD(P, relu)
    with torch.no_grad():
        P.mul_(10)
    torch.testing.assert_close(solver(-q2), 0.1 * q2)  # a step of 1 would diverge
    with torch.no_grad():
        P[0, 1] = 3.0
    with pytest.raises(ValueError, match="symmetric"):
        solver(q2)


def test_nearly_symmetric_and_nearly_semidefinite_pass():
    M = torch.randn(20, 5, dtype=F64, generator=torch.Generator().manual_seed(0))
    Q, _ = torch.linalg.qr(torch.randn(20, 20, dtype=F64, generator=torch.Generator().manual_seed(1)))
    for P in (M @ M.mT, Q @ torch.diag(torch.cat([torch.ones(5), torch.zeros(15)]).double()) @ Q.mT):
        assert PGD(P, relu).solve(-P.sum(-1)).converged
