"""prox.classify on every activation of torch.nn, on the catalogue, and on functions made to deceive it."""

import math
import warnings

import pytest
import torch
from test_prox import CASES, each
from torch import nn

import proxact
from proxact import prox
from proxact.nn.leaky import Leaky


def attention():
    torch.manual_seed(0)
    layer = nn.MultiheadAttention(4, 2, dtype=torch.float64).eval()
    return lambda x: layer(x, x, x, need_weights=False)[0]


# name: (module or function, is a prox, a word of the reason, the slope or eigenvalue that decides or the range)
TABLE = {
    "Identity": (nn.Identity(), True, "", (1, 1)),
    "ReLU": (nn.ReLU(), True, "", (0, 1)),
    "ReLU inplace": (nn.ReLU(inplace=True), True, "", (0, 1)),
    "ReLU6": (nn.ReLU6(), True, "", (0, 1)),
    "Hardtanh": (nn.Hardtanh(), True, "", (0, 1)),
    "Hardtanh wide": (nn.Hardtanh(-3, 0.5), True, "", (0, 1)),
    "LeakyReLU": (nn.LeakyReLU(), True, "", (0.01, 1)),
    "LeakyReLU 1": (nn.LeakyReLU(1.0), True, "", (1, 1)),
    "LeakyReLU 0": (nn.LeakyReLU(0.0), True, "", (0, 1)),
    "LeakyReLU 1.01": (nn.LeakyReLU(1.01), False, "not 1-Lipschitz", (1, 1.01)),
    "LeakyReLU -0.01": (nn.LeakyReLU(-0.01), False, "not monotone", (-0.01, 1)),
    "PReLU": (nn.PReLU(), True, "", (0.25, 1)),
    "PReLU -0.1": (nn.PReLU(init=-0.1), False, "not monotone", (-0.1, 1)),
    "RReLU eval": (nn.RReLU().eval(), True, "", (11 / 48, 1)),
    "RReLU train": (nn.RReLU().train(), False, "not a function", None),
    "ELU": (nn.ELU(), True, "", (0, 1)),
    "ELU 0.5": (nn.ELU(0.5), True, "", (0, 1)),
    "ELU 1.0001": (nn.ELU(1.0001), False, "not 1-Lipschitz", (0, 1.0001)),
    "ELU 2": (nn.ELU(2.0), False, "not 1-Lipschitz", (0, 2)),
    "CELU": (nn.CELU(), True, "", (0, 1)),
    "CELU 3": (nn.CELU(3.0), True, "", (None, 1)),
    "SELU": (nn.SELU(), False, "not 1-Lipschitz", (0, 1.0507 * 1.6733)),
    "GELU": (nn.GELU(), False, "not monotone", (-0.1289, 1.1289)),
    "GELU tanh": (nn.GELU(approximate="tanh"), False, "not monotone", (-0.1290, 1.1290)),
    "SiLU": (nn.SiLU(), False, "not monotone", (-0.0998, 1.0998)),
    "Mish": (nn.Mish(), False, "not monotone", (-0.1125, 1.0885)),
    "Hardswish": (nn.Hardswish(), False, "not monotone", (-0.5, 1.5)),
    "Softplus": (nn.Softplus(), True, "", (0, 1)),
    "Softplus beta 3": (nn.Softplus(3.0), True, "", (0, 1)),
    "Softsign": (nn.Softsign(), True, "", (None, 1)),
    "Sigmoid": (nn.Sigmoid(), True, "", (0, 0.25)),
    "LogSigmoid": (nn.LogSigmoid(), True, "", (0, 1)),
    "Tanh": (nn.Tanh(), True, "", (0, 1)),
    "Tanhshrink": (nn.Tanhshrink(), True, "", (0, 1)),
    "Hardsigmoid": (nn.Hardsigmoid(), True, "", (0, 1 / 6)),
    "Softshrink": (nn.Softshrink(), True, "", (0, 1)),
    "Softshrink 0": (nn.Softshrink(0.0), True, "", (1, 1)),
    "Hardshrink": (nn.Hardshrink(), False, "not continuous: jumps by 0.5", None),
    "Hardshrink 0": (nn.Hardshrink(0.0), True, "", (1, 1)),
    "Threshold 0, 0": (nn.Threshold(0.0, 0.0), True, "", (0, 1)),
    "Threshold 2, 2": (nn.Threshold(2.0, 2.0), True, "", (0, 1)),
    "Threshold 0.1, 20": (nn.Threshold(0.1, 20.0), False, "not continuous: jumps by -19.9", None),
    "Threshold 0, -1": (nn.Threshold(0.0, -1.0), False, "not continuous: jumps by 1", None),
    "Softmax": (nn.Softmax(-1), True, "", (0, None)),
    "Softmin": (nn.Softmin(-1), False, "not monotone", (None, 0)),
    "LogSoftmax": (nn.LogSoftmax(-1), False, "not a gradient", None),
    "GLU": (nn.GLU(-1), False, "(4,) becomes (2,)", None),
}  # fmt: skip


@pytest.mark.parametrize("name", TABLE)
def test_activations_of_torch(name):
    f, is_prox, reason, slopes = TABLE[name]
    found = prox.classify(f)
    assert found.is_prox == is_prox == bool(found)
    assert reason in found.reason
    assert str(found).startswith("a prox" if is_prox else "no prox")
    assert (found.x is None) == is_prox
    for value, expected in zip((found.lowest, found.highest), slopes or (None, None), strict=True):
        assert expected is None or value == pytest.approx(expected, abs=1e-4)


def test_activations_of_images_and_sequences():
    assert prox.classify(nn.Softmax2d(), shape=(3, 2, 2))
    assert prox.classify(nn.PReLU(4, init=0.5), shape=(1, 4))
    assert not prox.classify(nn.PReLU(4, init=1.5), shape=(1, 4))
    found = prox.classify(attention(), shape=(3, 4))
    assert not found
    assert "not a gradient" in found.reason
    assert found.asymmetry > 0.01
    assert not prox.classify(nn.GLU(0), shape=(2, 3))


def test_none_of_torch_is_left_out():
    listed = {type(f).__name__ for f, *_ in TABLE.values()} | {"Softmax2d", "MultiheadAttention"}
    assert set(nn.modules.activation.__all__) <= listed


def test_what_was_found_is_so():
    """The point and the slope of a no, checked by autograd."""
    for f in (nn.GELU(), nn.SiLU(), nn.Mish(), nn.ELU(2.0), nn.LeakyReLU(-0.5)):
        found = prox.classify(f)
        x = found.x.clone().requires_grad_()
        f(x).backward()
        slope = found.lowest if found.lowest < -1e-3 else found.highest
        assert x.grad.item() == pytest.approx(slope, abs=1e-4)
        assert f"slope {slope:.4g}" in found.reason


@each(CASES)
def test_the_catalogue(case):
    found = prox.classify(case, shape=case.event or None)
    assert found, found.reason


def maxmin(x):
    pairs = x.reshape(-1, 2)
    return torch.stack([pairs.amax(-1), pairs.amin(-1)], -1).reshape(x.shape)


def householder(x):
    a, b = x.chunk(2)
    return torch.where(a > 0, x.view(2, -1), torch.stack([-a, b])).reshape(-1)


def rotation(x):
    """1-Lipschitz and monotone, not a gradient."""
    a, b = x
    return torch.stack([a - b, a + b]) / 2


def staircase(x):
    return x + torch.sin(50 * x) / 40


@pytest.mark.parametrize(
    ("f", "shape", "is_prox", "reason"),
    [
        (maxmin, None, False, "not monotone: the Jacobian has the eigenvalue -1"),
        (lambda x: x.sort().values, None, False, ""),
        (householder, None, False, "not monotone: the Jacobian has the eigenvalue -1"),
        (proxact.WTA(0.5), None, False, "not firmly nonexpansive"),
        (proxact.Maxout(2), None, False, "becomes"),
        (proxact.CReLU(), None, False, "becomes"),
        (lambda x: x * torch.sigmoid(x.flip(0)), None, False, ""),
        (rotation, (2,), False, "not a gradient"),
        (lambda x: -x, None, False, "not monotone: slope -1"),
        (lambda x: 1.5 * x, None, False, "not 1-Lipschitz: slope 1.5"),
        (staircase, None, False, "not monotone"),
        (torch.round, None, False, "not continuous: jumps by 1"),
        (torch.exp, None, False, "not"),
        (lambda x: (10 - x).log(), None, False, "not finite"),
        (lambda x: x.relu() + torch.tensor([0.0, 1.0, 2.0, 3.0]), None, True, "eigenvalues"),
        (lambda x: x * torch.tensor([0.5, 1.0, 0.1, 1.2]), None, False, "the eigenvalue 1.2"),
        (lambda x: x - x.mean(-1, keepdim=True), None, True, "symmetric"),
        (proxact.MPU(2), None, True, ""),
        (proxact.MPU(3, alpha=0.4), (6,), True, "symmetric"),
        (proxact.LeakyMPU(2, alpha=1.2), None, True, "symmetric"),
        (Leaky(nn.Tanh(), 0.5), None, True, ""),
        (Leaky(nn.Softmax(-1), 2.0), None, True, ""),
        (lambda x: prox.group_soft_threshold(x, 1.0), None, True, ""),
        (lambda z: (z.norm() + 0.5) * z / z.norm(), (2,), False, ""),  # modReLU with b > 0
        (lambda x: x, (2, 3), True, ""),
        (lambda x: x * math.nan, (2, 3), False, "not finite"),
    ],
)  # fmt: skip
def test_others(f, shape, is_prox, reason):
    found = prox.classify(f, shape)
    assert found.is_prox == is_prox, found.reason
    assert reason in found.reason


def test_float32():
    """For functions that cannot compute in float64; the noise of differences is allowed for."""
    for f, is_prox in ((nn.GELU(), False), (nn.Tanh(), True), (nn.Softmax(-1), True), (nn.LogSoftmax(-1), False)):
        assert prox.classify(f, dtype=torch.float32).is_prox == is_prox


def test_the_module_is_left_alone():
    module = nn.Sequential(nn.PReLU(), nn.ReLU(inplace=True)).train()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert prox.classify(module)
    assert module.training
    assert module[0].weight.dtype == torch.float32
