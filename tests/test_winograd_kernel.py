"""The compiled 3 x 3 convolution against torch's in double precision."""

import copy

import pytest
import torch
from torch import nn

from proxact.kernels import winograd as kernel
from proxact.models import cifar_resnet
from proxact.models.conv import Conv2d

pytestmark = pytest.mark.skipif(
    kernel._winograd is None or not kernel._winograd.runs_here, reason="needs a C compiler and AVX2"
)
TOLERANCE = (
    3e-4  # of the standard deviation; the kernel's error is at most 1e-4, a wrong coefficient's of the order of 1
)


@pytest.fixture(autouse=True)
def seeded():
    torch.manual_seed(0)


@pytest.fixture
def eager_to_apply(monkeypatch):
    """Small pictures, too."""
    monkeypatch.setattr(kernel, "is_worthwhile", lambda x, weight: x.numel() > 0)


def pictures(count, channels, height, width):
    return torch.randn(count, channels, height, width).to(memory_format=torch.channels_last)


@pytest.fixture
def calls(monkeypatch, eager_to_apply):
    made, run = [], kernel.convolve
    monkeypatch.setattr(kernel, "convolve", lambda *args: made.append(args) or run(*args))
    return made


def check(conv, x, g):
    """Outputs and both gradients."""
    x = x.detach().requires_grad_()
    found = conv(x)
    exact, exact_x = copy.deepcopy(conv).double(), x.detach().double().requires_grad_()
    expected = nn.Conv2d.forward(exact, exact_x)
    found.backward(g)
    expected.backward(g.double())
    assert found.is_contiguous(memory_format=torch.channels_last)
    for one, other in ((found, expected), (x.grad, exact_x.grad), (conv.weight.grad, exact.weight.grad)):
        assert (one - other).abs().max() < TOLERANCE * other.std()


@pytest.mark.parametrize("side", [(1, 1), (1, 9), (2, 3), (3, 3), (4, 4), (5, 7), (6, 6), (8, 12), (13, 4), (32, 32)])
@pytest.mark.parametrize("channels", [(16, 16), (16, 48), (64, 32)])
def test_values_and_gradients(channels, side, calls):
    check(Conv2d(*channels, 3), pictures(5, channels[0], *side), pictures(5, channels[1], *side))
    assert len(calls) == 1


@pytest.mark.parametrize("channels", [128, 160, 512])
def test_many_channels(channels, calls):
    check(Conv2d(channels, channels, 3), pictures(70, channels, 4, 4), pictures(70, channels, 4, 4))
    assert len(calls) == 1


@pytest.mark.usefixtures("eager_to_apply")
def test_threads():
    conv, x = Conv2d(16, 32, 3), pictures(7, 16, 9, 9)
    before = torch.get_num_threads()
    results = []
    try:
        for threads in (1, 2, 3):
            torch.set_num_threads(threads)
            conv.weight.grad = None
            y = conv(x)
            y.square().sum().backward()
            results.append((y.detach(), conv.weight.grad))
    finally:
        torch.set_num_threads(before)
    for y, gradient in results[1:]:
        assert torch.equal(y, results[0][0])
        torch.testing.assert_close(gradient, results[0][1], rtol=1e-4, atol=1e-3)


@pytest.mark.parametrize("layout", ["expanded", "every other", "contiguous"])
def test_gradients_in_any_layout(layout, calls):
    g = {
        "expanded": torch.randn(1, 16, 1, 1).expand(3, 16, 6, 6),
        "every other": torch.randn(3, 32, 6, 12)[:, ::2, :, ::2],
        "contiguous": torch.randn(3, 16, 6, 6),
    }[layout]
    check(Conv2d(16, 16, 3), pictures(3, 16, 6, 6), g)
    assert len(calls) == 1


@pytest.mark.usefixtures("eager_to_apply")
def test_only_what_is_asked_for():
    conv, x = Conv2d(16, 16, 3), pictures(2, 16, 5, 5)
    conv.weight.requires_grad_(False)
    x.requires_grad_()
    conv(x).sum().backward()
    assert conv.weight.grad is None
    assert x.grad is not None


@pytest.mark.usefixtures("eager_to_apply")
def test_second_derivatives():
    conv, x = Conv2d(16, 16, 3), pictures(2, 16, 5, 5).requires_grad_()

    def penalty(convolve):
        (slope,) = torch.autograd.grad(convolve(x).square().sum(), x, create_graph=True)
        return torch.autograd.grad(slope.square().sum(), (x, conv.weight))

    found, expected = penalty(conv), penalty(lambda x: nn.Conv2d.forward(conv, x))
    for one, other in zip(found, expected, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-3, atol=1e-3 * float(other.std()))


@pytest.mark.parametrize(
    ("conv", "x"),
    [
        (Conv2d(16, 16, 3, 2), pictures(2, 16, 8, 8)),
        (Conv2d(16, 16, 1), pictures(2, 16, 8, 8)),
        (Conv2d(3, 16, 3), pictures(2, 3, 8, 8)),
        (Conv2d(16, 24, 3), pictures(2, 16, 8, 8)),
        (Conv2d(16, 16, 3), pictures(2, 16, 8, 8).contiguous()),
        (Conv2d(16, 16, 3).double(), pictures(2, 16, 8, 8).double()),
        (Conv2d(16, 16, 3), pictures(0, 16, 8, 8)),
    ],
    ids=["stride", "1 x 1", "three channels", "24 channels", "NCHW", "double", "empty"],
)
def test_what_torch_does(conv, x, calls):
    assert torch.equal(conv(x), nn.Conv2d.forward(conv, x))
    assert not calls


def test_few_patches_are_left_to_torch():
    conv = Conv2d(128, 128, 3)
    assert not kernel.applies(pictures(8, 128, 8, 4), conv.weight)  # 16 patches would do, but not so few numbers
    assert not kernel.applies(
        pictures(15, 128, 1, 40)[..., :4].contiguous(memory_format=torch.channels_last), conv.weight
    )
    assert kernel.applies(pictures(32, 128, 4, 4), conv.weight)
    assert not kernel.applies(pictures(2, 512, 16, 8), Conv2d(512, 512, 3).weight)  # 16 patches for 512 channels


def test_a_wrong_number_of_channels(calls):
    with pytest.raises(RuntimeError, match="expected input"):
        Conv2d(16, 16, 3)(pictures(2, 32, 8, 8))
    assert not calls


@pytest.mark.parametrize("dtype", [torch.float64, torch.float16])
def test_other_default_dtypes(dtype, calls):
    conv, x, g = Conv2d(16, 16, 3), pictures(2, 16, 8, 8), pictures(2, 16, 8, 8)
    torch.set_default_dtype(dtype)
    try:
        check(conv, x, g)
    finally:
        torch.set_default_dtype(torch.float32)
    assert len(calls) == 1


def test_other_default_device(calls):
    conv, x = Conv2d(16, 16, 3), pictures(2, 16, 8, 8)
    with torch.device("meta"):
        y = conv(x)
    assert y.device.type == "cpu"
    assert len(calls) == 1


def test_a_layer_that_is_changed_later(calls):
    """By fusing it with a batch norm, which gives it a bias, or by hand."""
    norm, x = nn.BatchNorm2d(16).eval(), pictures(2, 16, 8, 8)
    norm.running_mean.normal_()
    conv = Conv2d(16, 16, 3).eval()
    fused = torch.nn.utils.fusion.fuse_conv_bn_eval(conv, norm)
    torch.testing.assert_close(fused(x), norm(conv(x)), rtol=1e-4, atol=1e-4)
    conv.stride = (2, 2)
    assert conv(x).shape == (2, 16, 4, 4)
    assert len(calls) == 1


@pytest.mark.parametrize("side", [(1, 1), (5, 7), (8, 8)])
@pytest.mark.parametrize("channels", [(16, 16), (64, 32)])
def test_bf16_is_the_float32_result_rounded(channels, side, calls):
    conv = Conv2d(*channels, 3)
    x, g = pictures(5, channels[0], *side).bfloat16(), pictures(5, channels[1], *side).bfloat16()
    x[0, 0, 0, 0] = float("nan")
    results = []
    for dtype in (torch.float32, torch.bfloat16):
        conv.weight.grad, copied = None, x.to(dtype).requires_grad_()
        with torch.autocast("cpu", torch.bfloat16, enabled=dtype is torch.bfloat16):
            y = conv(copied)
        y.backward(g.to(dtype))
        assert {y.dtype, copied.grad.dtype} == {dtype}
        assert y.is_contiguous(memory_format=torch.channels_last)
        results.append((y.bfloat16(), copied.grad.bfloat16(), conv.weight.grad))
    assert len(calls) == 2
    for found, expected in zip(*results, strict=True):
        torch.testing.assert_close(found, expected, rtol=0, atol=0, equal_nan=True)


@pytest.mark.usefixtures("eager_to_apply")
def test_second_derivatives_in_bf16():
    conv, x = Conv2d(16, 16, 3), pictures(2, 16, 5, 5).bfloat16().requires_grad_()
    with torch.autocast("cpu", torch.bfloat16):
        (slope,) = torch.autograd.grad(conv(x).float().square().sum(), conv.weight, create_graph=True)
    (second,) = torch.autograd.grad(slope.square().sum(), conv.weight)
    assert slope.dtype is second.dtype is torch.float32
    weight = conv.weight.detach().requires_grad_()
    y = nn.functional.conv2d(x.detach().float(), weight, padding=1)
    (expected,) = torch.autograd.grad(y.square().sum(), weight, create_graph=True)
    assert (slope - expected).abs().max() < 0.02 * expected.std()
    (expected,) = torch.autograd.grad(expected.square().sum(), weight)
    assert (second - expected).abs().max() < 0.02 * expected.std()


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_autocast_of_other_pictures(dtype, calls):
    with torch.autocast("cpu", dtype):
        assert Conv2d(16, 16, 3)(pictures(2, 16, 8, 8)).dtype is dtype
    assert not calls


def test_bf16_where_it_is_faster(monkeypatch):
    monkeypatch.setattr(kernel, "_HAS_TILES", False)
    x = {channels: pictures(256, channels, 8, 8).bfloat16() for channels in (16, 32, 128, 144)}
    with torch.autocast("cpu", torch.bfloat16):
        assert [kernel.applies(x[c], Conv2d(c, 64, 3).weight) for c in x] == [False, True, True, False]
        monkeypatch.setattr(kernel, "_HAS_TILES", True)
        assert not kernel.applies(x[32], Conv2d(32, 32, 3).weight)
    assert not kernel.applies(x[32], Conv2d(32, 32, 3).weight)


def test_torch_func(calls):
    conv, x = Conv2d(16, 16, 3), pictures(2, 16, 5, 5)
    (found,) = torch.func.vjp(lambda w: torch.func.functional_call(conv, {"weight": w}, x), conv.weight)[1](
        torch.ones(2, 16, 5, 5)
    )
    conv(x).sum().backward()
    torch.testing.assert_close(found, conv.weight.grad, rtol=1e-3, atol=1e-3)
    assert len(calls) == 1


def test_resnet_trains_alike(calls):
    """One step of a ResNet, by the kernel and by torch: the loss after it."""
    x, y = pictures(8, 3, 16, 16), torch.arange(8) % 10
    losses = []
    for memory_format in (torch.channels_last, torch.contiguous_format):
        torch.manual_seed(0)
        net = cifar_resnet("resnet18", "mpu2", width=16).to(memory_format=memory_format)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
        for _ in range(2):
            loss = nn.functional.cross_entropy(net(x.contiguous(memory_format=memory_format)), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        losses.append(loss.item())
    assert len(calls) == 2 * 13
    assert losses[0] == pytest.approx(losses[1], rel=1e-3)
