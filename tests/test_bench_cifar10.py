"""``proxact bench cifar10 --quick`` runs and writes what it says."""

import json
import subprocess
import sys

import pytest
from vision_cases import environment

pytest.importorskip("torchvision")
pytest.importorskip("lightning")

CANDIDATES = {"proxact, relu", "proxact, mpu2", "the usual script, relu"}


def check(rows, count):
    """What is printed of a candidate follows from ReLU's time, ``count`` pictures, and the candidate's ratio to it."""
    assert set(rows) == CANDIDATES
    relu, mpu2 = rows["proxact, relu"], rows["proxact, mpu2"]
    assert relu["ratio"] == 1
    assert mpu2["ratio"] == pytest.approx(mpu2["microseconds"] / relu["microseconds"])
    for row in rows.values():
        assert row["images_per_second"] == pytest.approx(count / (relu["microseconds"] / 1e6) / row["ratio"])
        assert row["ratio_low"] <= row["ratio_high"]


@pytest.fixture
def pictures():
    from proxact.experiments.vision.formats import make_up
    from proxact.experiments.vision.pictures import Pictures

    splits = make_up(train=256, test=100)
    return Pictures("made-up", splits["train"], splits["test"], (0.5,) * 3, (0.25,) * 3)


def test_every_candidate_is_measured(pictures):
    from proxact.bench.cifar10 import measure

    check(measure(8, ("mpu2",), pictures, count=256, rounds=3), count=256)


def test_all_see_whole_pictures(pictures, monkeypatch):
    from proxact.bench import cifar10
    from proxact.models.cifar_resnet import CifarResNet

    shapes, forward = [], CifarResNet.forward
    monkeypatch.setattr(CifarResNet, "forward", lambda net, x: shapes.append(x.shape) or forward(net, x))
    for stepping in (cifar10.ours("relu", 8, pictures), cifar10.usual(8, pictures)):
        next(stepping)
    assert shapes == [(256, 3, 32, 32), (128, 3, 32, 32)]


def test_every_measurement_takes_as_many_pictures(pictures, monkeypatch):
    from proxact.bench import cifar10

    taken = {"ours": 0, "usual": 0}

    def stepping(name, batch):
        while True:
            taken[name] += batch
            yield

    monkeypatch.setattr(cifar10, "ours", lambda *_: stepping("ours", 256))
    monkeypatch.setattr(cifar10, "usual", lambda *_: stepping("usual", 128))
    monkeypatch.setattr(
        cifar10, "interleaved", lambda calls, *_, **__: {name: [call() or 1.0] * 3 for name, call in calls.items()}
    )
    rows = cifar10.measure(16, ("mpu2", "prelu"), pictures, 512, 3)
    assert list(rows) == ["proxact, relu", "proxact, mpu2", "proxact, prelu", "the usual script, relu"]
    assert taken == {"ours": 5 * 512, "usual": 512}  # ReLU is measured beside each of the three others


@pytest.mark.slow
def test_the_command_measures_and_writes(tmp_path):
    command = [sys.executable, "-m", "proxact", "bench", "cifar10", "--quick", "--out", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, env=environment(), check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    record = json.loads((tmp_path / "cifar10.json").read_text())
    assert record["machine"]["threads"] == 1
    assert set(record["widths"]) == {"16"}
    check(record["widths"]["16"], count=256)
    assert "Written:" in done.stdout
    for row in record["widths"]["16"].values():
        assert f"{row['images_per_second']:.0f}" in done.stdout
