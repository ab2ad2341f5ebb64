"""The unit as a module."""

import copy
import io
import math
import pickle

import pytest
import torch

from proxact import MPU, LeakyMPU, project


@pytest.mark.parametrize(
    ("shape", "dim", "axis"),
    [
        ((6,), None, 0),
        ((4, 6), None, 1),
        ((2, 6, 3, 4), None, 1),
        ((2, 6, 2, 3, 2), None, 1),
        ((2, 5, 6), -1, 2),
        ((2, 6, 5), 1, 1),
    ],
)
@pytest.mark.parametrize("m", [2, 3])
def test_channel_axis(shape, dim, axis, m):
    x = torch.randn(shape)
    unit = MPU(m, alpha=0.6, dim=dim)
    torch.testing.assert_close(unit(x), project.cone(x, 0.6, m, axis))


@pytest.mark.parametrize("grouping", ["adjacent", "split"])
@pytest.mark.parametrize("width", [5, 6])
def test_flat_is_the_papers_text(width, grouping):
    """Groups cross the end of a row, or fill rows."""
    x = torch.randn(2, 3, 5, width)
    for memory_format in (torch.contiguous_format, torch.channels_last):
        y = MPU(3, alpha=0.6, dim="flat", grouping=grouping)(x.contiguous(memory_format=memory_format))
        torch.testing.assert_close(y, project.cone(x.flatten(1), 0.6, 3, grouping=grouping).reshape(x.shape))


def test_flat_with_an_angle_for_each_group():
    x = torch.randn(2, 4, 3, 2)
    unit = MPU(2, alpha=0.6, dim="flat", num_parameters=12)
    with torch.no_grad():
        unit.theta.uniform_(-0.5, 0.5)
    torch.testing.assert_close(unit(x), project.cone(x.flatten(1), unit.alpha, 2).reshape(x.shape))


def test_leak():
    x = torch.randn(3, 6)
    expected = 0.99 * project.cone(x, math.pi / 4, 3) + 0.01 * x
    torch.testing.assert_close(LeakyMPU(3)(x), expected)
    torch.testing.assert_close(MPU(3, leak=0.01)(x), expected)
    torch.testing.assert_close(LeakyMPU(2)(x), torch.nn.functional.leaky_relu(x, 0.01))


@pytest.mark.parametrize("remainder", ["pad", "relu"])
def test_remainder(remainder):
    x = torch.randn(5, 7)
    y = MPU(3, alpha=0.5, remainder=remainder)(x)
    torch.testing.assert_close(y[:, :6], project.cone(x[:, :6], 0.5, 3))
    padded = project.cone(torch.nn.functional.pad(x[:, 6:], (0, 2)), 0.5, 3)[:, :1]
    torch.testing.assert_close(y[:, 6:], padded if remainder == "pad" else x[:, 6:].relu())


def test_one_angle_for_each_group():
    unit = MPU(2, num_parameters=3)
    with torch.no_grad():
        unit.theta.copy_(torch.tensor([-0.5, 0.0, 0.5]))
    x = torch.randn(4, 6, 2, 2)
    for group, alpha in enumerate(unit.alpha.tolist()):
        part = slice(2 * group, 2 * group + 2)
        torch.testing.assert_close(unit(x)[:, part], project.cone(x[:, part], alpha, 2, 1))
    unit(x).sum().backward()
    assert (unit.theta.grad != 0).all()


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16, torch.float16])
@pytest.mark.parametrize("push", [1e3, -1e3, 1e30, -1e30, math.inf, -math.inf])
def test_alpha_stays_inside_and_comes_back(dtype, push):
    unit = MPU(3, dtype=dtype)
    with torch.no_grad():
        unit.theta.fill_(push)
    assert 0 < unit.alpha.item() < math.pi / 2
    end = unit.alpha.item()
    optimizer = torch.optim.SGD(unit.parameters(), lr=0.05)
    for _ in range(30):
        optimizer.zero_grad()
        (math.copysign(1, push) * unit.alpha.sum()).backward()
        optimizer.step()
        assert 0 < unit.alpha.item() < math.pi / 2
    assert abs(unit.alpha.item() - end) > 1


@pytest.mark.parametrize("optimizer", [torch.optim.SGD, torch.optim.AdamW, torch.optim.RMSprop])
def test_it_comes_back_with_every_optimizer_after_an_absurd_step(optimizer):
    unit = MPU(3, alpha=0.9)
    x = torch.randn(64, 6)
    torch.optim.SGD(unit.parameters(), lr=1e9).step(lambda: unit(x).pow(2).sum().backward())
    assert unit.alpha.item() < 0.01
    steps = optimizer(unit.parameters(), lr=0.05)
    for _ in range(40):
        steps.zero_grad()
        (-unit(x).pow(2).mean()).backward()
        steps.step()
    assert unit.alpha.item() > 0.3


def test_weight_decay_pulls_towards_relu():
    for alpha in (0.2, 1.3):
        unit = MPU(alpha=alpha)
        optimizer = torch.optim.SGD(unit.parameters(), lr=0.1, weight_decay=0.5)
        for _ in range(200):
            optimizer.zero_grad()
            (0 * unit.alpha).sum().backward()
            optimizer.step()
        assert unit.alpha.item() == pytest.approx(math.pi / 4, abs=1e-3)


def test_gradients_without_the_hook_bring_theta_back():
    """A loop that never accumulates into .grad: theta is beyond its limit, its gradient is not lost."""
    unit = MPU()
    with torch.no_grad():
        unit.theta.fill_(2.0)
    for _ in range(60):
        gradient = torch.autograd.grad(unit.alpha.sum(), unit.theta)[0]
        with torch.no_grad():
            unit.theta -= 0.05 * gradient
    assert unit.alpha.item() < 0.2


def test_the_hook_does_not_disturb_other_graphs():
    """Several backward passes over graphs made before the first of them."""
    unit, x = MPU(3), torch.randn(4, 6)
    y = unit(x)
    y.sum().backward(retain_graph=True)
    y.pow(2).sum().backward()
    a, b = unit(x), unit(-x)
    a.sum().backward()
    b.sum().backward()


def test_frozen_units_copy_and_thaw():
    unit = MPU().requires_grad_(False)
    for other in (copy.deepcopy(unit), pickle.loads(pickle.dumps(unit)), unit.double()):
        assert not other.theta.requires_grad
        other.requires_grad_(True)
        with torch.no_grad():
            other.theta.fill_(1e6)
        other.alpha.sum().backward()
        assert other.theta.item() < math.pi / 4


def test_empty_batches():
    for unit in (MPU(), MPU(dim="flat"), MPU(3, dim=-1)):
        assert unit(torch.zeros(0, 6, 2, 2)).shape == (0, 6, 2, 2)


def test_the_hook_survives_copies_and_loading():
    unit = MPU(alpha=0.5)
    buffer = io.BytesIO()
    torch.save(unit.state_dict(), buffer)
    buffer.seek(0)
    assigned = MPU()
    assigned.load_state_dict(torch.load(buffer, weights_only=True), assign=True)
    moved = MPU(device="meta").to_empty(device="cpu")
    moved.load_state_dict(unit.state_dict())
    loaded = MPU()
    loaded.load_state_dict(unit.state_dict())
    given = MPU()
    given.theta = torch.nn.Parameter(unit.theta.detach().clone())
    copies = (copy.deepcopy(unit), pickle.loads(pickle.dumps(unit)))
    for other in (*copies, assigned, moved, loaded, given, unit.double()):
        assert other.alpha.item() == pytest.approx(0.5)
        with torch.no_grad():
            other.theta.fill_(1e6)
        other.alpha.sum().backward()
        assert other.theta.item() < math.pi / 4


@pytest.mark.parametrize("learnable", [True, False])
def test_reset_gives_the_angle_back(learnable):
    unit = MPU(3, alpha=0.5, learnable=learnable, num_parameters=2)
    with torch.no_grad():
        unit.theta.add_(0.1)
    unit.reset_parameters()
    empty = MPU(3, alpha=0.5, learnable=learnable, num_parameters=2, device="meta").to_empty(device="cpu")
    empty.reset_parameters()
    for other in (unit, empty):
        torch.testing.assert_close(other.alpha, torch.full((2,), 0.5))
        assert other.theta.requires_grad is learnable


def test_fixed_angle_may_be_at_the_ends():
    x = torch.randn(10, 4)
    for alpha in (0.0, math.pi / 2):
        unit = MPU(alpha=alpha, learnable=False)
        assert list(unit.parameters()) == []
        torch.testing.assert_close(unit(x), project.cone(x, alpha))


def test_output_dtype_is_input_dtype():
    unit = MPU(3)
    for dtype in (torch.bfloat16, torch.float16, torch.float32, torch.float64):
        assert unit(torch.randn(2, 6, dtype=dtype)).dtype == dtype
    assert MPU(3, dtype=torch.bfloat16)(torch.randn(2, 6)).dtype == torch.float32


def test_input_is_never_changed():
    x = torch.randn(4, 6)
    before = x.clone()
    MPU(inplace=True)(x)
    assert torch.equal(x, before)


def test_repr():
    assert repr(MPU()) == "MPU(2, alpha=0.7854)"
    assert repr(MPU(3, alpha=0.5, dim=-1, learnable=False)) == "MPU(3, alpha=0.5000, learnable=False, dim=-1)"
    assert repr(MPU(3, num_parameters=4)) == "MPU(3, num_parameters=4)"


def test_the_angle_learns():
    """A unit fitted to a cone of another angle finds that angle."""
    torch.manual_seed(0)
    x = torch.randn(2000, 3)
    target = project.cone(x, 1.1, 3)
    unit = MPU(3)
    optimizer = torch.optim.Adam(unit.parameters(), lr=0.02)
    for _ in range(200):
        optimizer.zero_grad()
        (unit(x) - target).pow(2).mean().backward()
        optimizer.step()
    assert unit.alpha.item() == pytest.approx(1.1, abs=1e-3)
