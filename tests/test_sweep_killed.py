"""Sweeps of real trainings: killed or stopped and started again, each run is done once and has the right numbers."""

import json
import os
import signal
import subprocess
from collections import Counter

import psutil
import pytest
import torch
from sweep_cases import SMALL, command, wait_for

from proxact.experiments import fit

pytestmark = pytest.mark.slow


WATCH = """
import os, sys
if "fit" in sys.orig_argv and "-m" in sys.orig_argv:  # a job, not the sweep
    from proxact.experiments import fit, runs
    def noted(word, function):
        def wrapped(self, *arguments):
            result = function(self, *arguments)
            name = f"{self.fit.activation} {self.fit.seeds[0]} {self.epoch}" if word == "epoch" else self.folder
            with open(os.environ["LEDGER"], "a") as file:
                file.write(f"{word} {name}\\n")
            return result
        return wrapped
    fit.Trainer.train_epoch = noted("epoch", fit.Trainer.train_epoch)
    runs.Run.finish = noted("finish", runs.Run.finish)
"""


@pytest.fixture
def watched(tmp_path, monkeypatch):
    """Every epoch and end of a fit, in any process, writes a line into a ledger."""
    (tmp_path / "watch").mkdir()
    (tmp_path / "watch/sitecustomize.py").write_text(WATCH)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "watch"), prepend=os.pathsep)
    monkeypatch.setenv("LEDGER", str(tmp_path / "ledger"))
    return lambda word: [line for line in (tmp_path / "ledger").read_text().splitlines() if line.startswith(word)]


def summaries(folder):
    return {
        (found["activation"], found["seed"][0]): found
        for found in (json.loads(path.read_text()) for path in folder.rglob("summary.json"))
    }


def check_against_this_process(folder, tmp_path, activations, seeds, epochs):
    """The numbers of every run are those of the same training done here."""
    found = summaries(folder)
    assert sorted(found) == sorted((activation, seed) for activation in activations for seed in seeds)
    threads = torch.get_num_threads()
    try:
        for (activation, seed), summary in found.items():
            torch.set_num_threads(summary["machine"]["threads"])
            config = {"widths": (2, 3), "seeds": (seed,), "epochs": epochs, "samples": 2000, "test_samples": 200}
            own = fit.run(fit.Fit(activation, "cone", **config), tmp_path / f"own/{activation}-{seed}")
            assert summary["config"] == own["config"]
            assert summary["metrics"] == own["metrics"]
            assert summary["curve"] == own["curve"]
    finally:
        torch.set_num_threads(threads)


def is_on_its_way(folder, finished):
    """So many jobs are finished, and another has trained for an epoch or more."""
    done = len(list(folder.rglob("done.json")))
    rows = [path for path in folder.rglob("metrics.jsonl") if path.read_text().count("\n") > 1]
    return done >= finished and any(not (path.parent / "summary.json").exists() for path in rows)


def test_a_sweep_killed_twice_does_every_run_once(tmp_path, watched):
    folder, activations, seeds, epochs = tmp_path / "sweep", ("relu", "mpu2", "mpu3"), (0, 1, 2, 3), 12
    sweep = command("fit", "--activations", ",".join(activations), "--seeds", "0:4", "--jobs", 2, "--runs", folder)
    sweep += ["--", *SMALL, "--epochs", str(epochs)]
    for finished, all_of_them in ((2, False), (6, True)):
        with subprocess.Popen(sweep, stdout=subprocess.PIPE, start_new_session=True) as process:
            wait_for(lambda least=finished: is_on_its_way(folder, least), process=process)
            children = psutil.Process(process.pid).children(recursive=True)
            os.killpg(process.pid, signal.SIGKILL) if all_of_them else process.kill()
            for child in children if all_of_them else []:
                child.kill()
        wait_for(lambda those=children: not any(child.is_running() for child in those), seconds=10)
        before = {path: path.stat().st_mtime_ns for path in folder.rglob("*.json") if path.name in ("summary.json",)}
        assert finished <= len(before) < 12
    out = subprocess.run(sweep, check=True, capture_output=True, text=True).stdout
    assert " 0 failed" in out
    assert "12 runs in" in out
    assert all(path.stat().st_mtime_ns == stamp for path, stamp in before.items())
    assert len(list(folder.rglob("done.json"))) == 12
    check_against_this_process(folder, tmp_path, activations, seeds, epochs)
    assert len(watched("finish")) == 12  # each run ended once
    counts = Counter(watched("epoch"))
    assert len(counts) == 12 * epochs
    assert counts.total() <= 12 * epochs + 2 * 2  # a kill costs a run the epoch that it had not saved yet
    again = subprocess.run(sweep, check=True, capture_output=True, text=True).stdout
    assert "0 finished, 12 skipped, 0 failed" in again


def _listen_to_ctrl_c():
    """What a shell starts in the background ignores it, and so would everything started by it."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def test_ctrl_c_saves_and_the_same_command_goes_on(tmp_path, watched):
    folder = tmp_path / "sweep"
    sweep = command("fit", "--activations", "relu", "--seeds", "5,6", "--runs", folder, "--", *SMALL, "--epochs", 200)
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen(sweep, preexec_fn=_listen_to_ctrl_c, **pipes) as process:
        wait_for(lambda: any(folder.rglob("checkpoint")), process=process)
        process.send_signal(signal.SIGINT)
        out, errors = process.communicate()
    assert process.returncode == 1, (out, errors)
    assert "Stopping: the runs that are going on are saved" in out
    assert errors == "Stopped. The same command goes on from there.\n"
    assert any("Stopped and saved" in path.read_text() for path in folder.rglob("log.txt"))
    assert not list(folder.rglob("failed.json"))
    assert not list(folder.rglob("done.json"))
    assert subprocess.run(sweep, capture_output=True).returncode == 0
    assert set(Counter(watched("epoch")).values()) == {1}
    check_against_this_process(folder, tmp_path, ["relu"], [5, 6], 200)
