"""What can be done with a converted model: files, autocast, DDP, compilers, summary, param_groups; the errors."""

import copy
import io
import math
import pickle
import re

import convert_nets
import pytest
import torch
import torch.distributed
from convert_nets import NAMES, Block, Net
from torch import nn
from torch.nn import functional as F

import proxact
from proxact import MPU
from proxact.conversion import convert, param_groups, revert, summary

model, x = convert_nets.model, convert_nets.x  # fixtures


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
