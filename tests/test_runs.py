"""Run folders survive being killed, torn and used twice."""

import importlib.util
import json
import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import torch

from proxact.experiments.runs import Interrupted, Run, RunError, read_summaries, write_atomically

KEYS = {
    "experiment",
    "activation",
    "seed",
    "config",
    "metrics",
    "curve",
    "commit",
    "versions",
    "machine",
    "date",
    "wall_seconds",
}


def open_run(folder, **config):
    return Run(folder, "test", "relu", 1, {"steps": 5, **config})


def count_up(folder, until=5, stop_after=None):
    """A job whose state is one tensor."""
    with open_run(folder) as run:
        if run.is_finished:
            return run.summary
        state = run.load() or {"step": 0, "x": torch.zeros(3)}
        while state["step"] < until:
            state = {"step": state["step"] + 1, "x": state["x"] + 1}
            run.log({"step": state["step"], "sum": state["x"].sum().item()})
            run.save(state)
            if state["step"] == stop_after:
                raise KeyError("killed")
        return run.finish({"sum": state["x"].sum().item()})


def same(first, second):
    return {**first, "wall_seconds": 0} == {**second, "wall_seconds": 0}


def test_a_finished_run_has_everything_and_is_not_run_again(tmp_path):
    summary = count_up(tmp_path)
    assert set(summary) == KEYS
    assert summary["metrics"] == {"sum": 15.0}
    assert summary["curve"] == [json.loads(line) for line in (tmp_path / "metrics.jsonl").read_text().splitlines()]
    names = {path.name for path in tmp_path.iterdir()}
    assert {"config.json", "metrics.jsonl", "summary.json", "env.json"} <= names
    if importlib.util.find_spec("tensorboard"):
        assert list((tmp_path / "tensorboard").glob("events*"))
    assert not any(name.startswith("checkpoint") for name in names)
    assert set(json.loads((tmp_path / "env.json").read_text())) >= {"commit", "versions", "machine", "wall_seconds"}
    before = (tmp_path / "summary.json").stat().st_mtime_ns
    assert count_up(tmp_path) == summary
    assert (tmp_path / "summary.json").stat().st_mtime_ns == before
    assert read_summaries([tmp_path]) == [{**summary, "folder": tmp_path}]
    (tmp_path / "copy").mkdir()
    (tmp_path / "copy/summary.json").write_text((tmp_path / "summary.json").read_text())
    assert len(read_summaries([tmp_path])) == 1  # a copy is no second seed


def test_it_goes_on_where_it_stopped(tmp_path):
    whole = count_up(tmp_path / "whole")
    with pytest.raises(KeyError):
        count_up(tmp_path / "broken", stop_after=3)
    with (tmp_path / "broken" / "metrics.jsonl").open("a") as file:
        file.write('{"step": 4, "sum')  # a row that was being written
    assert same(count_up(tmp_path / "broken"), whole)


@pytest.mark.parametrize("damage", ["torn", "flipped", "empty", "missing"])
def test_a_damaged_checkpoint_is_noticed(tmp_path, damage, capsys):
    whole = count_up(tmp_path / "whole")
    with pytest.raises(KeyError):
        count_up(tmp_path / "broken", stop_after=3)
    path = tmp_path / "broken" / "checkpoint"
    content = bytearray(path.read_bytes())
    if damage == "missing":
        path.unlink()
    elif damage == "flipped":
        content[len(content) // 2] ^= 1
        path.write_bytes(content)
    else:
        path.write_bytes(content[: len(content) // 2] if damage == "torn" else b"")
    with open_run(tmp_path / "broken") as run:
        assert run.load()["step"] == 2
    assert ("damaged" in capsys.readouterr().out) == (damage != "missing")
    assert same(count_up(tmp_path / "broken"), whole)


def test_checkpoints_execute_no_code(tmp_path):
    class Evil:
        def __reduce__(self):
            return os.system, ("echo executed",)

    with open_run(tmp_path) as run:
        run.save({"x": Evil()})
        with pytest.raises(Exception, match=r"weights_only|Unsupported"):
            run.load()


def test_another_configuration_is_refused(tmp_path):
    count_up(tmp_path)
    with pytest.raises(RunError, match=r"another configuration \(steps: 5 there, 6 now\)"), open_run(tmp_path, steps=6):
        pass


def test_two_processes_on_one_folder(tmp_path):
    script = (
        "import sys, time; from pathlib import Path; from proxact.experiments.runs import Run\n"
        "with Run(Path(sys.argv[1]), 'test', 'relu', 1, {'steps': 5}): print('held', flush=True); time.sleep(60)"
    )
    with subprocess.Popen([sys.executable, "-c", script, str(tmp_path)], stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout.readline() == "held\n"
        with pytest.raises(RunError, match=f"in use by process {holder.pid}"), open_run(tmp_path):
            pass
        holder.kill()
    count_up(tmp_path)  # a killed process holds nothing


def test_a_forked_process_does_not_hold_its_parents_folder(tmp_path):
    """Readers of pictures are forked; they end seconds after a trainer that was killed."""
    script = (
        "import os, sys, time; from pathlib import Path; from proxact.experiments.runs import Run\n"
        "with Run(Path(sys.argv[1]), 'test', 'relu', 1, {'steps': 5}):\n"
        "    child = os.fork()\n"
        "    if not child: time.sleep(60)\n"
        "    print(child, flush=True); time.sleep(60)"
    )
    with subprocess.Popen([sys.executable, "-c", script, str(tmp_path)], stdout=subprocess.PIPE, text=True) as holder:
        child = int(holder.stdout.readline())
        with pytest.raises(RunError, match=f"in use by process {holder.pid}"), open_run(tmp_path):
            pass
        holder.kill()
        holder.wait()
        try:
            count_up(tmp_path)
        finally:
            os.kill(child, signal.SIGKILL)


def test_ctrl_c_saves_and_says_how_to_go_on(tmp_path):
    with open_run(tmp_path) as run:
        run.load()
        run.log({"step": 1})
        os.kill(os.getpid(), signal.SIGINT)
        with pytest.raises(Interrupted, match="same command goes on"):
            run.save({"step": 1})
    with open_run(tmp_path) as run:
        assert run.load() == {"step": 1}
        assert run.rows == [{"step": 1}]


FIT = ["fit", "--activations", "mpu2", "--targets", "cone", "--widths", "2:5", "--epochs", "8", "--samples", "1000"]


def command(folder):
    arguments = [*FIT, "--test-samples", "200", "--learn-angle", "--runs", str(folder)]
    return [sys.executable, "-m", "proxact", *arguments]


def fit_summary(folder):
    return json.loads((Path(folder) / "fit/cone/mpu2-learned/summary.json").read_text())


@pytest.fixture(scope="module")
def unbroken(tmp_path_factory):
    folder = tmp_path_factory.mktemp("unbroken")
    subprocess.run(command(folder), check=True, capture_output=True)
    return fit_summary(folder)


@pytest.mark.parametrize(
    ("kill", "rows"),
    [
        (signal.SIGKILL, 4),
        (signal.SIGINT, 3),
        pytest.param(signal.SIGKILL, 1, marks=pytest.mark.slow),
        pytest.param(signal.SIGKILL, 7, marks=pytest.mark.slow),
    ],
)
def test_a_killed_fit_ends_with_the_same_numbers(tmp_path, unbroken, kill, rows):
    metrics = tmp_path / "fit/cone/mpu2-learned/metrics.jsonl"
    with subprocess.Popen(command(tmp_path), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        while not metrics.exists() or len(metrics.read_text().splitlines()) < rows:
            assert process.poll() is None, process.stderr.read()
            time.sleep(0.001)
        process.send_signal(kill)
        _, errors = process.communicate()
    assert not (metrics.parent / "summary.json").exists()
    if kill == signal.SIGINT:
        assert "The same command goes on from there" in errors
    subprocess.run(command(tmp_path), check=True, capture_output=True)
    assert same(fit_summary(tmp_path), unbroken)


def test_many_may_write_one_file(tmp_path):
    path, contents = tmp_path / "job.json", [str(i) * 1000 for i in range(200)]
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda content: write_atomically(path, content), contents))
    assert path.read_text() in contents
    assert list(tmp_path.iterdir()) == [path]


def test_half_a_checkpoint_of_a_killed_process_is_removed(tmp_path):
    (tmp_path / "checkpoint.0123.new").write_bytes(b"half")
    count_up(tmp_path)
    assert not list(tmp_path.glob("*.new"))
