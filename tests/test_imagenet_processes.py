"""ImageNet: several processes as one, and trainings that survive SIGKILL."""

import json
import os
import re
import signal
import subprocess
import time

import pytest
import torch
from imagenet_cases import DEIT, one
from vision_cases import SHARED, alone, environment, finished, make_folders, only, results, with_torchrun, workers_of

from proxact.experiments import imagenet
from proxact.experiments.vision.parallel import Machine

pytest.importorskip("lightning.fabric")
pytest.importorskip("timm")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return make_folders(tmp_path_factory.mktemp("pictures"))


def arguments(data, runs, **given):
    flags = {**DEIT, "workers": 0, "save_seconds": 1e9, **given}
    words = [word for name, value in flags.items() for word in (f"--{name.replace('_', '-')}", value)]
    return ["imagenet", "--data", data, "--model", "deit_tiny", "--activations", "mpu2", *words, "--runs", runs]


@pytest.fixture(scope="module")
def unbroken(tmp_path_factory, folder):
    """One process that accumulates the micro-batches of two."""
    place = tmp_path_factory.mktemp("unbroken")
    imagenet.run(one("deit_tiny", **DEIT), place, folder, Machine(workers=0, save_seconds=1e9))
    return place


def assert_same_training(first, second, atol=1e-4):
    curves = [results(place)["curve"] for place in (first, second)]
    assert [row["epoch"] for row in curves[0]] == [row["epoch"] for row in curves[1]] == [1, 2, 3]
    for ours, theirs in zip(*curves, strict=True):
        assert ours["train_loss"] == pytest.approx(theirs["train_loss"], abs=atol)
    states = [torch.load(only(place, "model.pt"), weights_only=True) for place in (first, second)]
    for name, value in states[0].items():
        torch.testing.assert_close(value, states[1][name], rtol=0, atol=5e-3 if atol else 0, msg=name)


@pytest.fixture(scope="module")
def two(tmp_path_factory, folder):
    """Two processes that nothing interrupts."""
    place = tmp_path_factory.mktemp("two")
    command = with_torchrun(place, *arguments(folder, place))
    subprocess.run(command, check=True, env=environment(), capture_output=True)
    return place


@pytest.mark.torchrun
def test_two_processes_train_as_one(two, unbroken):
    assert_same_training(two, unbroken)


@pytest.mark.torchrun
@pytest.mark.skipif(not (SHARED / "tiny-imagenet.tar.gz").exists(), reason="needs ../shared/data/tiny-imagenet.tar.gz")
def test_two_processes_train_as_one_on_real_pictures(tmp_path):
    flags = {"batch": 2000, "micro_batch": 1000, "epochs": 2}
    for name, make in (("one", alone), ("two", with_torchrun)):
        command = make(tmp_path, *arguments(SHARED / "tiny-imagenet.tar.gz", tmp_path / name, **flags))
        subprocess.run(command, check=True, env=environment(), capture_output=True)
    curves = [results(tmp_path / name)["curve"] for name in ("one", "two")]
    for ours, theirs in zip(*curves, strict=True):
        assert ours["train_loss"] == pytest.approx(theirs["train_loss"], abs=1e-4)


def start(command):
    return subprocess.Popen(command, env=environment(), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def wait_for(folder, process, rows):
    while (path := only(folder, "metrics.jsonl")) is None or len(path.read_text().splitlines()) < rows:
        assert process.poll() is None, process.stdout.read()
        time.sleep(0.01)


@pytest.mark.torchrun
@pytest.mark.parametrize("rank", [0, 1])
def test_a_killed_rank_is_started_again(tmp_path, folder, two, rank):
    """The last weights are the same bit by bit as without the interruption."""
    command = with_torchrun(tmp_path, *arguments(folder, tmp_path / "killed", save_seconds=0.01), restarts=3)
    with start(command) as process:
        wait_for(tmp_path / "killed", process, 1)
        victims = [pid for pid in workers_of(process.pid) if _rank(pid) == str(rank)]
        assert len(victims) == 1
        os.kill(victims[0], signal.SIGKILL)
        output = finished(process)
    assert process.returncode == 0, output
    assert went_on(output)
    assert_same_training(tmp_path / "killed", two, atol=0)


def went_on(output):
    """Not from the start, which would give the same weights, too; an epoch was over when it was killed."""
    steps = [int(step) for step in re.findall(r"goes on after step (\d+) of", output)]
    return steps != [] and steps[0] > 0


def _rank(pid):
    with open(f"/proc/{pid}/environ", "rb") as file:
        pairs = dict(entry.split(b"=", 1) for entry in file.read().split(b"\0") if b"=" in entry)
    return pairs.get(b"RANK", b"").decode()


@pytest.mark.torchrun
def test_a_killed_job_goes_on_to_the_same_state(tmp_path, folder, two):
    """Both processes and torchrun: the last weights are the same bit by bit."""
    command = with_torchrun(tmp_path, *arguments(folder, tmp_path / "killed", save_seconds=0.01))
    with start(command) as process:
        wait_for(tmp_path / "killed", process, 1)
        for pid in (process.pid, *workers_of(process.pid)):
            os.kill(pid, signal.SIGKILL)
        process.communicate()
    assert only(tmp_path / "killed", "summary.json") is None
    again = subprocess.run(command, check=True, env=environment(), capture_output=True, text=True)
    assert went_on(again.stdout)
    assert_same_training(tmp_path / "killed", two, atol=0)
    assert json.loads(only(tmp_path / "killed", "summary.json").read_text())["metrics"]["best_epoch"] in (1, 2, 3)
