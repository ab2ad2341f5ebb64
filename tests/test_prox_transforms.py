"""Derivatives to second order, torch.func, torch.compile and ``dim`` for every formula of the catalogue."""

import math

import pytest
import torch
from cases import F64
from test_prox import FORMULAS, INDICATORS, VECTORS, each
from torch.autograd import gradcheck, gradgradcheck

from proxact import prox


@each(FORMULAS)
def test_derivatives(case):
    x = case.points(30, seed=4)[2:]
    if case.entry.is_elementwise:
        far = torch.stack([(x - kink).abs() > 1e-3 for kink in (*case.kinks, math.inf)]).all(0)
        x = x[far]
    else:
        jacobian = torch.func.vmap(torch.func.jacrev(case))
        x = x[(jacobian(x + 1e-5) - jacobian(x - 1e-5)).abs().amax((-1, -2)) < 1e-3]
    assert len(x) >= 8
    x = x[:8].clone().requires_grad_()
    assert gradcheck(case, (x,), check_forward_ad=True, check_batched_grad=True)
    assert gradgradcheck(case, (x,))


@pytest.mark.parametrize(
    ("entry", "value", "n"),
    [
        (prox.leaky_relu, 0.3, 0),
        (prox.soft_threshold, 0.4, 0),
        (prox.atan, 0.9, 0),
        (prox.geman_mcclure, 1.1, 0),
        (prox.entmax, 1.3, 4),
        (prox.entmax, 1.9, 4),
        (prox.group_soft_threshold, 0.4, 3),
        (prox.modrelu, -0.4, 2),
        (prox.squash, 1.2, 3),
        (prox.linf_norm, 0.4, 4),
    ],
)
def test_derivatives_in_parameters(entry, value, n):
    x = torch.randn(6, *([n] if n else []), dtype=F64, generator=torch.Generator().manual_seed(5)) * 2
    parameter = torch.full((6,), value, dtype=F64) + 0.01 * torch.arange(6)
    assert gradcheck(entry, (x.requires_grad_(), parameter.requires_grad_()), check_forward_ad=True)
    assert gradgradcheck(entry, (x, parameter))
    torch.testing.assert_close(entry(x, torch.tensor(value, dtype=F64)), entry(x, value))


@each(FORMULAS)
def test_vmap_and_grad(case):
    x = case.points(6, seed=7)
    torch.testing.assert_close(torch.func.vmap(case)(x), case(x))
    y = x.clone().requires_grad_()
    case(y).sin().sum().backward()
    torch.testing.assert_close(torch.func.vmap(torch.func.grad(lambda v: case(v).sin().sum()))(x), y.grad)


@each({case.entry: case for case in FORMULAS if case.params or case in VECTORS}.values())
def test_compile(case):
    torch._dynamo.reset()
    x = case.points(6, seed=7)
    compiled = torch.compile(case.entry, fullgraph=True, backend="eager")
    torch.testing.assert_close(compiled(x, **case.params), case(x))


@each([case for case in VECTORS + INDICATORS if case.entry is not prox.psd])
def test_dim(case):
    x = case.points(10)
    torch.testing.assert_close(case.entry(x.T.contiguous(), dim=0, **case.params), case(x).T)
    y = case(x).reshape(2, 5, -1).transpose(1, 2)
    assert case.entry.penalty(y, dim=1, **case.params).shape == (2, 5)
    torch.testing.assert_close(case.entry.penalty(y, dim=1, **case.params).reshape(-1), case.penalty(case(x)))
