"""Conversion of the models of torchvision, timm and transformers, against an independent exchange of activations."""

import copy
import functools

import pytest
import torch
from convert_activations import Activations, call, count_activations, no_fast_path, set_angles, warm_up
from convert_cases import CASES, whisper, whisper_input
from torch import nn
from torch.nn import functional as F
from torch.utils._pytree import tree_leaves

from proxact.conversion import convert, param_groups, summary


def marked(slow):
    return [pytest.param(c, id=c.name, marks=[pytest.mark.slow] if slow(c) else []) for c in CASES]


@pytest.fixture(params=marked(lambda case: case.slow))
def case(request):
    torch.manual_seed(0)
    return request.param


def tensors(output):
    return [t for t in tree_leaves(output) if isinstance(t, torch.Tensor) and t.is_floating_point()]


def outputs(model, example):
    torch.manual_seed(1)  # for dropout
    return tensors(call(model, example))


def double(example):
    if isinstance(example, dict):
        return {name: double(value) for name, value in example.items()}
    return example.double() if example.is_floating_point() else example


def test_every_site_is_replaced(case):
    """As published: as many sites as a run computes activations, with and without an example; names stay."""
    model, example = case.build(), case.example()
    expected, keys = count_activations(copy.deepcopy(model), example), set(model.state_dict())
    unseen, blind = convert(copy.deepcopy(model))
    model, report = convert(model, example_input=example)
    assert len(report.replaced) == len(blind.replaced) == expected > 0
    assert report.skipped == blind.skipped == report.tied == []
    assert [s.axis for s in report.replaced] == [s.axis for s in blind.replaced]
    assert len(summary(model)) == expected
    new = {f"{site.name}.theta" for site in report.replaced}
    assert set(model.state_dict()) == set(unseen.state_dict()) == keys | new
    assert keys.isdisjoint(new)


def test_relu_is_unchanged_and_other_angles_are_as_built_by_hand(case):
    """At pi/4 the outputs stay. At 1 rad they are those of the old model with every ReLU call sent to project.cone."""
    original, example = (case.with_relu or case.build)(), case.example()
    warm_up(original, example)
    model, report = convert(copy.deepcopy(original), which=nn.ReLU, example_input=example)
    assert report.verified is True
    before, after = outputs(original.eval(), example), outputs(model.eval(), example)
    assert all((x - y).abs().max() <= 1e-5 * max(1, x.abs().max()) for x, y in zip(before, after, strict=True))

    original, model, example = original.double(), model.double(), double(example)
    set_angles(model, 1.0)
    for training in (False, True):
        original.train(training)
        model.train(training)
        with torch.no_grad(), no_fast_path():
            plain = outputs(copy.deepcopy(original), example)
            with Activations(1.0, case.axis) as mode:
                expected = outputs(copy.deepcopy(original), example)
        with torch.no_grad():
            actual = outputs(model, example)
        assert mode.count > 0
        for x, y in zip(expected, actual, strict=True):
            torch.testing.assert_close(y, x, rtol=1e-6, atol=1e-8)
        assert any((x - y).abs().max() > 1e-4 for x, y in zip(plain, actual, strict=True))


def test_channels_first_and_last_in_one_model():
    """Whisper: GELU after 1-d convolutions (axis 1 of 3) as well as after linear layers (axis -1 of 3)."""
    torch.manual_seed(0)
    original, example = whisper("gelu")().double().eval(), double(whisper_input())
    width = original.config.d_model  # of the convolutions, in no other place where GELU is computed
    with torch.no_grad(), Activations(1.0, lambda x: 1 if x.shape[1] == width else -1, {F.gelu}) as mode:
        expected = outputs(original, example)
    model, report = convert(copy.deepcopy(original), example_input=example)
    assert len(report.replaced) == mode.count == 6
    assert [site.axis for site in report.replaced] == [1, 1, -1, -1, -1, -1]
    set_angles(model, 1.0)
    for x, y in zip(expected, outputs(model, example), strict=True):
        torch.testing.assert_close(y, x, rtol=1e-6, atol=1e-8)


def test_training_step(case):
    """Every angle receives a gradient and moves, unless none of its few groups is on a side where it matters."""
    model, example = case.build(), case.example()
    warm_up(model, example)
    model, report = convert(model)
    rows, sizes = summary(model), {}
    for row in rows:
        hook = functools.partial(lambda name, module, args, output: sizes.update({name: output.numel()}), row.name)
        model.get_submodule(row.name).register_forward_hook(hook)
    optimizer = torch.optim.SGD(param_groups(model.train(), lr=1e-3, weight_decay=0.1, angle_lr=1e-2))
    loss = sum(t.square().mean() for t in tensors(call(model, example)))
    loss.backward()
    optimizer.step()
    assert len(rows) == len(report.replaced) == len(sizes)
    for row in rows:
        theta = model.get_submodule(row.name).theta
        assert theta.grad is not None, row.name
        assert theta.grad.isfinite().all(), row.name
        assert theta.item() != 0 or sizes[row.name] < 100, row.name


@pytest.mark.parametrize("case", marked(lambda case: case.slow or case.slow_to_compile))
def test_compile_and_export(case):
    """Two sites with MPU, which takes torch half a second each, the others with PReLU."""
    torch.manual_seed(0)
    model, example = (case.shallow or case.build)(), case.example()
    names = [site.name for site in convert(model, nn.PReLU, dry_run=True, untie=False)[1].replaced]
    model, _ = convert(model, include=[names[0], names[-1]], example_input=example)
    model, report = convert(model.eval(), nn.PReLU, example_input=example)
    assert report.skipped == []
    set_angles(model, 1.0)
    args, kwargs = ((), example) if isinstance(example, dict) else ((example,), None)
    with torch.no_grad():
        expected = outputs(model, example)
        compiled = outputs(torch.compile(model, backend="eager"), example)
        exported = tensors(torch.export.export(model, args, kwargs).module()(*args, **(kwargs or {})))
    for x, y, z in zip(expected, compiled, exported, strict=True):
        torch.testing.assert_close(y, x, rtol=1e-4, atol=1e-5)
        torch.testing.assert_close(z, x, rtol=1e-4, atol=1e-5)
