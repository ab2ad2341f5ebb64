"""The monitor sees what happens and changes nothing."""

import contextlib
import copy
import io
import math

import pytest
import torch
from monitor_cases import small, train
from torch import nn

import proxact
from proxact.monitor import AngleMonitor, CollapseWarning, draw, read_rows, regions


def by_projection(unit, x):
    """Inside, zero and alive from the definition: projecting changes nothing, or leaves nothing."""
    if unit.dim == "flat":
        x = x.flatten(1)
        dim = 1
    else:
        dim = unit.dim if unit.dim is not None else (1 if x.ndim == 4 else -1)
    rows = x.double().movedim(dim, -1).reshape(-1, x.shape[dim])
    y = proxact.project.cone(rows, unit.alpha.detach().double(), unit.m, -1, unit.remainder, unit.grouping)
    groups = -(-rows.shape[1] // unit.m) if unit.remainder == "pad" else rows.shape[1] // unit.m
    inside = zero = 0
    alive = [False] * groups
    for group in range(groups):
        if unit.grouping == "adjacent":
            members = [group * unit.m + i for i in range(unit.m) if group * unit.m + i < rows.shape[1]]
        else:
            members = [i * groups + group for i in range(unit.m) if i * groups + group < rows.shape[1]]
        for before, after in zip(rows[:, members], y[:, members], strict=True):
            inside += torch.equal(before, after) and bool((before != 0).any())
            is_zero = not after.any()
            zero += is_zero
            alive[group] |= not is_zero
    return inside, zero, groups * rows.shape[0], alive


@pytest.mark.parametrize(
    ("shape", "arguments"),
    [
        ((6, 12), {"m": 2}),
        ((6, 12), {"m": 3, "alpha": 1.1}),
        ((6, 12), {"m": 4, "alpha": 0.3, "grouping": "split"}),
        ((6, 12), {"m": 2, "learnable": False, "alpha": 0.0}),
        ((6, 12), {"m": 2, "learnable": False, "alpha": math.pi / 2}),
        ((6, 12), {"m": 3, "num_parameters": 4}),
        ((6, 11), {"m": 3, "remainder": "relu"}),
        ((6, 11), {"m": 3, "remainder": "pad"}),
        ((6, 2), {"m": 3, "remainder": "relu"}),
        ((2, 8, 3, 5), {"m": 2, "alpha": 1.0}),
        ((2, 8, 3, 5), {"m": 3, "dim": -1}),
        ((2, 8, 3, 5), {"m": 3, "dim": "flat"}),
        ((2, 5, 8), {"m": 2, "alpha": 1.0, "dim": 1, "leak": 0.01}),
    ],
)
def test_regions(shape, arguments):
    torch.manual_seed(0)
    unit = proxact.MPU(**arguments)
    if unit.theta.numel() > 1:
        unit.theta.data.uniform_(-0.7, 0.7)
    x = torch.randn(shape)
    found = regions(unit, x)
    inside, zero, groups, alive = by_projection(unit, x)
    assert (found.inside, found.zero, found.groups) == (inside, zero, groups)
    assert found.alive.tolist() == alive


def test_rows_hold_what_was_seen():
    model = small(num_parameters=6)
    monitor = AngleMonitor(model)
    train(model, monitor, 1)
    first, second = monitor.rows
    x = torch.randn(16, 8, generator=torch.Generator().manual_seed(1))
    before = small(num_parameters=6)
    inputs = [before[0](x), before[2](before[1](before[0](x)))]
    for row, name, unit, seen in zip((first, second), ("1", "3"), (before[1], before[3]), inputs, strict=True):
        inside, zero, groups, alive = by_projection(unit, seen)
        assert (row["step"], row["site"], row["m"]) == (1, name, unit.m)
        assert row["inside"] == pytest.approx(inside / groups, abs=1e-6)
        assert row["zero"] == pytest.approx(zero / groups, abs=1e-6)
        assert row["inside"] + row["surface"] + row["zero"] == pytest.approx(1, abs=2e-6)
        assert (row["groups"], row["dead"]) == (len(alive), alive.count(False))
        assert row["collapse"] is None
    after = model[1].alpha.tolist()
    assert first["angle"] == pytest.approx(sum(after) / 6, abs=1e-6)
    assert (first["angle_min"], first["angle_max"]) == pytest.approx((min(after), max(after)), abs=1e-6)
    assert min(after) < max(after)


def test_recorded_steps_and_accumulated_passes():
    model = small()
    monitor = AngleMonitor(model, every=3)
    train(model, monitor, 7)
    assert [row["step"] for row in monitor.rows] == [1, 1, 3, 3, 6, 6]
    halves, whole = AngleMonitor(model), AngleMonitor(model)
    x = torch.randn(16, 8)
    model(x[:4]), model(x[4:])
    model.eval()
    model(100 * x)  # evaluation does not count
    model.train()
    halves.step()
    whole.step()  # has seen the same two passes
    again = AngleMonitor(model)
    model(x)
    again.step()
    assert halves.rows == whole.rows == again.rows


@pytest.mark.parametrize("shape", [(40, 6), (40, 6, 2, 2)])
def test_of_a_large_batch_some_samples_are_looked_at(shape):
    unit = proxact.MPU(3)
    monitor = AngleMonitor(unit, elements=60 * math.prod(shape[2:]))
    torch.manual_seed(0)
    x = torch.randn(shape)
    unit(x)
    monitor.step()
    inside, zero, groups, _ = by_projection(unit, x[[0, 4, 8, 12, 16, 20, 24, 28, 32, 36]])
    assert monitor.rows[0]["inside"] == pytest.approx(inside / groups, abs=1e-6)
    assert monitor.rows[0]["zero"] == pytest.approx(zero / groups, abs=1e-6)
    unit(x[0] if x.ndim == 2 else x[:1])  # no batch axis; one sample
    monitor.step()
    inside, _, groups, _ = by_projection(unit, x[:1])
    assert monitor.rows[1]["inside"] == pytest.approx(inside / groups, abs=1e-6)


@pytest.mark.filterwarnings("ignore::proxact.monitor.CollapseWarning")
def test_dead_groups_are_dead_for_the_whole_window():
    unit = proxact.MPU()
    monitor = AngleMonitor(unit, window=2)
    alive, dead = torch.tensor([[1.0, 2.0, 1.0, 2.0]]), torch.tensor([[1.0, 2.0, -1.0, -2.0]])
    for x in (alive, dead, dead, alive):
        unit(x)
        monitor.step()
    assert [row["dead"] for row in monitor.rows] == [0, 0, 1, 0]


@pytest.mark.parametrize(
    ("offset", "theta", "kind", "message"),
    [
        (-5.0, 0.0, "zero", "100.0% of its groups are projected to 0"),
        (5.0, 0.0, "identity", "100.0% of its groups are inside the cone"),
        (0.0, 2.0, "angle", r"end of its interval \[0.0041, 1.5666\]"),
        (0.0, -0.78, "angle", "the cone is a ray"),
    ],
)
def test_collapse_warns_once(offset, theta, kind, message):
    unit = proxact.MPU()
    unit.theta.data.fill_(theta)
    monitor = AngleMonitor(nn.Sequential(unit))
    torch.manual_seed(0)
    x = torch.randn(400, 4).clamp(-3, 3) + offset
    unit(x)
    with pytest.warns(CollapseWarning, match=f"^0, step 1: .*{message}") as caught:
        monitor.step()
    assert caught[0].filename == __file__
    unit(x)
    monitor.step()  # warnings are errors in these tests
    assert [row["collapse"] for row in monitor.rows] == [kind, kind]


def test_a_fixed_angle_may_be_at_the_end():
    unit = proxact.MPU(3, learnable=False, alpha=math.pi / 2)
    monitor = AngleMonitor(unit)
    unit(torch.randn(100, 6))
    monitor.step()
    assert monitor.rows[0]["collapse"] is None


def test_the_file_grows_and_goes_on(tmp_path):
    model, path = small(), tmp_path / "run/angles.jsonl"
    monitor = AngleMonitor(model, path=path)
    train(model, monitor, 4)
    assert read_rows(path) == monitor.rows
    again = AngleMonitor(model, path=path, start=2)  # from a checkpoint after two steps
    assert [row["step"] for row in read_rows(path)] == [1, 1, 2, 2]
    train(model, again, 1)
    assert [row["step"] for row in read_rows(path)] == [1, 1, 2, 2, 3, 3]
    again.to_json(tmp_path / "copy.jsonl")
    assert read_rows(tmp_path / "copy.jsonl") == again.rows
    path.write_text(path.read_text()[:-9])  # killed while it wrote
    assert len(read_rows(path)) == 5
    AngleMonitor(model, path=path)
    assert path.read_text() == ""


def test_nothing_of_the_model_changes():
    watched, plain = small(), small()
    with AngleMonitor(watched, every=2) as monitor:
        train(watched, monitor, 5)
        keys = set(watched.state_dict())
        copied = copy.deepcopy(watched)
        file = io.BytesIO()
        torch.save(watched, file)
        file.seek(0)
        loaded = torch.load(file, weights_only=False)
        for other in (copied, loaded):
            assert torch.equal(other.train()(torch.ones(2, 8)), watched.eval()(torch.ones(2, 8)))
            assert other.state_dict().keys() == keys
            assert not any(hasattr(hook, "site") for hook in other[1]._forward_hooks.values())
        with pytest.warns(RuntimeWarning, match="no unit saw a forward pass"):
            monitor.step()  # the sixth, which is recorded
    quiet = contextlib.nullcontext()
    quiet.step = lambda: None
    train(plain, quiet, 5)
    assert keys == set(plain.state_dict())
    assert all(torch.equal(a, b) for a, b in zip(watched.parameters(), plain.parameters(), strict=True))
    assert not any(module._forward_hooks for module in watched.modules())
    count = len(monitor.rows)
    train(watched, monitor, 3)
    assert len(monitor.rows) == count  # closed


def test_errors():
    with pytest.raises(ValueError, match=r"at least one proxact\.MPU, got a Linear"):
        AngleMonitor(nn.Linear(2, 2))
    for wrong in ({"every": 0}, {"window": 0}, {"elements": 0}, {"start": -1}):
        with pytest.raises(ValueError, match=f"{next(iter(wrong))} must be an int"):
            AngleMonitor(proxact.MPU(), **wrong)
    with pytest.raises(ValueError, match="at least one recorded step"):
        draw(AngleMonitor(proxact.MPU()), "nowhere.png")


def test_draw(tmp_path):
    model = small(num_parameters=6)
    monitor = AngleMonitor(model, path=tmp_path / "angles.jsonl")
    train(model, monitor, 3)
    for out in (draw(monitor, tmp_path / "a.svg"), draw(tmp_path / "angles.jsonl", tmp_path / "b.svg")):
        source = out.read_text()
        for said in ("half-apex angle", "inside the cone", "projected to 0", "dead groups"):
            assert f"<!-- {said}" in source or said in source
    assert draw(monitor, tmp_path / "sub/a.png").stat().st_size > 10_000
