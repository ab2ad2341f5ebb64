"""The GPU kernel in Triton's interpreter against the plain function. Its speed has not been measured."""

import itertools
import math

import pytest
import torch

from proxact import project

pytest.importorskip("triton", reason="triton is not installed")

TOLERANCE = {torch.float32: 2e-6, torch.float64: 1e-13, torch.bfloat16: 2**-8, torch.float16: 2**-10}
SHAPES = {
    "last": ((5, 24), 1),
    "last with remainder": ((5, 25), 1),
    "few channels": ((30, 1), 1),
    "nchw": ((2, 12, 3, 5), 1),
    "nchw with remainder": ((2, 11, 2, 2), 1),
    "first axis": ((12, 7), 0),
}


def results(x, alpha, g, impl, dtype, **options):
    v, a = x.detach().to(dtype).requires_grad_(), alpha.detach().clone().requires_grad_()
    y = project.cone(v, a, impl=impl, **options)
    return y, *torch.autograd.grad(y, (v, a), g.to(dtype), materialize_grads=True)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # numpy, in branches that are not taken
@pytest.mark.parametrize(
    ("m", "dtype"),
    [
        *itertools.product((2, 3), TOLERANCE),
        *(pytest.param(m, torch.float32, marks=pytest.mark.slow) for m in (1, 4, 5, 6, 7, 8, 11)),
        *(pytest.param(8, dtype, marks=pytest.mark.slow) for dtype in (torch.float64, torch.bfloat16, torch.float16)),
    ],
)
def test_equals_plain_function(m, dtype):
    generator = torch.Generator().manual_seed(m)
    options = itertools.product(SHAPES.values(), ("adjacent", "split"), ("pad", "relu"), (False, True))
    for (shape, dim), grouping, remainder, by_group in options:
        groups = -(-shape[dim] // m) if remainder == "pad" else shape[dim] // m
        alpha = torch.rand(groups if by_group and groups else 1, generator=generator, dtype=torch.float64) * 1.2 + 0.2
        x, g = (torch.randn(shape, generator=generator, dtype=torch.float64).to(dtype) for _ in range(2))
        arguments = {"m": m, "dim": dim, "grouping": grouping, "remainder": remainder, "leak": 0.1 if m == 3 else 0.0}
        y, dx, da = results(x, alpha, g, "triton", dtype, **arguments)
        exact_y, exact_dx, exact_da = results(x, alpha, g, "torch", torch.float64, **arguments)
        tolerance = TOLERANCE[dtype]
        torch.testing.assert_close(y.double(), exact_y, rtol=tolerance, atol=3 * tolerance)
        torch.testing.assert_close(dx.double(), exact_dx, rtol=8 * tolerance, atol=20 * tolerance)
        scale = (g.double().abs() * x.double().abs()).sum()
        torch.testing.assert_close(da, exact_da, rtol=1e-6, atol=(1e-6 * scale).item())


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("m", [2, 3])
def test_channels_last_and_extreme_numbers(m):
    x = torch.randn(2, 6, 3, 3).contiguous(memory_format=torch.channels_last)
    y = project.cone(x, 0.6, m, 1, impl="triton")
    assert y.stride() == x.stride()
    torch.testing.assert_close(y, project.cone(x, 0.6, m, 1, impl="torch"))
    special = torch.randn(40, m)
    special[:5, 0], special[5:10, 0], special[10:15], special[15:20] = math.inf, -math.inf, math.nan, 0.0
    special[20:30] *= 1e30
    special[30:] *= 1e-30
    for alpha in (0.0, 0.3, math.pi / 4, 1.3, math.pi / 2):
        got, plain = (project.cone(special.flatten(), alpha, m, impl=impl) for impl in ("triton", "torch"))
        torch.testing.assert_close(got, plain, rtol=2e-5, atol=0, equal_nan=True)


def test_by_name(monkeypatch):
    monkeypatch.setenv("TRITON_INTERPRET", "0")
    with pytest.raises(ValueError, match="CUDA tensors"):
        project.cone(torch.randn(2, 4), 0.5, impl="triton")
