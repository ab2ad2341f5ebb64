"""Which activation calls proxact.convert finds and rewrites."""

import copy
import inspect
import math
import pickle

import pytest
import torch
from convert_activations import Activations, set_angles
from convert_call_nets import (
    Alternatives,
    AlternativesOfModule,
    Attribute,
    Branches,
    Functions,
    LoopOfFunction,
    LoopOfModule,
    Methods,
    Shared,
)
from convert_cases import last
from convert_nets import Linears, Parent
from torch import nn
from torch.nn import functional as F

from proxact import MPU
from proxact.conversion import convert, revert, summary


@pytest.mark.parametrize(
    ("build", "names"),
    [
        (Functions, ["relu", *(f"relu_{i}" for i in range(1, 6)), "relu_by_another_name", "global_activation"]),
        (Methods, ["relu", "relu_1", "relu_2"]),
        (Branches, ["relu", "relu_1", "relu_2"]),
        (Alternatives, ["relu", "relu_1"]),
        (AlternativesOfModule, ["act"]),
        (LoopOfModule, ["act.0", "act.1", "act.2"]),
        (LoopOfFunction, ["relu.0", "relu.1", "relu_1"]),
        (Shared, ["relu", "relu_2"]),
        (Attribute, ["activation", "gate_1"]),
    ],
)
def test_every_call_is_its_own_site(build, names):
    torch.manual_seed(0)
    original = build()
    model, report = convert(copy.deepcopy(original), example_input=torch.randn(3, 6))
    assert sorted(site.name for site in report.replaced) == sorted(names)
    assert report.skipped == report.tied == []
    assert report.verified
    assert {site.axis for site in report.replaced} == {-1}
    assert isinstance(model, build)
    set_angles(model, 1.0)
    for training in (False, True):
        for x in (torch.randn(3, 6), -torch.rand(3, 6), 9 * torch.randn(3, 6)):  # both sides of a branch on data
            with Activations(1.0, last):
                expected = copy.deepcopy(original).train(training)(x)
            torch.testing.assert_close(model.train(training)(x), expected)
    back = revert(model)
    assert type(back) is build
    assert vars(back).keys() == vars(original).keys()
    assert back.state_dict().keys() == original.state_dict().keys()


def test_optional_arguments_and_signature_stay():
    model, _ = convert(Branches())
    mask = torch.zeros(3, 6)
    assert torch.equal(model.eval()(torch.randn(3, 6), mask=mask), mask)
    assert inspect.signature(type(model).forward) == inspect.signature(Branches.forward)
    methods, _ = convert(Methods())
    x = torch.randn(3, 6)
    torch.testing.assert_close(methods(x, scale=3.0), 3 * methods(x))


def test_new_angles_are_used():
    """Each angle of a loop changes the output on its own."""
    model, _ = convert(LoopOfModule())
    x = torch.randn(8, 6)
    before = model(x)
    for row in summary(model):
        changed = copy.deepcopy(model)
        changed.get_submodule(row.name).theta.data.fill_(0.3)
        assert (changed(x) - before).abs().max() > 1e-4


def closure():
    """A method with a free variable, super() and defaults, all of which a rewritten one must keep."""
    factor = 3.0

    class Closure(Parent):
        def forward(self, x, power=2, *, shift=0.5):
            x = F.relu(self.first(x)) * factor
            return super().twice(x) ** power + shift

    return Closure()


def test_closures_super_and_defaults_stay():
    original = closure()
    model, report = convert(copy.deepcopy(original))
    x = torch.randn(3, 6)
    assert [site.name for site in report.replaced] == ["relu"]
    assert torch.equal(model(x), original(x))
    assert torch.equal(model(x, 3, shift=1.0), original(x, 3, shift=1.0))


class Stateful(Linears):
    """Counts its calls in a buffer, an attribute and a list."""

    def __init__(self):
        super().__init__()
        self.register_buffer("steps", torch.zeros(()))
        self.calls, self.seen = 0, []

    def forward(self, x):
        self.steps.add_(1)
        self.calls += 1
        self.seen.append(x)
        return F.relu(self.first(x))


def test_no_trace_of_the_study_stays():
    model, _ = convert(Stateful())
    assert (model.steps.item(), model.calls, model.seen) == (0, 0, [])
    model, _ = convert(Stateful(), example_input=torch.randn(2, 6))
    assert model.steps.item() == 0


class PartlyUnknown(Linears):
    def __init__(self):
        super().__init__()
        self.relu = nn.ReLU()

    def forward(self, x):
        return self.relu(self.first(x)) + self.relu(x)


def test_a_shared_module_stays_where_its_axis_is_not_known():
    x = torch.randn(2, 3, 6)
    model, report = convert(PartlyUnknown(), example_input=x)
    assert [one.name for one in report.skipped] == ["relu_1"]
    assert [site.name for site in report.replaced] == ["relu"]
    assert type(model.relu_1) is nn.ReLU
    set_angles(model, 1.0)
    expected = MPU(alpha=1.0, dim=-1)(model.first(x)) + x.relu()
    torch.testing.assert_close(model(x), expected)
    assert [row.name for row in summary(model)] == ["relu"]


def test_more_passes_than_seen_share_the_last():
    model, _ = convert(LoopOfModule())
    model.layers.append(nn.Linear(6, 6))
    assert model(torch.randn(3, 6)).shape == (3, 6)


def test_source_of_a_rewritten_method_can_be_read():
    """TorchScript and tracebacks must see what runs, not what was written."""
    model, _ = convert(Shared())
    text = inspect.getsource(type(model).forward)
    assert "self.relu_2(self.second(self.relu(self.first(x))))" in text
    assert type(convert(Shared())[0]) is type(model)  # one class, so one compiled code, for all blocks
    assert type(model).__name__ == "Shared"
    assert pickle.loads(pickle.dumps(model))(torch.ones(1, 6)).shape == (1, 6)


def test_traced_graphs_keep_shared_modules_tied():
    """A GraphModule calls one module twice; its code cannot be rewritten, and the report says that they stay tied."""
    model, report = convert(torch.fx.symbolic_trace(Shared()), example_input=torch.randn(2, 6))
    assert report.tied == ["relu"]
    assert isinstance(model.relu, MPU)


def test_compiled_wrappers_recompile():
    model = torch.compile(Shared(), backend="eager")
    x = torch.randn(3, 6)
    before = model(x)
    model, report = convert(model, example_input=x)
    assert report.verified
    torch.testing.assert_close(model(x), before)
    set_angles(model, 1.2)
    assert (model(x) - before).abs().max() > 1e-3
    torch.testing.assert_close(model(x), model._orig_mod(x))


def test_scripting_sees_the_rewritten_source():
    model, _ = convert(Shared(), lambda: nn.Threshold(-math.inf, 0.0))
    x = torch.randn(3, 6)
    assert torch.equal(torch.jit.script(model)(x), model(x))
    assert (model(x) < 0).any()
