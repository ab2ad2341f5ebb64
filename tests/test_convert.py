"""proxact.convert and revert: what they promise, on small models."""

import copy
import functools

import convert_nets
import pytest
import torch
import torch.distributed
from convert_nets import NAMES
from torch import nn

import proxact
from proxact import MPU, LeakyMPU
from proxact.conversion import convert, param_groups, revert, summary

model, x = convert_nets.model, convert_nets.x  # fixtures


def same_state(first, second):
    assert first.state_dict().keys() == second.state_dict().keys()
    for key, value in first.state_dict().items():
        assert torch.equal(value, second.state_dict()[key]), key


def test_in_place_and_reported(model, x):
    keys, children = set(model.state_dict()), [model.stem, model.blocks[0], model.head]
    expected = model.eval()(x)
    same, report = convert(model, example_input=x)
    assert same is model
    assert [model.stem, model.blocks[0], model.head] == children
    assert sorted(site.name for site in report.replaced) == sorted(NAMES)
    assert {site.name: site.axis for site in report.replaced} == {name: -1 if name == "relu" else 1 for name in NAMES}
    assert {site.channels for site in report.replaced} == {6, 7}
    assert {(u.shared, u.sites) for u in report.untied} == {
        (f"blocks.{i}.relu", (f"blocks.{i}.relu", f"blocks.{i}.relu_1")) for i in range(2)
    }
    assert report.verified is True
    assert keys < set(model.state_dict())
    torch.testing.assert_close(model(x), expected, rtol=0, atol=1e-5)
    text = str(report)
    assert all(name in text for name in NAMES)
    assert "7 channels are no multiple of 2: padded" in text
    assert "unchanged" in text


def test_dry_run_changes_nothing(model, x):
    before, classes = copy.deepcopy(model), [type(m) for m in model.modules()]
    attributes = {name: dict(vars(module)) for name, module in model.named_modules()}
    same, report = convert(model, example_input=x, dry_run=True)
    assert same is model
    assert report.verified is None
    assert len(report.replaced) == len(NAMES)
    assert "would replace 6 sites" in str(report)
    assert [type(m) for m in model.modules()] == classes
    assert {name: dict(vars(module)) for name, module in model.named_modules()} == attributes
    same_state(model, before)
    real = convert(model, example_input=x)[1]
    assert real.replaced == report.replaced
    assert real.untied == report.untied


def test_model_keeps_mode_statistics_and_random_state(model, x):
    model.train()
    model.blocks[0].eval()
    modes, before = [m.training for m in model.modules()], copy.deepcopy(model)
    random = torch.get_rng_state()
    convert(model, nn.Identity, example_input=x)
    assert torch.equal(torch.get_rng_state(), random)
    assert [m.training for m in model.modules() if type(m) is not nn.Identity][: len(modes)]
    assert model.blocks[0].relu_1.training is False
    assert model.stem[2].training is True
    same_state(model, before)


def test_revert_puts_everything_back(model, x):
    before = copy.deepcopy(model)
    activations = [model.stem[2], model.blocks[0].relu]
    attributes = [set(vars(m)) for m in model.modules()]
    convert(model, "mpu3", example_input=x)
    convert(model, "mpu2", which=(MPU,), include="blocks.*")
    assert {row.m for row in summary(model)} == {2, 3}
    assert revert(model) is model
    assert [model.stem[2], model.blocks[0].relu] == activations
    assert [set(vars(m)) for m in model.modules()] == attributes
    assert [type(m) for m in model.modules()] == [type(m) for m in before.modules()]
    same_state(model, before)
    assert torch.equal(model.eval()(x), before.eval()(x))
    assert revert(model) is model  # nothing to do


def test_revert_moves_learnt_activations():
    model, _ = convert(nn.Sequential(nn.Linear(4, 4), nn.PReLU()))
    model.double().eval()
    assert "1.weight" not in model.state_dict()
    back = revert(model)
    assert back[1].weight.dtype == torch.float64
    assert not back[1].training


def test_root_activation():
    activation = nn.ReLU()
    unchanged, report = convert(activation, dry_run=True)
    assert unchanged is activation
    new, report = convert(activation, example_input=torch.randn(3, 4))
    assert isinstance(new, MPU)
    assert report.verified
    assert [site.name for site in report.replaced] == ["(root)"]
    assert revert(new) is activation
    kept, report = convert(nn.ReLU(), example_input=torch.randn(2, 3, 4))
    assert isinstance(kept, nn.ReLU)
    assert "3-D" in report.skipped[0].reason


def test_include_and_exclude(model, x):
    report = convert(model, include=["blocks.*", "stem.2"], exclude="*.1.relu", example_input=x)[1]
    assert [site.name for site in report.replaced] == ["stem.2", "blocks.0.relu", "blocks.0.relu_1", "blocks.1.relu_1"]
    assert sorted(one.name for one in report.skipped) == ["blocks.1.relu", "relu"]
    assert type(model.blocks[1].relu) is nn.ReLU  # the first call keeps it, the second has its own
    assert isinstance(model.blocks[1].relu_1, MPU)
    torch.manual_seed(1)
    model.eval()
    for row in summary(model):
        model.get_submodule(row.name).theta.data.fill_(0.5)
    seen = []
    for name in ("relu", "relu_1"):
        model.blocks[1].get_submodule(name).register_forward_hook(lambda m, i, o: seen.append(type(m)))
    model(x)
    assert seen == [nn.ReLU, MPU]
    assert len(convert(model, example_input=x)[1].replaced) == 2  # the rest, in a second go
    assert sorted(row.name for row in summary(model)) == sorted(NAMES)


def test_tied_on_request(model):
    before = len(list(model.parameters()))
    model, report = convert(model, untie=False)
    assert len(report.replaced) == 4
    assert report.untied == []
    assert report.tied == ["blocks.0.relu", "blocks.1.relu"]
    assert "one activation serves several calls" in str(report)
    assert len(list(model.parameters())) == before + 4


@pytest.mark.parametrize("untie", [False, True])
def test_one_module_in_several_places(untie):
    activation = nn.ReLU()
    model = nn.Sequential(nn.Linear(4, 4), activation, nn.Sequential(nn.Linear(4, 4), activation))
    model, report = convert(model, untie=untie, example_input=torch.randn(2, 4))
    assert len(report.replaced) == 2
    assert (model[1] is model[2][1]) is not untie
    assert [u.sites for u in report.untied] == ([("1", "2.1")] if untie else [])
    assert len(param_groups(model, lr=0.1)[-1]["params"]) == (2 if untie else 1)


def test_only_the_kinds_asked_for(x):
    class Gated(nn.Module):
        def __init__(self):
            super().__init__()
            self.fc, self.gate, self.glu = nn.Linear(4, 8), nn.Sigmoid(), nn.GLU()
            self.lstm = nn.LSTM(4, 4)

        def forward(self, x):
            x = self.glu(self.fc(x)) * self.gate(x)
            return torch.tanh(self.lstm(x)[0]).softmax(-1)

    report = convert(Gated(), example_input=torch.randn(2, 4))[1]
    assert report.replaced == report.skipped == []
    assert report.left == {"Sigmoid": 1, "GLU": 1}
    assert "GLU (1), Sigmoid (1)" in str(report)
    mixed = nn.Sequential(nn.Linear(4, 4), nn.GELU(), nn.Linear(4, 4), nn.ReLU(), nn.Tanh())
    assert [s.was for s in convert(copy.deepcopy(mixed), which=nn.GELU)[1].replaced] == ["GELU"]
    assert [s.was for s in convert(copy.deepcopy(mixed), which=[nn.Tanh, nn.ReLU])[1].replaced] == ["ReLU", "Tanh"]
    report = convert(mixed, example_input=torch.randn(2, 4))[1]
    assert report.verified is None
    assert "expected to change" in str(report)


@pytest.mark.parametrize(
    ("to", "kind"),
    [
        ("mpu", MPU),
        ("leaky-mpu3", LeakyMPU),
        (MPU, MPU),
        (functools.partial(MPU, 3, learnable=False), MPU),
        (lambda dim: MPU(4, dim=dim), MPU),
        (nn.Tanh, nn.Tanh),
        ("gelu", nn.GELU),
        ("wta", proxact.WTA),
    ],
)
def test_targets(model, x, to, kind):
    model, report = convert(model, to, example_input=x)
    assert len(report.replaced) == 6
    assert all(type(model.get_submodule(name)) is kind for name in NAMES)
    if hasattr(model.relu, "dim"):
        assert [model.get_submodule(name).dim for name in NAMES] == [1, 1, 1, 1, 1, -1]
    assert len(summary(model)) == 6
    assert model(x).shape == (4, 3)
    assert type(revert(model).stem[2]) is nn.ReLU


def test_a_chosen_dim_is_kept(model):
    convert(model, functools.partial(MPU, dim="flat"))
    assert model.relu.dim == "flat"


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float64])
def test_device_and_dtype_follow_the_neighbours(dtype):
    model = nn.Sequential(nn.Linear(4, 4).to(dtype), nn.ReLU(), nn.Linear(4, 4, device="meta"), nn.ReLU())
    convert(model)
    assert model[1].theta.dtype == dtype
    assert model[1].theta.device.type == "cpu"
    assert model[3].theta.device.type == "meta"
    assert "alpha" in str(summary(model))
    model = nn.Sequential(nn.Linear(4, 4), nn.ReLU()).to(dtype)
    assert convert(model, example_input=torch.ones(1, 4, dtype=dtype))[1].verified


def test_verification_notices_a_difference():
    """A model that relies on its activation to work in place is put back."""

    class Relies(nn.Module):
        def __init__(self):
            super().__init__()
            self.fc, self.act = nn.Linear(4, 4), nn.ReLU(inplace=True)

        def forward(self, x):
            x = self.fc(x)
            y = self.act(x)
            return x + y

    model, example = Relies(), torch.randn(8, 4)
    with pytest.raises(RuntimeError, match="was put back"):
        convert(model, example_input=example)
    assert type(model.act) is nn.ReLU
    report = convert(model, example_input=example, verify=False)[1]
    assert report.verified is None
    assert isinstance(model.act, MPU)
    assert convert(nn.Sequential(nn.ReLU()))[1].verification == "not compared: no example_input"
