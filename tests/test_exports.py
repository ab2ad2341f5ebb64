"""Models that leave Python: torch.export, TorchScript, safetensors, compiled modules. ONNX has test_onnx.py."""

import io
import math
import warnings

import pytest
import torch
from export_cases import MODELS, turn
from torch import nn

from proxact import MPU, LeakyMPU

FROM_EXPORTERS = [
    "ignore:`isinstance\\(treespec, LeafSpec\\)` is deprecated:FutureWarning",  # onnx exporter on torch's own pytree
]
pytestmark = [pytest.mark.filterwarnings(line) for line in FROM_EXPORTERS]


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
