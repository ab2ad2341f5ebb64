"""Models in ONNX: onnxruntime computes the same, for any batch."""

import importlib
import math

import pytest
import torch
from export_cases import MODELS, turn
from torch import nn

import proxact
from proxact import MPU

FROM_EXPORTERS = [
    "ignore:`isinstance\\(treespec, LeafSpec\\)` is deprecated:FutureWarning",  # onnx exporter on torch's own pytree
]
pytestmark = [pytest.mark.filterwarnings(line) for line in FROM_EXPORTERS]


def to_onnx(model, x):
    """The graph for any batch, and what onnxruntime makes of it."""
    pytest.importorskip("onnxscript")
    runtime = pytest.importorskip("onnxruntime")
    batch = {0: torch.export.Dim("batch")}
    program = torch.onnx.export(model.eval(), (x,), dynamo=True, dynamic_shapes=(batch,), verbose=False)
    session = runtime.InferenceSession(program.model_proto.SerializeToString(), providers=["CPUExecutionProvider"])

    def run(value):
        return [torch.from_numpy(y) for y in session.run(None, {session.get_inputs()[0].name: value.numpy()})]

    return program.model_proto.graph, run


class Beside(nn.Module):
    """Modules on one input. Exporting takes seconds, so many are exported at once."""

    def __init__(self, modules):
        super().__init__()
        self.parts = nn.ModuleList(modules)

    def forward(self, x):
        return tuple(part(x) for part in self.parts)


def check_onnx(model, x, other):
    graph, run = to_onnx(model, x)
    with torch.no_grad():
        for value in (x, other):
            expected = model(value)
            expected = expected if isinstance(expected, tuple) else (expected,)
            for y, exact in zip(run(value), expected, strict=True):
                torch.testing.assert_close(y, exact, rtol=1e-5, atol=1e-5)
    return graph


def test_onnx_of_units():
    torch.manual_seed(0)
    for shape in {shape for _, shape in MODELS.values()}:
        model = turn(Beside([make() for make, its_shape in MODELS.values() if its_shape == shape]))
        check_onnx(model, 3 * torch.randn(shape), 3 * torch.randn(2, *shape[1:]))


@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float32, 1e-6), (torch.float64, 1e-14)])
@pytest.mark.parametrize("angle", [0.0, 1e-3, math.pi / 4, math.pi / 2])
def test_onnx_formula(angle, dtype, tolerance, monkeypatch):
    """The shorter formula against the kernel, at the ends of the angle too; at pi/4 it is ReLU, bit for bit."""
    x = torch.randn(1000, 12, dtype=dtype) * torch.logspace(-15, 15, 1000, dtype=dtype)[:, None]
    x[:3] = torch.tensor([0.0, 1.0, -1.0])[:, None]
    exact = {m: proxact.project.cone(x, angle, m) for m in (1, 2, 3, 6)}
    monkeypatch.setattr(importlib.import_module("proxact.project.cone"), "_is_onnx_export", lambda: True)
    for m, expected in exact.items():
        y = proxact.project.cone(x, angle, m, impl="torch")
        error = (y - expected).abs() / x.abs().amax(1, keepdim=True).clamp_min(1e-30)
        assert error.max() < tolerance, m
        if m == 2 and angle == math.pi / 4:
            assert torch.equal(y, x.relu())


def test_onnx_graph_is_small():
    """No operation for infinite entries, sines and cosines computed when exported."""
    graph, _ = to_onnx(turn(MPU()), torch.randn(2, 8, 4, 4))
    assert len(graph.node) <= 17
    graph, _ = to_onnx(turn(MPU(3)), torch.randn(2, 9, 4, 4))
    assert len(graph.node) <= 19


IN_ONNX = (
    *("wta", "crelu", "maxout", "soft_threshold", "group_soft_threshold", "modrelu", "squash", "sparsemax", "entmax"),
    *("softmax", "prelu", "asinh", "atan", "clip", "symlog", "linf_norm", "geman_mcclure", "isrlu", "isru"),
    *("nonnegative", "box", "lorentz", "rotated_lorentz", "l1_ball", "l2_ball", "linf_ball", "simplex"),
    *("cone", "halfspace", "hyperplane"),
)
ARGUMENTS = {"cone": {"alpha": 0.5, "m": 3}, "halfspace": {"a": torch.ones(12)}, "hyperplane": {"a": torch.ones(12)}}


@pytest.mark.parametrize(
    "names",
    [
        ("wta", "crelu", "maxout", "soft_threshold", "sparsemax", "l2_ball"),
        pytest.param(IN_ONNX, marks=pytest.mark.slow),
    ],
    ids=["some", "all"],
)
def test_onnx_of_other_activations(names):
    torch.manual_seed(0)
    model = Beside(proxact.get(name, dim=1, **ARGUMENTS.get(name, {})) for name in names)
    check_onnx(model, 2 * torch.randn(5, 12), 2 * torch.randn(3, 12))


@pytest.mark.slow
@pytest.mark.parametrize(("name", "arguments"), [("polyhedron", {"H": torch.eye(3), "r": 1.0}), ("exponential", {})])
def test_solvers_do_not_go_into_onnx(name, arguments):
    """They iterate until they have converged, in operations that ONNX has not."""
    with pytest.raises(torch.onnx.errors.OnnxExporterError, match="Failed to convert"):
        to_onnx(proxact.get(name, **arguments), torch.randn(4, 3))


def build_resnet18():
    """torchvision's network with an MPU at each of the 17 places where it calls its 9 ReLUs."""
    resnet = pytest.importorskip("torchvision.models.resnet")

    class Block(resnet.BasicBlock):
        def __init__(self, *args, **kwargs):
            super().__init__(*args, **kwargs)
            self.relu, self.relu2 = MPU(), MPU()

        def forward(self, x):
            y = self.bn2(self.conv2(self.relu(self.bn1(self.conv1(x)))))
            return self.relu2(y + (x if self.downsample is None else self.downsample(x)))

    model = resnet.ResNet(Block, [2, 2, 2, 2], num_classes=10)
    model.relu = MPU()
    return model


def convert_resnet18():
    models = pytest.importorskip("torchvision.models")
    conversion = pytest.importorskip("proxact.conversion")
    model, _ = conversion.convert(models.resnet18(num_classes=10), example_input=torch.randn(2, 3, 32, 32))
    return model


@pytest.mark.slow
@pytest.mark.parametrize("make", [build_resnet18, convert_resnet18])
def test_onnx_of_resnet18(make):
    torch.manual_seed(0)
    model = turn(make())
    assert sum(isinstance(module, MPU) for module in model.modules()) == 17
    graph = check_onnx(model, torch.randn(2, 3, 32, 32), torch.randn(3, 3, 32, 32))
    assert sum(node.op_type == "Relu" for node in graph.node) == 17  # one for each unit: none was left out


@pytest.mark.parametrize("m", [2, 3])
def test_transformer_layer(m):
    """In eval mode too, where torch has a shortcut for ReLU and GELU that would leave out the activation."""
    torch.manual_seed(0)
    unit = turn(MPU(m, dim=-1))
    layer = nn.TransformerEncoderLayer(16, 2, 24, dropout=0.0, activation=unit, batch_first=True)
    x, other = torch.randn(4, 5, 16), torch.randn(2, 5, 16)
    trained = layer(x)
    layer.eval()
    with torch.no_grad():
        torch.testing.assert_close(layer(x), trained)
        before = layer(x)
        unit.theta += 0.1
        assert (layer(x) - before).abs().max() > 1e-3
    check_onnx(layer, x, other)
