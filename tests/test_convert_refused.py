"""What proxact.convert says of the calls that it cannot replace."""

import pytest
import torch
from convert_nets import Linears, Parent
from torch import nn
from torch.nn import functional as F

from proxact.conversion import convert


def helper(x):
    return F.relu(x)


class Helper(Linears):
    def forward(self, x):
        return helper(self.first(x))


class Value(Linears):
    def forward(self, x):
        act = F.relu if x.ndim == 2 else F.gelu
        return act(self.first(x))


class Hidden(Linears):
    def forward(self, x):
        return getattr(F, "re" + "lu")(self.first(x))


class Dropped(Linears):
    def __init__(self):
        super().__init__()
        self.act = nn.ReLU(inplace=True)

    def forward(self, x):
        x = self.first(x)
        self.act(x)
        x = self.second(x)
        F.relu_(x)
        return x


class Child(Parent):
    def forward(self, x):
        return super().forward(x) + 1


class Plain(Linears):
    def __init__(self):
        super().__init__()
        self.acts = [nn.ReLU(), nn.ReLU()]
        self.double = lambda x: 2 * F.relu(x)

    def forward(self, x):
        return self.double(self.acts[0](self.first(x)))


class Starred(Linears):
    def forward(self, *args):
        return F.relu(*args)


class Static(Linears):
    @staticmethod
    def act(x):
        return F.relu(x)

    def forward(self, x):
        return self.act(self.first(x))


def with_own_forward():
    model = Linears()
    model.forward = lambda x: F.relu(model.first(x))
    return model


def without_source():
    namespace = {"F": F, "Linears": Linears}
    exec("class Typed(Linears):\n    def forward(self, x):\n        return F.relu(self.first(x))", namespace)
    return namespace["Typed"]()


@pytest.mark.parametrize(
    ("build", "reasons"),
    [
        (Helper, ["a function outside the class"]),
        (Value, ["used as a value", "used as a value"]),
        (Dropped, ["its result is dropped", "its result is dropped"]),
        (Child, ["a method of a parent class"]),
        (Plain, ["a function in an attribute", "in a plain list"]),
        (Starred, ["arguments are not plain"]),
        (Static, ["a staticmethod"]),
        (with_own_forward, ["set on the instance"]),
        (without_source, ["no source to rewrite"]),
        (lambda: torch.fx.symbolic_trace(Parent()), ["convert the model it was made from"]),
    ],
    ids=lambda value: getattr(value, "__name__", None) or str(value),
)
@pytest.mark.parametrize("with_example", [False, True])
def test_what_cannot_be_replaced_is_listed(build, reasons, with_example):
    model = build()
    before, cls = set(model.state_dict()), type(model)
    example = torch.randn(2, 6) if with_example else None
    model, report = convert(model, example_input=example)
    assert report.replaced == []
    assert len(report.skipped) == len(reasons)
    for one, reason in zip(report.skipped, reasons, strict=True):
        assert reason in one.reason
        assert one.name in str(report)
        assert one.reason in str(report)
    assert set(model.state_dict()) == before
    assert type(model) is cls


def test_an_example_shows_what_no_source_does():
    assert convert(Hidden())[1].skipped == []
    (one,) = convert(nn.Sequential(Hidden()), example_input=torch.randn(2, 6))[1].skipped
    assert (one.name, one.what) == ("0", "relu")


def test_partly_replaceable():
    report = convert(nn.Sequential(Parent(), Helper(), nn.ReLU()), example_input=torch.randn(2, 6))[1]
    assert [site.name for site in report.replaced] == ["2", "0.relu"]
    assert [one.name for one in report.skipped] == ["1"]
    assert report.verified


@pytest.mark.filterwarnings("ignore:`torch.jit:DeprecationWarning")
def test_script_modules_are_listed():
    scripted = torch.jit.script(nn.Sequential(nn.Linear(6, 6), nn.ReLU()))
    model = nn.Sequential(scripted, nn.Linear(6, 6), nn.ReLU())
    report = convert(model, example_input=torch.randn(2, 6))[1]
    assert [one.name for one in report.skipped] == ["0"]
    assert "TorchScript" in report.skipped[0].reason
    assert [site.name for site in report.replaced] == ["2"]


def test_quantised_relu_is_listed():
    quantised = torch.ao.nn.quantized.ReLU6()
    report = convert(nn.Sequential(quantised, nn.ReLU()), example_input=None)[1]
    assert "quantised" in report.skipped[0].reason
    assert len(report.replaced) == 1
