"""The compiled CPU kernel as an operator of compiled graphs."""

import math

import pytest
import torch
from torch.autograd import forward_ad

from proxact import MPU, LeakyMPU, project
from proxact.kernels import cone as kernel

pytestmark = pytest.mark.skipif(not kernel.is_available(), reason="the C kernel was not built (no C compiler)")
X = torch.randn(4, 6, 5, 5, generator=torch.Generator().manual_seed(0))
LAYOUTS = {
    "nchw": X,
    "channels_last": X.contiguous(memory_format=torch.channels_last),
    "transposed": X.transpose(2, 3),
    "with gaps": X[:, :, ::2],
}


@pytest.fixture(autouse=True)
def fresh_compiler():
    torch._dynamo.reset()


def operators(function, *arguments):
    """What a compiler sees."""
    found = []

    def backend(graph, _):
        found.extend(str(node.target) for node in graph.graph.nodes)
        return graph

    torch.compile(function, backend=backend, fullgraph=True)(*arguments)
    return [name for name in found if name.startswith("proxact")]


@pytest.mark.parametrize("unit", [MPU(2), MPU(4), LeakyMPU(3, alpha=1.1), MPU(2, grouping="split", dim=-1)], ids=repr)
@pytest.mark.parametrize("x", LAYOUTS.values(), ids=LAYOUTS)
def test_equals_eager(unit, x):
    if unit.grouping == "split":
        x = x[..., :4]
    compiled = torch.compile(unit, backend="aot_eager", fullgraph=True)
    found = []
    for net in (unit, compiled):
        v = x.detach().clone(memory_format=torch.preserve_format).requires_grad_()
        y = net(v)
        found.append((y.detach(), *torch.autograd.grad(y.square().sum(), (v, unit.theta))))
    assert found[0][0].stride() == found[1][0].stride()
    for eager, traced in zip(*found, strict=True):
        torch.testing.assert_close(traced, eager, rtol=0, atol=0)


def test_one_operator_for_each_unit():
    net = torch.nn.Sequential(MPU(2), MPU(3), LeakyMPU(2))
    assert operators(net, X) == ["proxact.cone"] * 3
    assert operators(lambda x: project.cone(x, 0.6, impl="c"), X) == ["proxact.cone"]
    assert operators(lambda x: project.cone(x, 0.6, impl="torch"), X) == []


def test_a_fixed_angle():
    compiled = torch.compile(lambda x: project.cone(x, 0.6, 3, 1), backend="aot_eager", fullgraph=True)
    torch.testing.assert_close(compiled(X), project.cone(X, 0.6, 3, 1), rtol=0, atol=0)


def test_plain_inside_transforms_and_exports():
    def mapped(x):
        return torch.func.vmap(lambda row: project.cone(row, 0.6))(x)

    assert operators(mapped, X) == []
    torch.testing.assert_close(mapped(X), project.cone(X, 0.6))
    gradient = torch.func.grad(lambda x: project.cone(x, 0.6).square().sum())
    assert operators(gradient, X) == []
    exported = torch.export.export(MPU(), (X,), strict=True)
    assert not any("proxact" in str(node.target) for node in exported.graph.nodes)


def test_forward_mode_keeps_its_tangents():
    def tangent(function):
        with forward_ad.dual_level():
            return forward_ad.unpack_dual(function(forward_ad.make_dual(X, X.cos()))).tangent

    def fixed(x):
        return project.cone(x, 0.6, 3)

    for unit in (MPU(3), fixed):
        compiled = torch.compile(unit, backend="eager")
        compiled(X)  # traced first without a tangent, as an operator
        torch.testing.assert_close(tangent(compiled), tangent(unit))


def test_second_derivatives_of_a_graph_that_runs_uncompiled():
    unit = MPU(3)
    for function in (unit, torch.compile(unit, backend="eager", fullgraph=True)):
        x = X.detach().double().requires_grad_()
        (dx,) = torch.autograd.grad(function(x).pow(3).sum(), x, create_graph=True)
        (ddx,) = torch.autograd.grad(dx.square().sum(), x)
        if function is unit:
            expected = ddx
    torch.testing.assert_close(ddx, expected)


@pytest.mark.parametrize("x", LAYOUTS.values(), ids=LAYOUTS)
def test_keeps_torchs_rules_for_operators(x):
    theta = torch.tensor([0.1], requires_grad=True)
    for m, grouping, leak in [(2, "adjacent", 0.0), (3, "split", 0.1)]:
        arguments = (x.detach().requires_grad_(), theta, math.inf, m, 1, "pad", grouping, leak)
        torch.library.opcheck(torch.ops.proxact.cone.default, arguments)
