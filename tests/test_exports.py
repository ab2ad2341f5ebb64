"""Models that leave Python: torch.export, ONNX, TorchScript, safetensors, compiled modules."""

import importlib
import io
import math
import warnings

import pytest
import torch
from torch import nn

import proxact
from proxact import MPU, LeakyMPU

FROM_EXPORTERS = [
    "ignore:`isinstance\\(treespec, LeafSpec\\)` is deprecated:FutureWarning",  # onnx exporter on torch's own pytree
]
pytestmark = [pytest.mark.filterwarnings(line) for line in FROM_EXPORTERS]


def turn(model):
    """Angles away from pi/4, another one for each unit and group."""
    generator = torch.Generator().manual_seed(0)
    for unit in model.modules():
        if isinstance(unit, MPU):
            unit.theta.data.uniform_(-0.6, 0.6, generator=generator)
    return model


CONV, LINEAR = (5, 3, 6, 6), (5, 4, 9)
MODELS = {
    "m = 2, NCHW": (lambda: nn.Sequential(nn.Conv2d(3, 8, 3), MPU()), CONV),
    "m = 3, padded": (lambda: nn.Sequential(nn.Conv2d(3, 8, 3), MPU(3)), CONV),
    "m = 3, remainder by relu": (lambda: nn.Sequential(nn.Conv2d(3, 8, 3), MPU(3, remainder="relu")), CONV),
    "an angle for each group": (lambda: nn.Sequential(nn.Conv2d(3, 9, 3), MPU(3, num_parameters=3)), CONV),
    "split groups": (lambda: nn.Sequential(nn.Conv2d(3, 8, 3), MPU(2, grouping="split", num_parameters=4)), CONV),
    "flat": (lambda: nn.Sequential(nn.Conv2d(3, 5, 3), MPU(3, dim="flat")), CONV),
    "leaky, channels last": (lambda: nn.Sequential(nn.Linear(9, 7), LeakyMPU(2, dim=-1)), LINEAR),
    "fixed angle": (lambda: nn.Sequential(nn.Linear(9, 7), MPU(4, alpha=0.5, learnable=False, dim=-1)), LINEAR),
}


@pytest.fixture(params=MODELS)
def case(request):
    """A model, an input to export it with and another of another batch size."""
    torch.manual_seed(0)
    make, shape = MODELS[request.param]
    return turn(make()), torch.randn(shape), torch.randn(3, *shape[1:])


def test_export(case):
    """Saved and loaded, for any batch, with the values and the gradients of the model."""
    model, x, other = case
    program = torch.export.export(model, (x,), dynamic_shapes=({0: torch.export.Dim("batch")},))
    file = io.BytesIO()
    torch.export.save(program, file)
    loaded = torch.export.load(io.BytesIO(file.getvalue())).module()
    for value in (x, other):
        torch.testing.assert_close(loaded(value), model(value), rtol=1e-6, atol=1e-6)
    loaded(other).square().sum().backward()
    model(other).square().sum().backward()
    found, expected = dict(loaded.named_parameters()), dict(model.named_parameters())
    assert found.keys() == expected.keys()
    for name, parameter in expected.items():
        torch.testing.assert_close(found[name].grad, parameter.grad, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("m", [2, 3])
def test_export_keeps_infinite_entries(m):
    """The shorter formula that ONNX gets is not used here."""
    unit = turn(MPU(m))
    x = torch.tensor([[math.inf, 1.0, -2.0, math.inf, -math.inf, 3.0], [math.nan, 1.0, 2.0, -math.inf, 0.0, 5.0]])
    for is_strict in (False, True):
        program = torch.export.export(unit, (x,), strict=is_strict)
        torch.testing.assert_close(program.module()(x), unit(x), equal_nan=True)


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


@pytest.mark.parametrize("has_grad", [True, False], ids=["grad", "no grad"])
@pytest.mark.filterwarnings("ignore::torch.jit.TracerWarning", "ignore:.*torch.jit:DeprecationWarning")
def test_torchscript_trace(case, has_grad):
    """The graph holds torch's own operations, so it can be saved. Sizes but the batch's are fixed, as in any trace."""
    model, x, other = case
    with torch.set_grad_enabled(has_grad):
        traced = torch.jit.trace(model, (x,))
    file = io.BytesIO()
    torch.jit.save(traced, file)
    loaded = torch.jit.load(io.BytesIO(file.getvalue()))
    for value in (x, other):
        torch.testing.assert_close(loaded(value), model(value), rtol=1e-6, atol=1e-6)


@pytest.mark.filterwarnings("ignore:.*torch.jit:DeprecationWarning")
def test_torchscript_script():
    """Our modules are not written in its part of Python; a traced unit fits into a scripted model."""
    with pytest.raises(TypeError, match=r"use torch\.export or torch\.jit\.trace"):
        torch.jit.script(nn.Sequential(nn.Linear(4, 6), MPU()))
    x = torch.randn(5, 4)
    linear, unit = nn.Linear(4, 6), turn(MPU())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", torch.jit.TracerWarning)
        traced = torch.jit.trace(unit, (torch.randn(2, 6),))
    torch.testing.assert_close(torch.jit.script(nn.Sequential(linear, traced))(x), unit(linear(x)))


def test_safetensors(tmp_path):
    safetensors = pytest.importorskip("safetensors.torch")
    torch.manual_seed(0)

    def make():
        return nn.Sequential(nn.Linear(6, 8), MPU(2, num_parameters=4), nn.Linear(8, 9), LeakyMPU(3), nn.Linear(9, 1))

    model, other = turn(make()), make()
    safetensors.save_model(model, tmp_path / "model.safetensors")
    assert safetensors.load_model(other, tmp_path / "model.safetensors") == (set(), [])
    x = torch.randn(5, 6)
    assert torch.equal(other(x), model(x))
    check_angles_are_put_back(other, x)


@pytest.mark.parametrize("is_assigned", [False, True], ids=["", "assign"])
def test_state_dict_into_a_compiled_model(is_assigned):
    """After loading, the compiled code uses the new angles and they are still kept in their interval."""
    torch._dynamo.reset()
    torch.manual_seed(0)

    def make():
        return nn.Sequential(nn.Linear(6, 8), MPU(), nn.Linear(8, 9), MPU(3))

    x, trained = torch.randn(5, 6), turn(make())
    model = make()
    compiled = torch.compile(model, backend="aot_eager", fullgraph=True)
    compiled(x)
    compiled.load_state_dict(
        {f"_orig_mod.{name}": value for name, value in trained.state_dict().items()}, assign=is_assigned
    )
    torch.testing.assert_close(compiled(x), trained(x), rtol=1e-6, atol=1e-6)
    check_angles_are_put_back(compiled, x)
    bare = make()
    bare.load_state_dict(model.state_dict())
    torch.testing.assert_close(compiled(x), bare(x), rtol=1e-6, atol=1e-6)


def check_angles_are_put_back(model, x):
    """The gradient of an angle far outside its interval puts it back to the end."""
    units = [module for module in model.modules() if isinstance(module, MPU)]
    assert units
    for unit in units:
        unit.theta.data.fill_(3.0)
    model(x).sum().backward()
    for unit in units:
        assert unit.theta.detach().max() <= unit.limit
