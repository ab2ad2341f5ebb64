"""Derivatives of first and second order, reverse and forward."""

import math

import pytest
import torch
from cases import CASES, F64, SMOOTH_CASES, SOC_A, A, H, R, ids, points, tensor
from torch.autograd import gradcheck, gradgradcheck

from proxact import project


def smooth_points(case):
    """Points with no kink nearby: the Jacobian there is the same a little to every side."""
    x = points(case, 240, seed=3)[:60]
    jacobian = torch.func.vmap(torch.func.jacrev(case))
    steps = 1e-5 * torch.randn(8, *x.shape, dtype=F64)
    spread = torch.stack([(jacobian(x + step) - jacobian(x)).abs().amax((-1, -2)) for step in steps]).amax(0)
    kept = x[spread < 1e-2]
    count = 2 if case.name == "soc" else 5
    assert len(kept) >= count
    return kept[:count].clone().requires_grad_()


@pytest.mark.parametrize("case", CASES, ids=ids)
def test_first_and_second_order(case):
    x = smooth_points(case)
    assert gradcheck(case, (x,), check_forward_ad=True, check_batched_grad=True)
    assert gradgradcheck(case, (x,), check_fwd_over_rev=True)


PARAMETERS = {
    "box": (lambda x, a, b: project.box(x, a, b), [tensor(-1.0, -0.5, -2.0), tensor(1.0, 0.5, 2.0)], 3),
    "halfspace": (project.halfspace, [tensor(1, -2, 0.5), tensor(0.3)[0]], 3),
    "hyperplane": (project.hyperplane, [tensor(1, -2, 0.5), tensor(0.3)[0]], 3),
    "affine": (project.affine, [A, tensor(0.4, -1)], 3),
    "polyhedron": (project.polyhedron, [H, R], 3),
    "l1_ball": (project.l1_ball, [tensor(1.3)[0]], 4),
    "l2_ball": (project.l2_ball, [tensor(0.7)[0]], 4),
    "linf_ball": (project.linf_ball, [tensor(0.7)[0]], 4),
    "simplex": (project.simplex, [tensor(1.0)[0]], 4),
    "soc": (project.soc, [SOC_A, tensor(0.1, -0.2, 0.3), tensor(0.3, 0.2, 0.5), tensor(0.8)[0]], 3),
    "cone2": (lambda x, a: project.cone(x, a, 2), [tensor(0.6)[0]], 4),
    "cone3": (lambda x, a: project.cone(x, a, 3), [tensor(0.6)[0]], 6),
    "cone3 by group": (lambda x, a: project.cone(x, a, 3), [tensor(0.6, 1.1)], 6),
    "cone2 split, remainder": (
        lambda x, a: project.cone(x, a, 2, grouping="split", remainder="relu"), [tensor(0.4, 1.2)], 5,
    ),
    "cone3 leaky, padded": (lambda x, a: project.cone(x, a, 3, leak=0.1), [tensor(0.6)[0]], 5),
}  # fmt: skip


@pytest.mark.parametrize("name", PARAMETERS)
def test_with_respect_to_parameters(name):
    function, parameters, n = PARAMETERS[name]
    x = torch.randn(2 if name == "soc" else 5, n, dtype=F64, generator=torch.Generator().manual_seed(8)) * 2
    inputs = [value.clone().requires_grad_() for value in (x, *parameters)]
    assert gradcheck(function, inputs, check_forward_ad=True)
    assert gradgradcheck(function, inputs, fast_mode=name == "soc")


@pytest.mark.parametrize("m", [2, 3, 5])
def test_formulas_of_the_jacobian(m):
    """dy/dx = u u' + (p sin/n)(I - e e' - h h'/n^2) and dy/dalpha = q u + p u', with eigenvalues in [0, 1]."""
    alpha = torch.tensor(0.5, dtype=F64)
    e = torch.ones(m, dtype=F64) / math.sqrt(m)
    checked = 0
    for x in torch.randn(200, m, dtype=F64):
        jacobian = torch.func.jacrev(lambda v: project.cone(v, alpha, m))(x)
        torch.testing.assert_close(jacobian, jacobian.T)
        assert torch.linalg.eigvalsh(jacobian).min() > -1e-12
        assert torch.linalg.eigvalsh(jacobian).max() < 1 + 1e-12
        t = x @ e
        h = x - t * e
        n = h.norm()
        u, v = alpha.cos() * e + alpha.sin() * h / n, -alpha.sin() * e + alpha.cos() * h / n
        p, q = x @ u, x @ v
        if p <= 0 or q <= 0:
            continue
        checked += 1
        across = torch.eye(m, dtype=F64) - torch.outer(e, e) - torch.outer(h, h) / n**2
        torch.testing.assert_close(jacobian, torch.outer(u, u) + p * alpha.sin() / n * across)
        by_angle = torch.func.jacfwd(lambda a, x=x: project.cone(x, a, m))(alpha)
        torch.testing.assert_close(by_angle, q * u + p * v)
    assert checked > 30


def test_rule_at_kinks():
    """A point on the boundary is differentiated as one outside; the apex gives 0, as relu does at 0."""
    for case in SMOOTH_CASES:
        if case.is_cone:
            jacobian = torch.func.jacrev(case)(torch.zeros(case.n, dtype=F64))
            assert jacobian.abs().max() == 0, case.name
    gradient = torch.func.grad(lambda x: project.box(x).sum())
    assert gradient(tensor(0.0, 1.0, 0.5)).tolist() == [0, 0, 1]
    eye, zero = torch.eye(2, dtype=F64), torch.zeros(2, dtype=F64)
    for unit_set in (
        project.l2_ball,
        lambda x: project.halfspace(x, eye[0], 1.0),
        lambda x: project.polyhedron(x, eye, 1.0),
        lambda x: project.soc(x, eye, 0.0, zero, 1.0),
    ):
        jacobian = torch.func.jacrev(unit_set)(tensor(1.0, 0.0))
        torch.testing.assert_close(jacobian, torch.diag(tensor(0.0, 1.0)))
    jacobian = torch.func.jacrev(lambda x: project.cone(x, 0.0))(tensor(1.0, 1.0))
    torch.testing.assert_close(jacobian, torch.full((2, 2), 0.5, dtype=F64))
    jacobian = torch.func.jacrev(lambda x: project.cone(x, math.pi / 4))(tensor(1.0, 0.0))
    torch.testing.assert_close(jacobian, torch.diag(tensor(1.0, 0.0)))


@pytest.mark.parametrize(
    "matrix", [-torch.eye(3), torch.zeros(3, 3), torch.eye(3), torch.diag(torch.tensor([1.0, 1, -2]))]
)
def test_psd_at_repeated_eigenvalues(matrix):
    x = matrix.double().requires_grad_()
    gradient = torch.autograd.grad((project.psd(x) ** 2).sum(), x, create_graph=True)[0]
    torch.testing.assert_close(gradient, 2 * torch.relu(x.detach()))
    assert torch.autograd.grad(gradient.sum(), x)[0].isfinite().all()
