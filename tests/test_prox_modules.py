"""Proxes as layers, and parameters that stay in their ranges."""

import copy
import pickle

import pytest
import torch
from test_prox import CASES, each
from torch import nn

from proxact import prox
from proxact.nn.prox import Prox
from proxact.nn.proxes import Entmax, GroupSoftThreshold, ModReLU, SoftThreshold, Sparsemax, Squash


@each([case for case in CASES if case.entry is not prox.psd])
def test_every_entry_is_a_layer(case):
    x = case.points(5).float()
    params = {k: v.float() if isinstance(v, torch.Tensor) else v for k, v in case.params.items()}
    layer = Prox(case.entry.__name__, dim=None if case.entry.is_elementwise else -1, **params)
    torch.testing.assert_close(layer(x), case(x))
    assert list(layer.parameters()) == []


def test_values():
    x = torch.randn(4, 6, 3, 3)
    torch.testing.assert_close(SoftThreshold(0.3)(x), nn.functional.softshrink(x, 0.3))
    torch.testing.assert_close(Sparsemax(1)(x), prox.sparsemax(x, dim=1))
    torch.testing.assert_close(Entmax(1, 1.3)(x), prox.entmax(x, 1.3, dim=1))
    torch.testing.assert_close(Entmax(1, 1.3, learnable=True)(x), prox.entmax(x, 1.3, dim=1))
    groups = x.unflatten(1, (2, 3))
    torch.testing.assert_close(
        GroupSoftThreshold(3, 0.8)(x), prox.group_soft_threshold(groups, 0.8, dim=2).flatten(1, 2)
    )
    torch.testing.assert_close(Squash(3)(x), prox.squash(groups, dim=2).flatten(1, 2))
    torch.testing.assert_close(Squash(dim=1)(x), prox.squash(x, dim=1))
    torch.testing.assert_close(ModReLU(-0.3)(x), prox.modrelu(x.unflatten(1, (3, 2)), -0.3, dim=2).flatten(1, 2))


def test_complex_numbers():
    z = torch.randn(5, 4, 2, 2, dtype=torch.cfloat)
    expected = torch.polar((z.abs() - 0.4).relu(), z.angle())
    torch.testing.assert_close(ModReLU(-0.4)(z), expected)
    layer = ModReLU(-0.4, num_parameters=4)
    torch.testing.assert_close(layer(z), expected)
    layer(z).abs().sum().backward()
    assert (layer.b.grad > 0).all()


def test_one_parameter_for_each_channel_or_group():
    x = torch.randn(2, 6, 4, 4)
    layer = SoftThreshold(0.3, num_parameters=6)
    with torch.no_grad():
        layer.lam.copy_(torch.arange(6) / 10)
    for i in range(6):
        torch.testing.assert_close(layer(x)[:, i], prox.soft_threshold(x[:, i], i / 10))
    group = GroupSoftThreshold(2, 0.3, num_parameters=3)
    with torch.no_grad():
        group.lam.copy_(torch.tensor([0.1, 0.5, 2.0]))
    for i, lam in enumerate((0.1, 0.5, 2.0)):
        part = slice(2 * i, 2 * i + 2)
        torch.testing.assert_close(group(x)[:, part], prox.group_soft_threshold(x[:, part], lam, dim=1))
    layer(x).sum().backward()
    group(x).square().sum().backward()
    assert layer.lam.grad.shape == (6,)
    assert (group.lam.grad < 0).all()


RANGED = [
    (SoftThreshold, {}, "lam", 0.0, None),
    (GroupSoftThreshold, {}, "lam", 0.0, None),
    (ModReLU, {}, "b", None, 0.0),
    (Entmax, {"learnable": True}, "alpha", 1.0, 2.0),
    (Prox, {"entry": "leaky_relu", "a": 0.2, "learnable": "a"}, "a", 2**-7, 1.0),
    (Prox, {"entry": "atan", "c": 1.0, "learnable": "c"}, "c", 2**-7, torch.pi / 2),
    (Prox, {"entry": "squash", "mu": 1.0, "learnable": ["mu"]}, "mu", 2**-7, 8 / 27**0.5),
]


@pytest.mark.parametrize(("module", "options", "name", "low", "high"), RANGED)
@pytest.mark.parametrize("kind", ["new", "copied", "pickled", "loaded", "moved", "given"])
def test_parameters_stay_in_range_whatever_the_optimiser_does(module, options, name, low, high, kind):
    layer = module(**options)
    if kind == "copied":
        layer = copy.deepcopy(layer)
    elif kind == "pickled":
        layer = pickle.loads(pickle.dumps(layer))
    elif kind == "loaded":
        other = module(**options)
        other.load_state_dict(layer.state_dict(), assign=True)
        layer = other
    elif kind == "moved":
        layer = layer.double().float()
    elif kind == "given":
        setattr(layer, name, nn.Parameter(getattr(layer, name).detach().clone()))
    x = torch.randn(3, 4, generator=torch.Generator().manual_seed(1)) / 2  # no vector with a single winner
    for beyond, end in ((-1e6, low), (1e6, high)):
        if end is None:
            continue
        with torch.no_grad():
            getattr(layer, name).fill_(beyond)  # an absurd step
        y = layer(x)
        assert y.isfinite().all()
        assert layer.ranged(name).item() == pytest.approx(end)
        y.square().sum().backward()
        assert getattr(layer, name).item() == pytest.approx(end), "back at the end, not far beyond"
        assert getattr(layer, name).grad.item() != 0
        layer.zero_grad()


def test_a_threshold_can_leave_the_end_again():
    layer = SoftThreshold(0.0)
    optimiser = torch.optim.SGD(layer.parameters(), lr=0.1)
    x = torch.linspace(-2, 2, 41)
    for _ in range(100):
        optimiser.zero_grad()
        (layer(x) - prox.soft_threshold(x, 0.7)).square().mean().backward()
        optimiser.step()
    assert layer.lam.item() == pytest.approx(0.7, abs=1e-2)


def test_training_compile_half_and_repr():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(6, 8), GroupSoftThreshold(4, 0.1), nn.Linear(8, 6), SoftThreshold(0.1), Entmax(-1))
    x = torch.randn(16, 6)
    torch._dynamo.reset()
    torch.testing.assert_close(torch.compile(model, fullgraph=True, backend="eager")(x), model(x))
    model(x).square().sum().backward()
    assert all(p.grad.isfinite().all() for p in model.parameters())
    assert model.half()(x.half()).dtype == torch.float16
    assert SoftThreshold(0.25, device="meta").to_empty(device="cpu").lam.shape == (1,)
    assert repr(SoftThreshold(0.25)) == "SoftThreshold(lam=0.25)"
    assert repr(Prox("elu", a=0.5)) == "Prox(elu, a=0.5)"
    assert repr(GroupSoftThreshold(3, num_parameters=2)) == "GroupSoftThreshold(group=3, lam=(2,))"


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: Prox("gelu"), ValueError, ["entry", "gelu", "sigmoid"]),
        (lambda: Prox("elu", a=1.5), ValueError, ["a must", "(0, 1]", "1.5"]),
        (lambda: Prox("elu", learnable="a"), ValueError, ["learnable", "nothing", "'a'"]),
        (lambda: Prox("soft_threshold", lam=0.5, learnable="low"), ValueError, ["learnable", "lam", "low"]),
        (lambda: Prox("relu", group=3), ValueError, ["group must be None", "relu", "3"]),
        (lambda: Prox("atan", c=0.001, learnable="c"), ValueError, ["c must", "[0.007812, 1.571]", "0.001"]),
        (lambda: SoftThreshold(-0.1), ValueError, ["lam", "-0.1"]),
        (lambda: SoftThreshold(-0.1, learnable=False), ValueError, ["lam", "-0.1"]),
        (lambda: SoftThreshold(num_parameters=0), ValueError, ["num_parameters", "0"]),
        (lambda: Entmax(alpha=3.0), ValueError, ["alpha", "[1, 2]", "3.0"]),
        (lambda: Squash(dim="flat"), TypeError, ["dim", "flat"]),
        (lambda: Squash(2)(torch.zeros(2, 5)), ValueError, ["divisible by 2", "5"]),
        (lambda: Squash(2)(torch.zeros(2, 4, 4)), ValueError, ["dim=None", "dim=1", "dim=-1"]),
        (lambda: Squash()(torch.zeros(2, 4).long()), TypeError, ["x must", "int64"]),
        (lambda: ModReLU()([1.0]), TypeError, ["x must", "list"]),
    ],
)  # fmt: skip
def test_message(call, error, words):
    with pytest.raises(error) as caught:
        call()
    for word in words:
        assert word in str(caught.value)
