"""MACs of any model: torchvision's published figures, formulas by hand, the kernel's multiplications."""

import math
import random
import re
from collections import Counter

import pytest
import torch
from torch import nn
from torch.nn import functional

import proxact
from proxact.cost import cost, register_cost, rules
from proxact.theory.operations import Counted


def on_meta(make, *shape):
    with torch.device("meta"):
        return make(), torch.empty(shape)


@pytest.mark.parametrize(
    "name", ["resnet18", "resnet50", "vgg16_bn", "mobilenet_v2", "densenet121", "convnext_tiny", "swin_t", "vit_b_16"]
)
def test_published_figures(name):
    """torchvision states them with its weights, in units of 1e9 and to three decimals."""
    models = pytest.importorskip("torchvision").models
    weights = models.get_model_weights(name)["IMAGENET1K_V1"]
    model, x = on_meta(lambda: models.get_model(name), 1, 3, 224, 224)
    assert round(cost(model, x).matmul / 1e9, 3) == weights.meta["_ops"]


class Attends(nn.Module):
    def forward(self, query, key, value):
        return functional.scaled_dot_product_attention(query, key, value)


D, H, L, B = 16, 32, 5, 3  # width, hidden width, length, batch
MATMULS = {
    "linear of one vector": (lambda: nn.Linear(D, H), [(D,)], D * H),
    "linear on four axes": (lambda: nn.Linear(D, H), [(2, 3, 4, D)], 24 * D * H),
    "bilinear": (lambda: nn.Bilinear(3, 4, 5), [(7, 3), (7, 4)], 7 * 3 * 4 * 5),
    "grouped convolution": (lambda: nn.Conv2d(4, 8, 3, groups=2), [(2, 4, 6, 6)], 2 * 16 * 8 * 2 * 9),
    "transposed convolution": (lambda: nn.ConvTranspose2d(4, 8, 3, stride=2), [(2, 4, 6, 6)], 2 * 36 * 4 * 8 * 9),
    "lstm": (lambda: nn.LSTM(D, H), [(L, B, D)], L * B * 4 * H * (D + H)),
    "gru": (lambda: nn.GRU(D, H), [(L, B, D)], L * B * 3 * H * (D + H)),
    "attention": (Attends, [(B, 2, L, 8), (B, 2, 7, 8), (B, 2, 7, 6)], B * 2 * L * 7 * (8 + 6)),
    "transformer layer": (
        lambda: nn.TransformerEncoderLayer(D, 4, H, batch_first=True),
        [(B, L, D)],
        B * L * (4 * D * D + 2 * D * H) + 2 * B * L * L * D,
    ),
}


@pytest.mark.parametrize("name", MATMULS)
@pytest.mark.parametrize("device", ["cpu", "meta"])
def test_matrix_products(name, device):
    make, shapes, expected = MATMULS[name]
    with torch.device(device):
        model, inputs = make(), tuple(torch.zeros(shape) for shape in shapes)
    found = cost(model, inputs)
    assert found.matmul == expected
    assert found == cost(model, inputs)  # a second time too


@pytest.mark.parametrize(
    ("make", "paper", "exact"),
    [
        (lambda: nn.BatchNorm2d(6), 1, 1),
        (lambda: nn.GroupNorm(2, 6), 1, 3),
        (lambda: nn.LayerNorm(7), 1, 3),
        (lambda: nn.RMSNorm(7), 1, 3),
    ],
)
@pytest.mark.parametrize("device", ["cpu", "meta"])
def test_norms(make, paper, exact, device):
    with torch.device(device):
        model, x = make(), torch.zeros(5, 6, 3, 7)
    for rule, each in (("paper", paper), ("exact", exact)):
        assert cost(model, x, rule).norm == cost(model, x, rule).total == each * x.numel()


def project(x, cos, sin, leak):
    """The formulas of the compiled kernel, for scalars that count; what depends on m and alpha alone is a constant."""
    if len(x) == 2:
        wide, narrow = math.cos(math.pi / 4 - math.acos(cos)), math.sin(math.pi / 4 - math.acos(cos))
        high, low = (x[0], x[1]) if x[1].value <= x[0].value else (x[1], x[0])
        narrow_high, wide_low, along = high * narrow, low * wide, high * wide + low * narrow
        p = along if along.value > 0 else along - along
        edges = p * ((1 - leak) * wide), p * ((1 - leak) * narrow)
        leaked = [entry * leak for entry in x]
        inside = wide_low.value > narrow_high.value
        order = edges if high is x[0] else edges[::-1]
        return [entry if inside else edge + part for entry, edge, part in zip(x, order, leaked, strict=True)]
    m = len(x)
    total = x[0]
    for entry in x[1:]:
        total = total + entry
    mean = total * (1 / m)
    h = [entry - mean for entry in x]
    squares = h[0] * h[0]
    for entry in h[1:]:
        squares = squares + entry * entry
    t = total * (1 / math.sqrt(m))
    _guard = squares + t * t  # of the range in which the formulas hold
    inverse_n = Counted(1.0, squares.tally) / squares**0.5
    n, steepness = squares * inverse_n, t * inverse_n
    P, Q = steepness * cos + sin, Counted(cos, squares.tally) - steepness * sin
    p = t * cos + n * sin
    p, P = (value if value.value > 0 else value - value for value in (p, P))
    level = p * ((1 - leak) * cos / math.sqrt(m)) + mean * leak
    slope = P * ((1 - leak) * sin) + leak
    moved = [level + slope * entry for entry in h]
    return list(x) if Q.value < 0 else moved


@pytest.mark.parametrize("m", [2, 3, 4, 8])
@pytest.mark.parametrize("leak", [0.0, 0.01])
def test_exact_counts_the_multiplications_of_the_kernel(m, leak):
    random.seed(m)
    for _ in range(20):
        values, tally = [random.gauss(0, 1) for _ in range(m)], Counter()
        y = project([Counted(value, tally) for value in values], math.cos(0.6), math.sin(0.6), leak)
        expected = proxact.project.cone(torch.tensor(values).double(), 0.6, m, leak=leak)
        torch.testing.assert_close(torch.tensor([entry.value for entry in y]).double(), expected)
        unit = proxact.MPU(m, alpha=0.6, leak=leak)
        assert cost(unit, torch.zeros(1, m), "exact").total == tally["*"] + tally["/"] + tally["sqrt"]


def test_where_the_groups_are():
    """Six rows of 7 pixels, 5 channels."""
    x = torch.zeros(3, 5, 2, 7)
    for dim, per_row, rows in ((1, 5, 3 * 14), (-1, 7, 3 * 5 * 2), ("flat", 70, 3)):
        unit = proxact.MPU(3, dim=dim)
        assert cost(unit, x, "paper").total == 3 * 5 * 2 * math.ceil(7 / 3) * (3 * 3 + 5)
        assert cost(unit, x, "exact").total == rows * math.ceil(per_row / 3) * (2 * 3 + 14)
    left_over = proxact.LeakyMPU(3, remainder="relu")  # 1 group, 2 channels by (1 - leak) relu(x) + leak x
    assert cost(left_over, x, "exact").total == 3 * 14 * (1 * 20 + 2 * 2)
    assert cost(left_over, x, "paper").total == cost(proxact.MPU(3), x).total + 2 * x.numel()


class Calls(nn.Module):
    def forward(self, x):
        return functional.leaky_relu(functional.relu(x)) + functional.gelu(x, approximate="tanh")


def test_functions_count_as_modules_do():
    x = torch.zeros(4, 5)
    assert cost(Calls(), x, "exact").activation == 20 * (0 + 1 + 7)
    for make in (nn.LeakyReLU, nn.PReLU, nn.SiLU, nn.Mish, nn.Tanh, nn.ELU, nn.Hardswish):
        assert cost(make(), x, "exact").activation > 0
    assert cost(nn.LeakyReLU(inplace=True), x).activation == 20
    assert cost(proxact.Leaky(torch.tanh), x, "exact").activation == 20 * (1 + 2)
    assert cost(proxact.Leaky(proxact.MPU()), x).activation == cost(proxact.LeakyMPU(), x).activation


class Foreign(nn.Module):
    def forward(self, x):
        return x.abs()


def test_what_has_no_count_is_named():
    model = nn.Sequential(nn.GELU(), Foreign(), nn.Linear(5, 5), proxact.get("soft_threshold"), Foreign())
    found = cost(model, torch.zeros(4, 5))
    assert found.total == found.matmul == 100
    assert "Foreign (2), SoftThreshold (1), gelu (1)" in found.notes[0]
    assert found.notes[0] in str(found)
    assert cost(nn.Sequential(nn.ReLU(), nn.Flatten(), nn.Identity()), torch.zeros(4, 5)).notes == ()


@pytest.fixture
def table(monkeypatch):
    monkeypatch.setattr(rules, "MODULES", dict(rules.MODULES))
    return rules.MODULES


def test_rules_of_users(table):
    class Wide(Foreign):
        def forward(self, x):
            return functional.leaky_relu(x)

    register_cost(Foreign, paper=3, exact=lambda module, x: x.shape[0])
    x = torch.zeros(4, 5)
    for model in (Foreign(), Wide()):  # the rule stands for the leaky ReLU inside
        assert cost(model, x).activation == 60
        assert cost(model, x, "exact").activation == 4
    register_cost(nn.GELU, paper=1)
    assert cost(nn.GELU(), x).activation == 20
    with pytest.raises(TypeError, match="kind must be a subclass"):
        register_cost(Foreign(), paper=1)
    with pytest.raises(TypeError, match=r"exact must be an int, .*got 1.5"):
        register_cost(Foreign, exact=1.5)


class Shared(nn.Module):
    """A layer used twice, once inside a block that calls a function too."""

    def __init__(self):
        super().__init__()
        self.first = nn.Linear(6, 6)
        self.block = nn.Sequential(self.first, nn.LeakyReLU())

    def forward(self, x):
        return self.block(self.first(x)) @ torch.ones(6, 2, device=x.device)


def test_rows_add_up():
    found = cost(Shared(), torch.zeros(10, 6))
    rows = {row.name: row for row in found.rows}
    assert (rows["first"].matmul, rows["first"].calls) == (2 * 360, 2)
    assert rows["(model)"].matmul == 120
    assert rows["block.1"].activation == 60
    assert "block" not in rows
    for part in ("matmul", "norm", "activation", "total"):
        assert sum(getattr(row, part) for row in found.rows) == getattr(found, part)
        assert sum(getattr(row, part) for row in found.by_kind()) == getattr(found, part)
    assert re.search(r"first +Linear +2 +720 +0 +0 +720\n", str(found))
    assert re.search(r"all +4 +840 +0 +60 +900$", str(found))


class Noisy(nn.Module):
    def forward(self, x):
        return x + torch.randn_like(x)


def test_the_model_is_left_as_it_was():
    model = nn.Sequential(nn.BatchNorm1d(6), nn.Dropout(), nn.Linear(6, 6), proxact.MPU(), Noisy(), Shared())
    model.train()
    model[1].eval()
    before = {name: value.clone() for name, value in model.state_dict().items()}
    flags = [module.training for module in model.modules()]
    random_state = torch.get_rng_state()
    cost(model, torch.ones(4, 6))
    with pytest.raises(RuntimeError):
        cost(model, torch.ones(4, 7))
    assert [module.training for module in model.modules()] == flags
    assert all(torch.equal(value, before[name]) for name, value in model.state_dict().items())
    assert torch.equal(torch.get_rng_state(), random_state)
    assert not any(module._forward_hooks or module._forward_pre_hooks for module in model.modules())
    assert torch.backends.mha.get_fastpath_enabled()
    assert torch.backends.mkldnn.enabled
    assert all(parameter.grad is None for parameter in model.parameters())


def test_inputs():
    model = nn.Bilinear(3, 4, 5)
    pair = torch.zeros(2, 3), torch.zeros(2, 4)
    assert cost(model, pair) == cost(model, list(pair)) == cost(model, {"input1": pair[0], "input2": pair[1]})
    compiled = torch.compile(nn.Sequential(nn.Linear(3, 4), proxact.MPU()))
    assert [row.kind for row in cost(compiled, pair[0]).rows] == ["Linear", "MPU"]
    with pytest.raises(ValueError, match="rule must be one of 'paper', 'exact', got 'thop'"):
        cost(model, pair, "thop")
    with pytest.raises(TypeError, match=r"model must be a torch\.nn\.Module, got function"):
        cost(functional.relu, pair)
    with pytest.raises(TypeError, match="input must be a tensor, a tuple of arguments or a dict of them, got int"):
        cost(model, 3)
