"""Whole tries of the scripts in examples/try."""

import json
import math
import runpy
import sys
from pathlib import Path

import pytest
import tyro

from proxact.trials.command import try_
from proxact.trials.metric import read_printed
from proxact.trials.model import ACTIVATION, MARK

EXAMPLES = Path(__file__).parent.parent / "examples" / "try"


def whole(monkeypatch, tmp_path, words):
    """A try with processes of its own, as a user has it."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    tyro.extras.subcommand_cli_from_dict({"try": try_, "other": print}, args=["try", *words])
    (path,) = tmp_path.glob("runs/try/*/verdict.json")
    assert len(list(tmp_path.rglob(MARK))) == 4
    return json.loads(path.read_text())


def check(found, capsys, sites):
    out = capsys.readouterr().out
    assert f"{sites} activations of the model" in out
    assert "did not move" not in out
    assert "itself" not in out
    for values in found["values"].values():
        assert len({*values}) == 2
    assert all(math.isfinite(v["difference"]) for v in found["verdicts"])


def test_tabular(monkeypatch, tmp_path, capsys):
    script = str(EXAMPLES / "tabular_mlp.py")
    words = [script, "--activations=relu,mpu3", "--seeds=2", "--metric=val_rmse", "--", "--epochs=2"]
    found = whole(monkeypatch, tmp_path, words)
    check(found, capsys, 2)
    assert found["better"] == "lower"


def test_line_can_stay(monkeypatch, capsys):
    monkeypatch.delenv(ACTIVATION, raising=False)
    monkeypatch.setattr(sys, "argv", ["tabular_mlp.py", "--epochs", "1"])
    runpy.run_path(str(EXAMPLES / "tabular_mlp.py"), run_name="__main__")
    assert len(read_printed(capsys.readouterr().out, "val_rmse")) == 1


@pytest.mark.slow
def test_timm(monkeypatch, tmp_path, capsys):
    pytest.importorskip("timm")
    words = [str(EXAMPLES / "timm_image.py"), "--activations=relu,mpu2", "--seeds=2", "--metric=val_acc"]
    check(whole(monkeypatch, tmp_path, words), capsys, 11)


@pytest.mark.slow
def test_transformers(monkeypatch, tmp_path, capsys):
    pytest.importorskip("transformers")
    script = str(EXAMPLES / "hf_text.py")
    words = [script, "--activations=original,mpu2", "--seeds=2", "--metric=eval_loss", "--", "--seed", "{seed}"]
    check(whole(monkeypatch, tmp_path, words), capsys, 2)


def test_examples_say_how():
    """Each has one new line, and the command in its head names a metric that it prints."""
    scripts = sorted(EXAMPLES.glob("*.py"))
    assert [script.stem for script in scripts] == ["hf_text", "tabular_mlp", "timm_image"]
    for script in scripts:
        text = script.read_text()
        assert text.count("proxact.trial(") == 1
        assert f"proxact try examples/try/{script.name} --activations " in text
