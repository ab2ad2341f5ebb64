"""The compiled winner-takes-all against torch.topk."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from proxact import WTA
from proxact.kernels import winners as kernel

pytestmark = pytest.mark.skipif(
    kernel._winners is None or not kernel._winners.runs_here, reason="the C kernel was not built (no C compiler)"
)


def by_topk(x, ratio, dim=1):
    values, index = x.topk(WTA(ratio).winners(x.shape[dim]), dim)
    return torch.zeros_like(x).scatter(dim, index, values)


def count_calls(monkeypatch):
    calls = []
    run = kernel.keep_winners
    monkeypatch.setattr(kernel, "keep_winners", lambda *args: calls.append(args) or run(*args))
    return calls


@pytest.mark.parametrize("ratio", [0.01, 0.3, 0.5, 0.99, 1.0])
@pytest.mark.parametrize("channels", [1, 2, 7, 8, 16, 31, 32, 33, 64, 100, 257, 4096, 4097])
def test_values_and_gradients(channels, ratio, monkeypatch):
    calls = count_calls(monkeypatch)
    x = torch.randn(19, channels, requires_grad=True)
    g = torch.randn(19, channels)
    y = WTA(ratio)(x)
    (dx,) = torch.autograd.grad(y, x, g)
    expected = by_topk(x, ratio)
    assert torch.equal(y, expected)
    assert torch.equal(dx, torch.autograd.grad(expected, x, g)[0])
    assert len(calls) == (channels <= 4096)


@pytest.mark.parametrize("layout", ["contiguous", "channels_last", "every other", "expanded"])
def test_layouts(layout):
    x = torch.randn(3, 24, 6, 5)
    if layout == "channels_last":
        x = x.to(memory_format=torch.channels_last)
    elif layout == "every other":
        x = torch.randn(3, 48, 6, 10)[:, ::2, :, ::2]
    elif layout == "expanded":
        x = torch.randn(1, 24, 1, 5).expand(3, 24, 6, 5)
    x = x.detach().requires_grad_()
    y, expected = WTA(0.5)(x), by_topk(x, 0.5)
    assert torch.equal(y, expected)
    g = torch.randn(3, 24, 6, 5)
    assert torch.equal(torch.autograd.grad(y, x, g)[0], torch.autograd.grad(expected, x, g)[0])
    if layout in ("contiguous", "channels_last"):
        assert y.stride() == x.stride()


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_half_precision_has_ties_of_which_the_first_win(dtype, monkeypatch):
    calls = count_calls(monkeypatch)
    x = torch.randint(-9, 10, (3, 24, 6, 5)).to(dtype).to(memory_format=torch.channels_last).requires_grad_()
    y = WTA(0.5)(x)
    (wins,) = torch.autograd.grad(y, x, torch.ones_like(x))
    larger = [(x > x[:, j : j + 1]).sum(1) for j in range(24)]
    equal_before = [(x[:, :j] == x[:, j : j + 1]).sum(1) for j in range(24)]
    place = torch.stack(larger, 1) + torch.stack(equal_before, 1)
    assert torch.equal(wins, (place < 12).to(dtype))
    assert (y.dtype, y.stride()) == (dtype, x.stride())
    assert torch.equal(y, x * wins)
    assert calls


NUMBERS = st.sampled_from([0.0, -0.0, 1.0, -1.0, 1e-45, -1e-45, 3e38, -3e38, float("inf"), -float("inf")])


@settings(max_examples=200, deadline=None)
@given(st.lists(NUMBERS, min_size=1, max_size=70), st.floats(0.01, 1))
def test_ties_and_extremes(row, ratio):
    """As many winners as there should be, their values those of topk, the first of equal ones."""
    x = torch.tensor([row], requires_grad=True)
    y = WTA(ratio)(x)
    (wins,) = torch.autograd.grad(y, x, torch.ones_like(x))
    count = WTA(ratio).winners(len(row))
    assert wins.sum() == count
    assert torch.equal(y, torch.where(wins == 1, x, 0))
    kept = x[wins == 1]
    assert torch.equal(kept.sort().values, x[0].topk(count).values.sort().values)
    for value in (1.0, -1.0):
        among = wins[x == value]
        assert torch.equal(among, among.sort(descending=True).values)


def test_nan_wins():
    x = torch.randn(4, 64)
    x[:, 5] = float("nan")
    x[:, 9] = torch.tensor(float("nan")).copysign(torch.tensor(-1.0))
    y = WTA(2 / 64)(x)
    assert y[:, [5, 9]].isnan().all()
    assert (y.nan_to_num() == 0).all()


def test_derivatives_of_higher_order():
    x = torch.randn(3, 40, requires_grad=True)
    assert torch.equal(
        torch.func.jacrev(WTA(0.5))(x.detach()), torch.autograd.functional.jacobian(WTA(0.5), x, vectorize=True)
    )
    (first,) = torch.autograd.grad((WTA(0.5)(x) ** 3).sum(), x, create_graph=True)
    (second,) = torch.autograd.grad(first.sum(), x)
    torch.testing.assert_close(second, 6 * WTA(0.5)(x))


def test_elsewhere_topk(monkeypatch):
    calls = count_calls(monkeypatch)
    x = torch.randn(5, 8)
    for value in (x.double(), x.t().contiguous().double().t()):
        assert torch.equal(WTA(0.5)(value), by_topk(value, 0.5))
    assert torch.equal(torch.func.vmap(WTA(0.5, dim=-1))(x), by_topk(x, 0.5))
    assert torch.equal(torch.export.export(WTA(0.5), (x,)).module()(x), by_topk(x, 0.5))
    assert not calls


def test_threads_change_nothing():
    x = torch.randn(4000, 48)
    threads = torch.get_num_threads()
    try:
        results = []
        for count in (1, 2, 3):
            torch.set_num_threads(count)
            results.append(WTA(0.5)(x))
    finally:
        torch.set_num_threads(threads)
    assert torch.equal(results[0], results[1])
    assert torch.equal(results[0], results[2])
