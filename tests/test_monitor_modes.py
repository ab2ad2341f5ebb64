"""The monitor inside transforms, compiled models and several processes."""

import math
import subprocess
import sys

import pytest
import torch
from monitor_cases import small, train

from proxact.monitor import AngleMonitor, read_rows


def test_inside_transforms_only_angles_are_recorded():
    model = small()
    monitor = AngleMonitor(model)
    weights = dict(model.named_parameters())

    def loss(weights, x):
        return torch.func.functional_call(model, weights, (x,)).square().mean()

    torch.func.vmap(torch.func.grad(loss), (None, 0))(weights, torch.randn(3, 8))
    with pytest.warns(RuntimeWarning, match="no unit saw"):
        monitor.step()
    assert monitor.rows[0]["zero"] is None
    assert monitor.rows[0]["angle"] == pytest.approx(math.pi / 4, abs=1e-6)


@pytest.mark.parametrize("backend", ["eager", pytest.param("inductor", marks=pytest.mark.slow)])
def test_compiled_models(backend):
    """The hooks are part of the graph: no break, one graph for recorded steps and one for the others."""
    from torch._dynamo.testing import CompileCounterWithBackend

    torch._dynamo.reset()
    compiled, plain = small(), small()
    counter = CompileCounterWithBackend(backend)
    wrapped = torch.compile(compiled, backend=counter, fullgraph=True)
    monitors = AngleMonitor(wrapped, every=2), AngleMonitor(plain, every=2)
    train(wrapped, monitors[0], 6)
    train(plain, monitors[1], 6)
    assert counter.frame_count == 2
    for ours, theirs in zip(*(monitor.rows for monitor in monitors), strict=True):
        assert ours == pytest.approx(theirs, abs=1e-5)


def test_too_late_for_a_compiled_model():
    torch._dynamo.reset()
    compiled = torch.compile(small(), backend="eager")
    compiled(torch.randn(16, 8))
    late = AngleMonitor(compiled)
    compiled(torch.randn(16, 8))
    with pytest.warns(RuntimeWarning, match="make the monitor before its first forward pass"):
        late.step()


WORKER = """
import os, sys, torch
from torch import nn
import proxact
from proxact.monitor import AngleMonitor

folder, rank = sys.argv[1], int(sys.argv[2])
torch.distributed.init_process_group("gloo", init_method=f"file://{folder}/store", rank=rank, world_size=2)
torch.manual_seed(0)
model = nn.parallel.DistributedDataParallel(nn.Sequential(nn.Linear(8, 12), proxact.MPU()))
monitor = AngleMonitor(model, path=f"{folder}/angles.jsonl")
optimiser = torch.optim.SGD(model.parameters(), 0.1)
torch.manual_seed(rank)
for _ in range(3):
    optimiser.zero_grad()
    model(torch.randn(16, 8)).square().mean().backward()
    optimiser.step()
    monitor.step()
torch.save([monitor.rows, [p.detach() for p in model.parameters()]], f"{folder}/{rank}.pt")
os._exit(0)  # gloo's threads can block the ordinary end
"""


def test_distributed(tmp_path):
    """Each process watches its own batch, the first one writes, and the models stay the same."""
    workers = [subprocess.Popen([sys.executable, "-c", WORKER, str(tmp_path), str(rank)]) for rank in range(2)]
    assert [worker.wait(timeout=120) for worker in workers] == [0, 0]
    (rows, weights), (other_rows, other_weights) = (torch.load(tmp_path / f"{rank}.pt") for rank in range(2))
    assert read_rows(tmp_path / "angles.jsonl") == rows
    assert [(row["step"], row["site"]) for row in rows] == [(1, "1"), (2, "1"), (3, "1")]
    assert [row["angle"] for row in rows] == [row["angle"] for row in other_rows]
    assert [row["zero"] for row in rows] != [row["zero"] for row in other_rows]
    assert all(torch.equal(a, b) for a, b in zip(weights, other_weights, strict=True))
