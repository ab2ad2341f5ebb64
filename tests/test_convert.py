"""proxact.convert, revert, summary and param_groups: what they promise, on small models."""

import copy
import functools
import io
import math
import pickle
import re

import pytest
import torch
import torch.distributed
from torch import nn
from torch.nn import functional as F

import proxact
from proxact import MPU, LeakyMPU
from proxact.conversion import convert, param_groups, revert, summary


class Block(nn.Module):
    """As in torchvision's ResNet: one activation for two places."""

    def __init__(self, channels):
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(channels, channels, 3, padding=1), nn.BatchNorm2d(channels)
        self.conv2, self.bn2 = nn.Conv2d(channels, channels, 3, padding=1), nn.BatchNorm2d(channels)
        self.relu = nn.ReLU(inplace=True)

    def forward(self, x):
        out = self.relu(self.bn1(self.conv1(x)))
        out = self.bn2(self.conv2(out))
        out += x
        return self.relu(out)


class Net(nn.Module):
    def __init__(self, channels=6):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, channels, 3), nn.BatchNorm2d(channels), nn.ReLU())
        self.blocks = nn.Sequential(Block(channels), Block(channels))
        self.drop, self.head, self.out = nn.Dropout(0.2), nn.Linear(channels, 7), nn.Linear(7, 3)

    def forward(self, x):
        x = self.blocks(self.stem(x)).mean((2, 3))
        return self.out(F.relu(self.drop(self.head(x))))


NAMES = ["stem.2", "blocks.0.relu", "blocks.0.relu_1", "blocks.1.relu", "blocks.1.relu_1", "relu"]


@pytest.fixture
def model():
    torch.manual_seed(0)
    return Net()


@pytest.fixture
def x():
    return torch.randn(4, 3, 8, 8)


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


class Axes(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv, self.fc, self.act = nn.Conv1d(4, 6, 1), nn.Linear(5, 6), nn.ReLU()

    def forward(self, x):
        return self.act(self.conv(x) if x.shape[1] == 4 else self.fc(x))


def test_the_data_decide_where_the_source_does_not():
    report = convert(Axes(), dry_run=True)[1]
    assert report.replaced[0].axis is None
    assert "rank of the input" in report.replaced[0].note
    assert convert(Axes(), example_input=torch.randn(2, 4, 5))[1].replaced[0].axis == 1
    assert convert(Axes(), example_input=torch.randn(2, 3, 5))[1].replaced[0].axis == -1


@pytest.mark.parametrize(
    ("between", "shape", "axis"),
    [
        (lambda x: x.permute(0, 2, 3, 1), (2, 3, 5, 5), -1),
        (lambda x: x.flatten(2), (2, 3, 5, 5), 1),
        (lambda x: x.flatten(2).transpose(1, 2), (2, 3, 5, 5), -1),
        (lambda x: x.flatten(2).transpose(1, 2).reshape(2, 5, 5, 4), (2, 3, 5, 5), -1),
        (lambda x: F.dropout(F.max_pool2d(x, 2) + 1, 0.5), (2, 3, 5, 5), 1),
        (lambda x: torch.cat([x, x], 1).clone(), (2, 3, 5, 5), 1),
        (lambda x: F.layer_norm(x, x.shape[1:]), (2, 3, 5, 5), 1),
        (lambda x: x * 2, (3, 5, 5), -3),  # without a batch axis
    ],
)
def test_axis_on_the_way_from_a_convolution(between, shape, axis):
    class Way(nn.Module):
        def __init__(self):
            super().__init__()
            self.conv, self.act = nn.Conv2d(3, 4, 1), nn.ReLU()

        def forward(self, x):
            return self.act(between(self.conv(x)))

    x = torch.randn(shape)
    report = convert(Way(), example_input=x, dry_run=True)[1]
    y = between(nn.Conv2d(3, 4, 1)(x))
    assert report.replaced[0].axis % y.ndim == axis % y.ndim
    assert report.replaced[0].channels == y.shape[axis]


def test_without_a_producer():
    class Bare(nn.Module):
        def forward(self, x):
            return F.relu(x)

    report = convert(Bare())[1]
    assert "rank of the input" in report.replaced[0].note
    assert convert(Bare(), example_input=torch.randn(2, 4))[1].replaced[0].axis == -1
    report = convert(Bare(), example_input=torch.randn(2, 4, 4))[1]
    assert "channel axis of its 3-D input cannot be told" in report.skipped[0].reason
    assert len(convert(Bare(), nn.Tanh, example_input=torch.randn(2, 4, 4))[1].replaced) == 1  # needs no axis


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


def test_copies_files_and_state_dicts(model, x):
    model, _ = convert(model.eval())
    for row in summary(model):
        model.get_submodule(row.name).theta.data.uniform_(-0.5, 0.5)
    expected = model(x)
    assert torch.equal(copy.deepcopy(model)(x), expected)
    assert torch.equal(pickle.loads(pickle.dumps(model))(x), expected)
    file = io.BytesIO()
    torch.save(model, file)
    file.seek(0)
    loaded = torch.load(file, weights_only=False)
    assert torch.equal(loaded(x), expected)
    assert type(revert(loaded).blocks[0]) is Block
    fresh, _ = convert(Net().eval())
    fresh.load_state_dict(model.state_dict())
    assert torch.equal(fresh(x), expected)
    copied = copy.deepcopy(model)
    copied.blocks[0].relu_1.theta.data.fill_(0.7)
    assert torch.equal(model(x), expected)


def test_autocast(model, x):
    model, _ = convert(model)
    with torch.autocast("cpu", torch.bfloat16):
        loss = model(x).square().sum()
    loss.backward()
    assert all(model.get_submodule(name).theta.grad.isfinite().all() for name in NAMES)


def test_distributed_data_parallel(model, x, tmp_path):
    torch.distributed.init_process_group("gloo", init_method=f"file://{tmp_path}/store", rank=0, world_size=1)
    try:
        model, _ = convert(model)
        parallel = nn.parallel.DistributedDataParallel(model)
        for _ in range(2):  # the second pass fails if a parameter went unused in the first
            parallel(x).square().sum().backward()
        assert all(model.get_submodule(name).theta.grad is not None for name in NAMES)
        report = convert(parallel, "mpu3", which=MPU)[1]
        assert report.replaced == []
        assert "before it is wrapped" in report.skipped[0].reason
    finally:
        torch.distributed.destroy_process_group()


@pytest.mark.slow
def test_inductor(model, x):
    model, _ = convert(model.eval())
    model.blocks[0].relu_1.theta.data.fill_(0.4)
    torch.testing.assert_close(torch.compile(model)(x), model(x), rtol=1e-4, atol=1e-5)


def test_summary(model):
    assert str(summary(model)) == "no activations of proxact"
    model.out = nn.Sequential(model.out, MPU(3, num_parameters=2, alpha=1.0, dim=-1))
    convert(model, "mpu2", include="stem*")
    rows = summary(model)
    assert [(row.name, row.kind, row.m, row.axis) for row in rows] == [("stem.2", "MPU", 2, 1), ("out.1", "MPU", 3, -1)]
    assert rows[0].alpha == pytest.approx((math.pi / 4,))
    assert rows[1].alpha == pytest.approx((1.0, 1.0))
    assert re.search(r"stem\.2 +MPU +2 +1 +0\.7854\n +out\.1 +MPU +3 +-1 +1\.0000 to 1\.0000 \(2\)", str(rows))


@pytest.mark.parametrize("optimizer", [torch.optim.SGD, torch.optim.AdamW, torch.optim.RMSprop])
def test_param_groups(model, x, optimizer):
    model, _ = convert(model)
    model.head.weight = nn.Parameter(model.head.weight)
    groups = param_groups(model, lr=0.1, weight_decay=0.5, angle_lr=0.02)
    angles = {model.get_submodule(name).theta for name in NAMES}
    assert [(g["lr"], g["weight_decay"]) for g in groups] == [(0.1, 0.5), (0.02, 0.0)]
    assert set(groups[1]["params"]) == angles
    listed = [p for g in groups for p in g["params"]]
    assert len(listed) == len(set(listed)) == len(list(model.parameters()))
    model(x).sum().backward()
    before = [p.detach().clone() for p in listed]
    optimizer(groups).step()
    assert all(not torch.equal(p, q) for p, q in zip(listed, before, strict=True) if p.grad.abs().max() > 1e-6)


def test_param_groups_options():
    linear = nn.Linear(3, 3)
    model = nn.Sequential(linear, nn.BatchNorm1d(3), MPU(), linear, MPU(learnable=False), proxact.nn.SoftThreshold())
    groups = param_groups(model, 0.1, 0.2, decay_norm_and_bias=False, momentum=0.9)
    assert [len(g["params"]) for g in groups] == [1, 3, 2]
    assert [g["weight_decay"] for g in groups] == [0.2, 0.0, 0.0]
    assert {g["lr"] for g in groups} == {0.1}
    assert {g["momentum"] for g in groups} == {0.9}
    assert len(param_groups(nn.Linear(2, 2), 0.1)) == 1


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: convert(F.relu), TypeError, "model must be an nn.Module, got <function relu"),
        (lambda: convert(Net(), nn.ReLU()), TypeError, "to must be a name such as 'mpu2' or a callable .*every site"),
        (lambda: convert(Net(), 3), TypeError, "to must be .* got 3"),
        (lambda: convert(Net(), "mpuu"), ValueError, "known activation, got 'mpuu'; near ones: mpu"),
        (lambda: convert(Net(), "maxout"), ValueError, "to must keep the number of channels, got 'maxout'"),
        (lambda: convert(Net(), lambda: 3), TypeError, "to must return an nn.Module, got 3"),
        (lambda: convert(Net(), which="relu"), TypeError, "which must be classes of nn.Module, .* got 'relu'"),
        (lambda: convert(Net(), which=[F.relu]), TypeError, "which must be classes"),
        (
            lambda: convert(Net(), include="layer*"),
            ValueError,
            r"include must match .* got 'layer\*'; there are: relu",
        ),
        (lambda: convert(Net(), exclude=[3]), TypeError, r"exclude must be a pattern .* got \[3\]"),
        (lambda: convert(Net(), exclude=re.compile("a")), TypeError, "exclude must be a pattern"),
        (lambda: convert(Net(), example_input=torch.ones(2)), ValueError, "example_input must be what the model takes"),
        (lambda: revert(3), TypeError, "model must be an nn.Module, got 3"),
        (lambda: summary(None), TypeError, "model must be an nn.Module, got None"),
        (lambda: param_groups(3, 0.1), TypeError, "model must be an nn.Module, got 3"),
        (lambda: param_groups(Net(), -1), ValueError, "lr must be a number >= 0, got -1"),
        (lambda: param_groups(Net(), 1, angle_lr="a"), ValueError, "angle_lr must be a number >= 0, got 'a'"),
    ],
)
def test_errors(call, error, words):
    with pytest.raises(error, match=words):
        call()


def test_a_failed_conversion_leaves_the_model(model):
    before = [type(m) for m in model.modules()]
    for wrong in (lambda: 3, lambda dim: (_ for _ in ()).throw(OSError("no"))):
        with pytest.raises((TypeError, OSError)):
            convert(model, wrong)
        assert [type(m) for m in model.modules()] == before
