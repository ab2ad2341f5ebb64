"""torch.func, torch.compile, torch.export, autocast."""

import math
import shutil

import pytest
import torch
from cases import CASES, F64, SMOOTH_CASES, ids, points

from proxact import MPU, project
from proxact.nn import Sparsemax


@pytest.fixture(autouse=True)
def fresh_compiler():
    torch._dynamo.reset()


@pytest.mark.parametrize("case", CASES, ids=ids)
def test_vmap_and_grad(case):
    x = points(case, 80)[:6]
    torch.testing.assert_close(torch.func.vmap(case)(x), case(x), rtol=1e-12, atol=1e-12)
    torch.testing.assert_close(torch.func.vmap(case, in_dims=1, out_dims=1)(x.T.contiguous()), case(x).T)

    def loss(v):
        return (case(v) ** 2).sum()

    y = x.clone().requires_grad_()
    loss(y).backward()
    torch.testing.assert_close(torch.func.vmap(torch.func.grad(loss))(x), y.grad, rtol=1e-9, atol=1e-9)
    reverse = torch.func.vmap(torch.func.jacrev(case))(x)
    torch.testing.assert_close(torch.func.vmap(torch.func.jacfwd(case))(x), reverse, rtol=1e-9, atol=1e-9)


def test_vmap_over_parameters():
    x = torch.randn(4, 6, dtype=F64)
    angles = torch.tensor([0.2, 0.7, 1.4], dtype=F64)
    mapped = torch.func.vmap(lambda a: project.cone(x, a, 3))(angles)
    torch.testing.assert_close(mapped, torch.stack([project.cone(x, a, 3) for a in angles]))
    H = torch.randn(3, 5, 6, dtype=F64)
    mapped = torch.func.vmap(lambda h: project.polyhedron(x, h, 1.0))(H)
    torch.testing.assert_close(mapped, torch.stack([project.polyhedron(x, h, 1.0) for h in H]))
    mapped = torch.func.vmap(project.polyhedron, in_dims=(None, 0, None))(x, H, 1.0)
    torch.testing.assert_close(mapped, torch.stack([project.polyhedron(x, h, 1.0) for h in H]))


NEEDS_COMPILER = pytest.mark.skipif(
    not any(map(shutil.which, ("c++", "g++", "clang++"))), reason="torch.compile to machine code needs a C++ compiler"
)
QUICK = [c for c in SMOOTH_CASES if "@1.3" not in c.name]


@pytest.mark.parametrize("case", QUICK, ids=ids)
def test_compile(case):
    """One graph with its backward graph."""
    check_compiled(case, dynamic=False, backend="aot_eager")


@pytest.mark.parametrize(
    "case", [pytest.param(c, marks=pytest.mark.slow if c.name in ("soc", "polyhedron") else ()) for c in QUICK], ids=ids
)
def test_compile_with_dynamic_shapes(case):
    check_compiled(case, dynamic=True, backend="aot_eager")


@pytest.mark.parametrize(
    "case", [pytest.param(c, marks=() if "cone" in c.name else pytest.mark.slow) for c in QUICK], ids=ids
)
@NEEDS_COMPILER
def test_compile_to_machine_code(case):
    check_compiled(case, dynamic=False, backend="inductor")


def check_compiled(case, dynamic, backend):
    compiled = torch.compile(case, fullgraph=True, dynamic=dynamic, backend=backend)
    for rows in (12, 7):
        x = points(case, 80)[:rows].requires_grad_()
        z = x.detach().clone().requires_grad_()
        y = compiled(x)
        torch.testing.assert_close(y, case(z), rtol=1e-9, atol=1e-9)
        y.sin().sum().backward()
        case(z).sin().sum().backward()
        torch.testing.assert_close(x.grad, z.grad, rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize(
    "options",
    [
        {"m": 3, "leak": 0.1},
        pytest.param({"m": 2}, marks=pytest.mark.slow),
        pytest.param({"m": 2, "grouping": "split", "remainder": "relu"}, marks=pytest.mark.slow),
    ],
)
@NEEDS_COMPILER
def test_compile_module_with_dynamic_shapes(options):
    unit = MPU(dim=1, **options)
    compiled = torch.compile(unit, fullgraph=True, dynamic=True)
    for shape in ((2, 7, 4, 4), (3, 8, 2, 5), (1, 9, 3, 3)):
        x = torch.randn(shape)
        torch.testing.assert_close(compiled(x), unit(x), rtol=1e-5, atol=1e-6)
    compiled(x).sum().backward()
    assert unit.theta.grad.isfinite().all()


@pytest.mark.parametrize("case", QUICK, ids=ids)
def test_export(case):
    class Model(torch.nn.Module):
        def forward(self, x):
            return case(x)

    x = points(case, 80)[:8]
    program = torch.export.export(Model(), (x,), dynamic_shapes={"x": {0: torch.export.Dim("batch", min=2)}})
    y = points(case, 80)[:5]
    torch.testing.assert_close(program.module()(y), case(y), rtol=1e-9, atol=1e-9)


def test_export_module():
    model = torch.nn.Sequential(torch.nn.Conv2d(3, 6, 3), MPU(3), torch.nn.Flatten(), torch.nn.Linear(6 * 36, 4), MPU())
    x = torch.randn(2, 3, 8, 8)
    program = torch.export.export(model, (x,))
    torch.testing.assert_close(program.module()(x), model(x))


def test_autocast():
    model = torch.nn.Sequential(torch.nn.Linear(8, 12), MPU(3), torch.nn.Linear(12, 12), MPU())
    with torch.autocast("cpu", dtype=torch.bfloat16):
        y = model(torch.randn(4, 8))
    assert y.dtype == torch.bfloat16
    y.float().sum().backward()
    assert all(p.grad.dtype == torch.float32 and p.grad.isfinite().all() for p in model.parameters())


@pytest.mark.parametrize("case", CASES, ids=ids)
def test_autocast_does_not_touch_projections(case):
    x = points(case, 80)[:10].float()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        y = case(x)
    torch.testing.assert_close(y, case(x))


def test_ensembles_with_functional_call():
    units = [MPU(3, alpha=a) for a in (0.3, 0.9)]
    parameters, buffers = torch.func.stack_module_state(units)
    x = torch.randn(5, 6)

    def call(p, b, x):
        return torch.func.functional_call(units[0], (p, b), (x,))

    y = torch.func.vmap(call, in_dims=(0, 0, None))(parameters, buffers, x)
    torch.testing.assert_close(y, torch.stack([unit(x) for unit in units]))


def test_nested_transforms():
    x = torch.randn(3, dtype=F64)
    hessian = torch.func.hessian(lambda v: project.cone(v, 0.6, 3).sin().sum())(x)
    assert hessian.shape == (3, 3)
    torch.testing.assert_close(hessian, hessian.T)
    assert math.isfinite(hessian.sum().item())


def test_projections_work_without_data():
    x = torch.empty(4, 6, device="meta")
    assert project.simplex(x).shape == x.shape
    assert Sparsemax()(x).device.type == "meta"
