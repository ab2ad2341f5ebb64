"""The compiled CPU kernel against the plain function."""

import itertools
import math
import multiprocessing
import threading

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from proxact import MPU, project
from proxact.kernels import cone as kernel

pytestmark = pytest.mark.skipif(not kernel.is_available(), reason="the C kernel was not built (no C compiler)")

TOLERANCE = {torch.float32: 1e-6, torch.float64: 1e-13, torch.bfloat16: 2**-8, torch.float16: 2**-10}


@pytest.fixture(params=[0, 1], ids=["best", "baseline"])
def instruction_set(request, monkeypatch):
    monkeypatch.setattr(kernel, "_use_baseline", request.param)


def both(x, alpha, g, **options):
    """Output and gradients of the kernel in x's dtype, and of the plain function in float64."""
    results = []
    for impl, dtype in (("c", x.dtype), ("torch", torch.float64)):
        v = x.detach().to(dtype).requires_grad_()
        a = alpha.detach().to(torch.float64 if dtype == torch.float64 else alpha.dtype).requires_grad_()
        y = project.cone(v, a, impl=impl, **options)
        results.append((y, *torch.autograd.grad(y, (v, a), g.to(dtype), materialize_grads=True)))
    return results


def check(x, alpha, g, **options):
    (y, dx, da), (exact_y, exact_dx, exact_da) = both(x, alpha, g, **options)
    assert y.dtype == x.dtype
    tolerance = TOLERANCE[x.dtype]
    size = x.abs().max().double() if x.numel() else 1
    torch.testing.assert_close(y.double(), exact_y, rtol=tolerance, atol=tolerance * size)
    torch.testing.assert_close(dx.double(), exact_dx, rtol=8 * tolerance, atol=8 * tolerance * g.abs().max().double())
    scale = (g.double().abs() * x.double().abs()).sum()
    torch.testing.assert_close(da.double(), exact_da, rtol=1e-6, atol=(1e-6 * scale + 1e-12).item())


SHAPES = {
    "last": ((37, 24), 1),
    "last with remainder": ((37, 25), 1),
    "few channels": ((1000, 11), 1),
    "fewer channels than m": ((5, 1), 1),
    "nchw": ((3, 24, 5, 7), 1),
    "nchw with remainder": ((2, 23, 4, 4), 1),
    "first axis": ((24, 33), 0),
}


@pytest.mark.usefixtures("instruction_set")
@pytest.mark.parametrize("dtype", TOLERANCE)
@pytest.mark.parametrize("m", [1, 2, 3, 4, 5, 6, 7, 8, 11])
def test_equals_plain_function(m, dtype):
    generator = torch.Generator().manual_seed(m)
    options = itertools.product(SHAPES.values(), ("adjacent", "split"), ("pad", "relu"), (False, True), (0.0, 0.1))
    for (shape, dim), grouping, remainder, by_group, leak in options:
        groups = -(-shape[dim] // m) if remainder == "pad" else shape[dim] // m
        count = groups if by_group and groups else 1
        alpha = torch.rand(count, generator=generator, dtype=torch.float64) * 1.2 + 0.2
        x, g = (torch.randn(shape, generator=generator, dtype=torch.float64).to(dtype) for _ in range(2))
        check(x, alpha, g, m=m, dim=dim, grouping=grouping, remainder=remainder, leak=leak)


@settings(max_examples=150, deadline=None, derandomize=True)
@given(data=st.data())
def test_equals_plain_function_for_any_layout(data):
    """Random shapes, orders of axes, steps and offsets, in float32."""
    groupings, remainders = st.sampled_from(["adjacent", "split"]), st.sampled_from(["pad", "relu"])
    sizes = data.draw(st.lists(st.integers(1, 9), min_size=1, max_size=5))
    order = data.draw(st.permutations(range(len(sizes))))
    step = data.draw(st.integers(1, 2))
    offset = data.draw(st.integers(0, 3))
    dim = data.draw(st.integers(0, len(sizes) - 1))
    generator = torch.Generator().manual_seed(data.draw(st.integers(0, 1000)))
    storage = torch.randn(offset + step * math.prod(sizes), generator=generator)
    x = storage[offset::step].reshape([sizes[i] for i in order]).permute([order.index(i) for i in range(len(sizes))])
    g = torch.randn(sizes, generator=generator)
    alpha = torch.tensor([data.draw(st.floats(0.01, 1.56))])
    check(
        x, alpha, g, m=data.draw(st.integers(1, 9)), dim=dim, grouping=data.draw(groupings),
        remainder=data.draw(remainders),
    )  # fmt: skip


@pytest.mark.parametrize("dim", [1, 2, 3])
def test_memory_layout_is_kept_without_copies(dim):
    x = torch.randn(2, 6, 5, 4).contiguous(memory_format=torch.channels_last).requires_grad_()
    y = project.cone(x, 0.6, 3, dim, impl="c")
    assert y.stride() == x.stride()
    torch.testing.assert_close(y, project.cone(x, 0.6, 3, dim, impl="torch"))
    y.sum().backward()
    assert x.grad.stride() == x.stride()


@pytest.mark.usefixtures("instruction_set")
@pytest.mark.parametrize("m", [2, 3, 4, 5, 8])
@pytest.mark.parametrize("alpha", [0.0, 0.3, math.pi / 4, 1.3, math.pi / 2])
def test_extreme_numbers(m, alpha):
    """nan, infinities, zeros, the axis, sizes from 1e-38 to 1e38, in one tensor with ordinary ones."""
    generator = torch.Generator().manual_seed(m)
    exponent = torch.rand(400, m, generator=generator) * 76 - 38
    sign = torch.randint(0, 2, exponent.shape, generator=generator) * 2 - 1
    mixed, same = sign * 10**exponent, sign * 10 ** exponent[:, :1]
    special = torch.randn(60, m, generator=generator)
    special[:10, 0], special[10:20, 0], special[20:30], special[30:40] = math.inf, -math.inf, math.inf, math.nan
    x = torch.cat([mixed, same, special, torch.ones(3, m), -torch.ones(3, m), torch.zeros(9, m)]).flatten()
    for dtype in (torch.float32, torch.float64):
        v = x.to(dtype)
        got, plain = (project.cone(v, alpha, m, impl=impl) for impl in ("c", "torch"))
        size = torch.where(v.isfinite(), v, 1).abs().reshape(-1, m).amax(-1, keepdim=True).expand(-1, m).flatten()
        ok = (got == plain) | (got.isnan() & plain.isnan()) | ((got - plain).abs() <= 2e-6 * size)
        assert ok.all(), torch.stack([v, got, plain])[:, ~ok][:, :6]


def test_relu_bit_for_bit():
    x = torch.randn(10_000) * 10 ** (torch.rand(10_000) * 70 - 35)
    for shape in ((100, 100), (10, 20, 5, 10)):
        v = x.reshape(shape)
        assert torch.equal(project.cone(v, math.pi / 4, dim=1, impl="c"), torch.relu(v))
        assert torch.equal(MPU()(v), torch.relu(v))


def test_gradients_are_deterministic_and_free_of_threads():
    x, g = torch.randn(2, 64, 66, 32), torch.randn(2, 64, 66, 32)
    found = []
    threads = torch.get_num_threads()
    for count in (1, 2, 2, 3):
        torch.set_num_threads(count)
        alpha = torch.tensor(0.6, requires_grad=True)
        project.cone(x, alpha, 3, 1, impl="c").backward(g)
        found.append(alpha.grad.item())
    torch.set_num_threads(threads)
    assert len(set(found)) == 1


def test_second_derivatives_and_batched_gradients():
    x = torch.randn(4, 6, dtype=torch.float64, requires_grad=True)
    alpha = torch.tensor([0.6], dtype=torch.float64, requires_grad=True)

    def function(x, alpha):
        return project.cone(x, alpha, 3, leak=0.1, impl="c")

    assert torch.autograd.gradcheck(function, (x, alpha), check_batched_grad=True)
    assert torch.autograd.gradgradcheck(function, (x, alpha))


def test_saves_only_x():
    saved = []
    x = torch.randn(64, 66, requires_grad=True)
    with torch.autograd.graph.saved_tensors_hooks(lambda t: saved.append(t) or t, lambda t: t):
        project.cone(x, torch.tensor([0.6], requires_grad=True), 3, impl="c")
    large = [t for t in saved if t.numel() > 1]
    assert [t.data_ptr() for t in large] == [x.data_ptr()]


def test_from_several_threads():
    x = torch.randn(8, 64, 50, 50)
    expected = project.cone(x, 0.6, 3, 1, impl="torch")
    failures = []

    def work():
        for _ in range(5):
            if not torch.allclose(project.cone(x, 0.6, 3, 1, impl="c"), expected, atol=1e-5):
                failures.append(1)

    workers = [threading.Thread(target=work) for _ in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert not failures


def _in_child(queue):
    torch.set_num_threads(1)
    x = torch.randn(4, 64, 40, 40)
    queue.put(torch.allclose(project.cone(x, 0.6, 3, 1, impl="c"), project.cone(x, 0.6, 3, 1, impl="torch"), atol=1e-5))


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_after_fork():
    """As in the workers of a DataLoader, which fork and then use one thread."""
    project.cone(torch.randn(4, 64, 40, 40), 0.6, 3, 1, impl="c")
    context = multiprocessing.get_context("fork")
    queue = context.Queue()
    child = context.Process(target=_in_child, args=(queue,))
    child.start()
    assert queue.get(timeout=60)
    child.join()


@pytest.mark.slow
def test_more_than_two_to_the_31_elements():
    x = torch.zeros(2**31 + 64, dtype=torch.bfloat16)
    x[-4:] = torch.tensor([3.0, -1.0, -2.0, 5.0])
    y = project.cone(x, math.pi / 4, impl="c")
    assert y[-4:].tolist() == [3.0, 0.0, 0.0, 5.0]
    assert y[:1000].abs().max() == 0


def test_by_name(monkeypatch):
    x = torch.randn(4, 6)
    with pytest.raises(ValueError, match="outside torch"):
        torch.func.vmap(lambda v: project.cone(v, 0.5, impl="c"))(x)
    with pytest.raises(ValueError, match="impl must be one of"):
        project.cone(x, 0.5, impl="fortran")
    monkeypatch.setattr(kernel, "_cone", None)
    with pytest.raises(RuntimeError, match="was not built"):
        project.cone(x, 0.5, impl="c")
    torch.testing.assert_close(project.cone(x, 0.5), project.cone(x, 0.5, impl="torch"))
    assert "not built" in kernel.describe()


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16, torch.float16])
@pytest.mark.parametrize("m", [1, 2, 3, 4, 8, 11])
@pytest.mark.parametrize("layout", ["last", "nchw"])
def test_the_apex_has_derivative_0(m, layout, dtype):
    """Whole groups of zeros among others, as ReLU has at 0; also for the angle."""
    torch.manual_seed(0)
    shape, dim = ((40, 4 * m), 1) if layout == "last" else ((2, 4 * m, 5, 9), 1)
    x = torch.randn(shape).to(dtype)
    x[0] = 0
    x[:, :m] = 0
    found = []
    for impl in ("c", "torch"):
        point, alpha = x.clone().requires_grad_(), torch.tensor([0.5], requires_grad=True)
        project.cone(point, alpha, m, dim, impl=impl).backward(torch.ones_like(x))
        assert not point.grad[0].any()
        assert not point.grad[:, :m].any()
        found.append((point.grad, alpha.grad))
    torch.testing.assert_close(found[0], found[1], rtol=2e-2 if dtype.itemsize == 2 else 1e-5, atol=2e-2)
