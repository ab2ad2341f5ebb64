"""Derivatives of solutions: against finite differences, against unrolling, twice, in constant memory."""

import pytest
import torch
from torch.autograd import gradcheck, gradgradcheck

from proxact import Projection, project
from proxact.unroll import ADMM, FISTA, PDHG, PGD, ProximalGradient

F64 = torch.float64
METHODS = [PGD, ProximalGradient, FISTA, ADMM, PDHG]
WITH_A = [ADMM, PDHG]


def normal(*shape, seed):
    return torch.randn(*shape, dtype=F64, generator=torch.Generator().manual_seed(seed))


def problem(n=5, count=4):
    root = normal(count, n, n, seed=1)
    return root, normal(count, n, seed=2)


def positive(root):
    return root @ root.mT / root.shape[-1] + 0.2 * torch.eye(root.shape[-1], dtype=F64)


def solution(method, root, q, upper, gradient, **options):
    solver = method(
        positive(root), lambda v: project.box(v, -0.3, upper), gradient=gradient, tol=1e-13, steps=20_000, **options
    )
    return solver(q)


def central_difference(function, inputs, directions, h=1e-5):
    above = function(*(x + h * d for x, d in zip(inputs, directions, strict=True)))
    below = function(*(x - h * d for x, d in zip(inputs, directions, strict=True)))
    return (above - below) / (2 * h)


def check_against_differences(function, inputs, seed):
    """Directional derivatives of a random functional of the result, to 1e-5 relative."""
    inputs = [x.detach().clone().requires_grad_() for x in inputs]
    with torch.no_grad():
        weight = normal(*function(*inputs).shape, seed=seed)
    gradients = torch.autograd.grad((weight * function(*inputs)).sum(), inputs)
    for i, gradient in enumerate(gradients):
        assert gradient.norm() > 1e-3
        for trial in range(2):
            directions = [torch.zeros_like(x) for x in inputs]
            directions[i] = normal(*inputs[i].shape, seed=seed + trial)
            with torch.no_grad():
                expected = (weight * central_difference(function, inputs, directions)).sum()
            found = (gradient * directions[i]).sum()
            assert abs(found - expected) <= 1e-5 * max(abs(expected), gradient.norm())


@pytest.mark.parametrize("gradient", ["implicit", "unroll"])
@pytest.mark.parametrize("method", METHODS)
def test_gradient_equals_finite_differences(method, gradient):
    """In P, q and what g holds."""
    root, q = problem()
    upper = torch.full((5,), 0.4, dtype=F64)
    check_against_differences(lambda *inputs: solution(method, *inputs, gradient), [root, q, upper], seed=30)


@pytest.mark.parametrize("method", WITH_A)
def test_gradient_in_the_linear_map(method):
    root, q = problem()
    A, r = torch.cat([torch.eye(5, dtype=F64), 0.5 * normal(2, 5, seed=3)]), 0.5 * normal(7, seed=4).abs()

    def solve(root, q, A, r):
        solver = method(
            positive(root), lambda v: project.box(v, -9.0, r), A, gradient="implicit", tol=1e-12, steps=50_000
        )
        return solver(q)

    check_against_differences(solve, [root, 4 * q, A, r], seed=31)


@pytest.mark.parametrize("method", WITH_A)
def test_gradient_of_a_socp(method):
    """The minimiser of c'x over an ellipsoid, which is known: -M^-1 c / |..|."""
    c, M = normal(6, 3, seed=5), 0.5 * normal(3, 3, seed=6) + 2 * torch.eye(3, dtype=F64)

    def solve(c, M):
        solver = method(torch.zeros(3, 3, dtype=F64), project.l2_ball, M, gradient="implicit", tol=1e-11, steps=50_000)
        return solver(c)

    def exact(c, M):
        w = torch.linalg.solve(M.mT, c.mT).mT
        return -torch.linalg.solve(M, (w / w.norm(dim=-1, keepdim=True)).mT).mT

    torch.testing.assert_close(solve(c, M), exact(c, M), rtol=1e-9, atol=1e-9)
    check_against_differences(solve, [c, M], seed=32)


@pytest.mark.parametrize("method", METHODS)
def test_implicit_equals_unrolled(method):
    root, q = problem()
    found = []
    for gradient in ("implicit", "unroll"):
        inputs = [x.clone().requires_grad_() for x in (root, q)]
        x = solution(method, *inputs, 0.4, gradient)
        found.append(torch.autograd.grad(x.square().sum(), inputs))
    for implicit, unrolled in zip(*found, strict=True):
        torch.testing.assert_close(implicit, unrolled, rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("method", [PGD, ADMM, PDHG])
def test_second_order(method):
    root, q = problem(n=3, count=1)
    inputs = [root.clone().requires_grad_(), q.clone().requires_grad_()]

    def solve(root, q):
        solver = method(positive(root), project.l2_ball, gradient="implicit", tol=1e-13, steps=5000)
        return solver(3 * q)

    assert gradcheck(solve, inputs, fast_mode=True)
    assert gradgradcheck(solve, inputs, fast_mode=True)


def test_learnable_projection_is_trained_through_the_solution():
    root, q = problem()
    g = Projection("box", lower=torch.full((5,), -0.3, dtype=F64), upper=0.4, learnable=["lower"])
    solver = PGD(positive(root), g, gradient="implicit", tol=1e-12, steps=5000)
    assert [name for name, _ in solver.named_parameters()] == ["g.lower"]
    solver(q).sum().backward()
    at_bound = (solver(q) == g.lower).any(0)
    assert ((g.lower.grad != 0) == at_bound).all()


def saved_bytes(call):
    total = 0

    def pack(x):
        nonlocal total
        total += x.numel() * x.element_size()
        return x

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda x: x):
        call()
    return total


@pytest.mark.parametrize("method", METHODS)
def test_implicit_memory_does_not_grow_with_the_steps(method):
    root, q = problem(n=12, count=8)

    def size(gradient, tol):
        solver = method(positive(root), project.nonnegative, gradient=gradient, tol=tol, steps=20_000)
        needed = q.clone().requires_grad_()
        return saved_bytes(lambda: solver(needed))

    assert size("implicit", 1e-12) == size("implicit", 1e-3)
    assert size("unroll", 1e-12) > 2 * size("unroll", 1e-3)
    assert size("implicit", 1e-12) < size("unroll", 1e-12)


def test_no_graph_is_built_when_nothing_needs_it():
    root, q = problem()
    solver = PGD(positive(root), project.nonnegative, gradient="implicit")
    assert not solver(q).requires_grad
    with torch.no_grad():
        assert not solver(q.clone().requires_grad_()).requires_grad


def test_dependent_constraints_have_a_gradient():
    """x <= 1 written twice: the multipliers are not unique, x is."""
    P, A = torch.eye(2, dtype=F64), torch.tensor([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]], dtype=F64)
    q = torch.tensor([-3.0, -0.5], dtype=F64, requires_grad=True)
    for method in WITH_A:
        solver = method(P, lambda v: v.clamp(max=1.0), A, gradient="implicit", tol=1e-12, steps=50_000)
        x = solver(q)
        torch.testing.assert_close(x, torch.tensor([1.0, 0.5], dtype=F64))
        jacobian = torch.stack([torch.autograd.grad(v, q, retain_graph=True)[0] for v in x])
        torch.testing.assert_close(jacobian, torch.diag(torch.tensor([0.0, -1.0], dtype=F64)))


def test_solution_that_is_not_unique_has_no_gradient():
    P = torch.diag(torch.tensor([1.0, 0.0], dtype=F64))
    q = torch.tensor([-1.0, 0.0], dtype=F64, requires_grad=True)
    solver = PGD(P, lambda v: project.box(v, -2.0, 2.0), gradient="implicit", tol=1e-10)
    with pytest.raises(RuntimeError, match="unique solution"):
        solver(q)
    torch.testing.assert_close(solver(q.detach())[0].item(), 1.0)
