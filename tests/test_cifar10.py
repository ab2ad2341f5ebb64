"""CIFAR10: pairs that train alike, runs that go on where they stopped."""

import json
import signal
import subprocess
import time
from pathlib import Path

import pytest
import torch
from torch import nn
from vision_cases import alone, environment, finished, only, results, with_torchrun

import proxact
from proxact.experiments import cifar10
from proxact.experiments.cifar10 import Cifar10, build
from proxact.experiments.runs import RunError
from proxact.experiments.vision.finetune import read_start
from proxact.experiments.vision.parallel import Machine
from proxact.experiments.vision.presets import plan

FABRIC = pytest.importorskip("lightning.fabric")
SMALL = {"width": 8, "epochs": 2, "warmup": 1.0, "batch": 64, "precision": "fp32"}


@pytest.fixture(scope="module")
def pictures():
    return cifar10.data("made-up", Path("unused"))


def train(folder, pictures, activation="mpu2", seed=1, begin=None, save_seconds=1e9, **given):
    (one,) = plan("cpu", (activation,), (seed,), {**SMALL, **given}, begin=begin)
    return cifar10.run(one, folder, pictures, Machine(save_seconds=save_seconds), begin)


def test_relu_and_frozen_mpu2_train_alike(tmp_path, pictures):
    """The same start, order and augmentation: with the angle held at pi/4 the two are one network."""
    curves = [
        train(tmp_path / name, pictures, name, learn_angle=False, epochs=2, width=8, peak=0.02)["curve"]
        for name in ("relu", "mpu2")
    ]
    for relu, unit in zip(*curves, strict=True):
        assert relu["train_loss"] == pytest.approx(unit["train_loss"], rel=1e-3)


def test_a_run_learns_and_keeps_what_the_report_needs(tmp_path, pictures):
    summary = train(tmp_path, pictures, peak=0.05, epochs=4)
    rows, metrics = summary["curve"], summary["metrics"]
    assert [row["epoch"] for row in rows] == [1, 2, 3, 4]
    assert rows[-1]["train_loss"] < rows[0]["train_loss"]
    assert metrics["score"] == metrics["last_accuracy"] == rows[-1]["accuracy"] > 30
    assert metrics["best_accuracy"] == max(row["accuracy"] for row in rows)
    assert {f"angle{i}" for i in range(17)} <= set(rows[0])
    assert all(row["images_per_second"] > 0 for row in rows)
    assert summary["config"]["preset"].startswith("cpu-")
    assert summary["config"]["data"].startswith("other: made-up ")
    net = build(Cifar10(**{k: v for k, v in summary["config"].items() if k not in ("data", "start")}))
    net.load_state_dict(torch.load(tmp_path / "model.pt", weights_only=True))
    assert net.stem[2].alpha.item() == pytest.approx(rows[-1]["angle0"], abs=1e-5)


@pytest.fixture(scope="module")
def whole(tmp_path_factory, pictures):
    folder = tmp_path_factory.mktemp("whole")
    train(folder, pictures)
    return folder


@pytest.mark.parametrize("stop_at", [3, 10])
def test_an_interrupted_run_ends_with_the_same_numbers(tmp_path, pictures, whole, monkeypatch, stop_at):
    """Stopped after a number of steps, in the middle of an epoch and between two."""
    steps, limit = 0, stop_at

    class Stop(Exception):
        pass

    original = cifar10.Trainer._step

    def counted(self, *arguments):
        nonlocal steps
        steps += 1
        if steps > limit:
            raise Stop
        original(self, *arguments)

    monkeypatch.setattr(cifar10.Trainer, "_step", counted)
    with pytest.raises(Stop):
        train(tmp_path, pictures, save_seconds=0)
    steps, limit = 0, 1000
    train(tmp_path, pictures)
    assert steps == SMALL["epochs"] * (640 // SMALL["batch"]) - stop_at  # it went on, and did not start again
    assert results(tmp_path) == results(whole)
    states = [torch.load(folder / "model.pt", weights_only=True) for folder in (tmp_path, whole)]
    assert all(torch.equal(states[0][key], states[1][key]) for key in states[0])


def test_fine_tuning_starts_from_the_trained_network(tmp_path, pictures, capsys):
    train(tmp_path / "relu", pictures, "relu")
    begin = read_start(tmp_path / "relu")
    (tuned,) = plan("cpu", ("mpu2",), (1,), SMALL, begin=begin)
    assert tuned.preset.endswith("from-relu-seed1")
    assert (tuned.model, tuned.width) == ("resnet18", 8)
    x = torch.randn(8, 3, 32, 32)
    relu, unit = (begin.net(Cifar10(name, width=8)).eval() for name in ("relu", "mpu2"))
    torch.testing.assert_close(unit(x), relu(x), rtol=0, atol=1e-4)
    assert sum(isinstance(module, proxact.MPU) and module.learnable for module in unit.modules()) == 17
    assert not any(isinstance(module, nn.ReLU) for module in unit.modules())
    for name in ("relu", "mpu2"):
        summary = train(tmp_path / f"tuned-{name}", pictures, name, begin=begin, epochs=2, peak=0.01)
        assert summary["config"]["start"].endswith(begin.label[-12:])
        assert summary["metrics"]["score"] > 30
    with pytest.raises(RunError, match="finished run"):
        read_start(tmp_path)
    with pytest.raises(ValueError, match=r"width must be 8, that of cpu.*, got 16"):
        list(plan("cpu", ("mpu2",), (1,), {"width": 16}, begin=begin))
    again = read_start(tmp_path / "tuned-mpu2")
    with pytest.raises(RunError, match=r"learn_angle must be True, that of .*, got False"):
        again.net(Cifar10("mpu2", width=8, learn_angle=False))


def test_a_start_that_was_synchronised_is_taken_without_gpus(tmp_path, pictures):
    train(tmp_path, pictures, "relu", epochs=1, warmup=0.0)
    config = json.loads((tmp_path / "config.json").read_text())
    config["config"]["sync_bn"] = True
    (tmp_path / "config.json").write_text(json.dumps(config))
    net = read_start(tmp_path).net(Cifar10("mpu2", width=8))
    assert net(torch.zeros(1, 3, 32, 32)).shape == (1, 10)


@pytest.mark.skipif(torch.cuda.is_available(), reason="fp16 works there")
def test_fp16_needs_a_gpu(tmp_path, pictures):
    with pytest.raises(ValueError, match="precision must be fp32 or bf16 without a GPU, got fp16"):
        train(tmp_path, pictures, precision="fp16")


@pytest.mark.slow
def test_a_compiled_network_trains_alike(pictures, monkeypatch):
    """The graph that torch.compile captures, run as it is: forward, backward and the angles' gradients."""
    compiled, compile_ = [], torch.compile

    def captured(net, backend="aot_eager"):  # Fabric compiles once more, with the backend that was chosen
        compiled.append(net)
        return compile_(net, backend=backend)

    monkeypatch.setattr(torch, "compile", captured)
    states = []
    for machine in (Machine(), Machine(compiled=True)):
        (one,) = plan("cpu", ("mpu2",), (1,), {**SMALL, "optimizer": "sgd"})
        trainer = cifar10.make_trainer(one, pictures, machine)
        assert next(trainer.train()) == 1  # a second step, or Muon's, would magnify rounding
        states.append(trainer.net.state_dict())
    assert compiled
    for name, value in states[0].items():
        torch.testing.assert_close(states[1][name], value, rtol=1e-5, atol=1e-6)
    assert states[0]["stem.2.theta"] != 0


def test_crops_grow_in_a_share_of_the_epochs(pictures):
    (one,) = plan("cpu", ("relu",), (1,), {**SMALL, "epochs": 5, "small": 24, "small_share": 0.8})
    source = cifar10.make_trainer(one, pictures, Machine()).source
    assert [source.side_in(epoch) for epoch in range(5)] == [24, 24, 28, 28, 32]


def test_micro_batches_add_up(tmp_path, pictures):
    """Without batch norm in the way (its statistics are per micro-batch), the gradient is that of the whole batch."""
    gradients = []
    for micro in (64, 16):
        (one,) = plan("cpu", ("relu",), (1,), {**SMALL, "micro_batch": micro})
        trainer = cifar10.make_trainer(one, pictures, Machine())
        trainer.model.eval()
        trainer.optimizer.step = trainer.optimizer.zero_grad = lambda *_: None
        trainer._step(*next(trainer.source.epoch(0)))
        gradients.append([parameter.grad.clone() for parameter in trainer.net.parameters()])
    for whole, summed in zip(*gradients, strict=True):
        torch.testing.assert_close(whole, summed, rtol=1e-3, atol=1e-5)


COMMAND = ["cifar10", "--data", "made-up", "--preset", "cpu", "--activations", "mpu2", "--seeds", "1"]
COMMAND += ["--width", "8", "--epochs", "2", "--warmup", "1", "--batch", "64", "--precision", "fp32"]
COMMAND += ["--save-seconds", "0.01"]


def start(command):
    return subprocess.Popen(
        command, env=environment(), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True
    )


def wait_for_rows(folder, process, rows):
    while (path := only(folder, "metrics.jsonl")) is None or len(path.read_text().splitlines()) < rows:
        assert process.poll() is None, process.stdout.read()
        time.sleep(0.01)


@pytest.mark.torchrun
@pytest.mark.parametrize("kill", [signal.SIGKILL, signal.SIGINT])
def test_a_killed_command_goes_on(tmp_path, whole, kill):
    command = alone(tmp_path, *COMMAND, "--runs", tmp_path / "killed")
    with start(command) as process:
        wait_for_rows(tmp_path / "killed", process, 1)
        process.send_signal(kill)
        output = finished(process)
    assert only(tmp_path / "killed", "summary.json") is None, output
    if kill == signal.SIGINT:
        assert "The same command goes on from there" in output
    again = subprocess.run(command, check=True, env=environment(), capture_output=True, text=True)
    assert "goes on after step 1" in again.stdout  # 10 steps make an epoch, after which it was killed
    assert results(tmp_path / "killed") == results(whole)


@pytest.mark.torchrun
def test_two_processes_train_as_one_with_sgd(tmp_path):
    """SGD's steps are as long as the gradient, which the processes share: AdamW's would hide a wrong factor."""
    recipe = ["--optimizer", "sgd", "--micro-batch", "32", "--epochs", "1", "--warmup", "0"]
    for name, make in (("one", alone), ("two", with_torchrun)):
        command = make(tmp_path, *COMMAND, *recipe, "--runs", tmp_path / name)
        subprocess.run(command, check=True, env=environment(), capture_output=True)
    losses = [results(tmp_path / name)["curve"][0]["train_loss"] for name in ("one", "two")]
    assert losses[0] == pytest.approx(losses[1], abs=1e-4)
    states = [torch.load(only(tmp_path / name, "model.pt"), weights_only=True) for name in ("one", "two")]
    for name, value in states[0].items():
        if "running" not in name and "tracked" not in name:  # of the first process's half of the batch
            torch.testing.assert_close(value, states[1][name], rtol=1e-3, atol=1e-4, msg=name)


@pytest.mark.torchrun
def test_no_process_waits_for_a_first_one_that_gave_up(tmp_path):
    command = with_torchrun(tmp_path, *COMMAND, "--runs", tmp_path)
    subprocess.run(command, check=True, env=environment(), capture_output=True)
    only(tmp_path, "summary.json").unlink()
    config = only(tmp_path, "config.json")
    config.write_text(config.read_text().replace('"width": 8', '"width": 9'))
    with start(command) as process:
        output = finished(process, seconds=60)
    assert process.returncode != 0
    assert output.count("width: 9 there, 8 now") == 2


@pytest.mark.torchrun
def test_ctrl_c_under_torchrun_saves(tmp_path):
    command = with_torchrun(tmp_path, *COMMAND, "--save-seconds", "1e9", "--runs", tmp_path)
    with start(command) as process:
        wait_for_rows(tmp_path, process, 1)
        process.send_signal(signal.SIGINT)
        output = finished(process)
    assert "The same command goes on from there" in output
    assert only(tmp_path, "checkpoint") is not None
    subprocess.run(command, check=True, env=environment(), capture_output=True)
    config = json.loads(only(tmp_path, "config.json").read_text())["config"]
    assert (config["micro_batch"], config["preset"][:3]) == (32, "cpu")
    assert "microbatch32" in config["preset"]
    assert [row["epoch"] for row in results(tmp_path)["curve"]] == [1, 2]
