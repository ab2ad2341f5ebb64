"""``proxact runs`` says what is in run folders."""

import io
import json
import re
import statistics
import subprocess
import sys

import pytest
from rich.console import Console
from sweep_cases import PROGRAM

from proxact.experiments.runs import Run, RunError
from proxact.sweep.command import runs
from proxact.sweep.compare import compared
from proxact.sweep.found import differing, find, selected
from proxact.sweep.listing import listed, ordered

SCORES = {("relu", 10): [1.0, 2.0, 4.0], ("mpu2", 10): [3.0, 5.0, 4.5], ("mpu2", 20): [8.0]}


def finish(folder, activation, seed, metrics, experiment="ant", rows=2, **config):
    with Run(folder, experiment, activation, seed, {"activation": activation, "seed": seed, **config}) as run:
        run.load()
        for epoch in range(1, rows + 1):
            run.log({"epoch": epoch})
        run.finish(metrics)


@pytest.fixture
def folder(tmp_path):
    for (activation, epochs), scores in SCORES.items():
        for seed, score in enumerate(scores):
            place = tmp_path / f"{activation}/e{epochs}/seed{seed}"
            finish(place, activation, seed, {"score": score}, epochs=epochs, model="mlp")
    return tmp_path


def text(shown, width=80):
    console = Console(file=io.StringIO(), width=width)
    console.print(shown)
    return console.file.getvalue()


def row(shown, *starts):
    """The cells of the row that starts like this."""
    (line,) = [line for line in shown.splitlines() if line.split()[: len(starts)] == list(starts)]
    return re.split(r" {2,}", line.strip())


def test_the_state_of_runs(tmp_path):
    finish(tmp_path / "a", "relu", 1, {"score": 2.5}, epochs=2)
    with Run(tmp_path / "b", "ant", "relu", 2, {"epochs": 2}) as run:
        run.log({"epoch": 1})
        run.save({"x": 1})
        (running,) = selected(find([tmp_path]), {"state": "running"})
        assert (running.folder.name, running.epoch) == ("b", 1)
        with (tmp_path / "b/metrics.jsonl").open("a") as file:
            file.write('{"epoch": 2')  # being written
        assert selected(find([tmp_path]), {"state": "running"})[0].epoch == 1
    with Run(tmp_path / "job/c", "ant", "mpu2", 3, {"epochs": 2}) as run:
        run.log({"epoch": 1})
    for job in ("job", "early"):
        (tmp_path / job).mkdir(exist_ok=True)
        (tmp_path / job / "failed.json").write_text('{"seconds": 7}')
    (tmp_path / "config.json").write_text('{"of": "another program"}')
    found = find([tmp_path])
    assert [(one.folder.name, one.state) for one in found] == [
        ("a", "finished"),
        ("b", "stopped"),
        ("early", "failed"),
        ("c", "failed"),
    ]
    shown = text(listed(found))
    assert "4 runs: 1 finished, 0 running, 1 stopped, 2 failed" in shown
    assert row(shown, "finished", "relu", "1")[3:5] == ["2/2", "2.5"]
    assert row(shown, "stopped", "relu", "2")[3] == "1/2"
    assert "failed before they began" in shown
    with Run(tmp_path / "job/c", "ant", "mpu2", 3, {"epochs": 2}):
        assert not selected(find([tmp_path]), {"state": "stopped", "activation": "mpu2"})  # looking took no lock


def test_tries_are_listed(tmp_path):
    values = {"relu": [0.25, 0.75], "mpu2": [0.5, None]}
    record = {"script": "/home/me/train.py", "arguments": [], "metric": "val_acc", "take": "last", "seeds": [0, 1]}
    place = tmp_path / "try/train-1a2b3c"
    for name in ("relu/seed0", "relu/seed1", "mpu2/seed0"):
        (place / name).mkdir(parents=True)
        (place / name / "done.json").write_text('{"seconds": 65}')
    (place / "mpu2/seed1").mkdir()
    (place / "mpu2/seed1/failed.json").write_text('{"seconds": 7}')
    (place / "verdict.json").write_text(json.dumps({**record, "values": values}))
    (tmp_path / "verdict.json").write_text('{"of": "another program"}')
    found = find([tmp_path])
    shown = text(listed(found))
    assert "try train.py, in" in shown
    assert row(shown, "finished", "mpu2", "0") == ["finished", "mpu2", "0", "0.5", "65 s", "mpu2/seed0"]
    assert "4 runs: 3 finished, 0 running, 0 stopped, 1 failed" in shown
    assert row(text(compared(found, "val_acc")), "relu")[:2] == ["relu", "2"]


def test_lists_fit_in_80_columns_and_name_what_differs(folder):
    found = find([folder])
    assert differing(found) == ["epochs"]
    shown = text(listed(selected(found, {})))
    assert max(map(len, shown.splitlines())) <= 80
    assert "model" not in shown
    assert "7 runs: 7 finished" in shown


def test_filters(folder):
    found = find([folder])
    assert len(selected(found, {"activation": "mpu2"})) == 4
    assert len(selected(found, {"epochs": "10"})) == 6
    assert len(selected(found, {"epochs": "10", "seed": "1", "model": "mlp"})) == 2
    assert selected(found, {"model": "cnn"}) == []
    with pytest.raises(ValueError, match=r"where: the runs have activation, epochs, .* got 'epoch'"):
        selected(found, {"epoch": "10"})
    with pytest.raises(RunError, match="no such folder"):
        find([folder / "nowhere"])


def test_order(folder):
    found = find([folder])
    assert [one.score for one in ordered(found, "score")] == sorted(
        score for scores in SCORES.values() for score in scores
    )
    assert [one.get("epochs") for one in ordered(found, "epochs")] == [10] * 6 + [20]
    with pytest.raises(ValueError, match=r"sort must be one of activation, epochs, folder.* got 'colour'"):
        ordered(found, "colour")


def test_compare(folder):
    shown = text(compared(find([folder]), "score"))
    assert max(map(len, shown.splitlines())) <= 80
    for (activation, epochs), scores in SCORES.items():
        setting = ["epochs=20"] * (epochs == 20)
        cells = row(shown, activation, *(setting or [str(len(scores))]))
        mean = f"{statistics.fmean(scores):.4g}"
        spread = f" ± {statistics.stdev(scores):.4g}" if len(scores) > 1 else ""
        ends = [f"{end(scores):.4g}" for end in (min, max)]
        assert cells == [activation, *setting, str(len(scores)), mean + spread, *ends]
    assert "Where the setting does not say otherwise: epochs=10" in shown
    lines = text(compared(find([folder]), "score", sort="score")).splitlines()
    assert [line.split()[0] for line in lines[2:5]] == ["relu", "mpu2", "mpu2"]
    with pytest.raises(ValueError, match="the finished runs have score; got 'accuracy'"):
        compared(find([folder]), "accuracy")
    with pytest.raises(ValueError, match="sort must be one of folder, activation, score with compare"):
        compared(find([folder]), "score", "time")


def test_metrics_by_width_and_seed(tmp_path):
    """Fit's: a table of widths, each with a value for each seed. A seed in two runs counts once."""
    for place, seeds, values in (("a", [1, 2], [[1.0, 4.0], [4.0, 9.0]]), ("b", [2], [[4.0], [9.0]])):
        with Run(tmp_path / place, "fit", "relu", seeds, {"seeds": seeds, "widths": [2, 3]}) as run:
            run.finish({"best_mse": dict(zip(("2", "3"), values, strict=True))})
    found = find([tmp_path])
    assert found[0].values("best_mse") == pytest.approx([2.0, 6.0])
    assert found[0].values("best_mse.3") == [4.0, 9.0]
    assert found[0].values("best_mse.9") == []
    assert row(text(compared(found, "best_mse.3")), "relu") == ["relu", "2", "6.5 ± 3.536", "4", "9"]


def test_the_command(folder):
    arguments = [str(folder), "--activation", "mpu2", "--where", "epochs=10", "--compare", "score"]
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, "runs", *arguments], capture_output=True, text=True, check=True
    )
    assert row(done.stdout, "mpu2")[1:3] == ["3", "4.167 ± 1.041"]
    with pytest.raises(SystemExit, match="where must be key=value, got 'epochs'"):
        runs((folder,), where=("epochs",))
