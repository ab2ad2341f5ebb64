"""The scripts in examples: each runs, with the real package, and its angles move."""

import runpy
from pathlib import Path

import pytest
import torch

from proxact import MPU

EXAMPLES = Path(__file__).parent.parent / "examples"


def units(model):
    return [module for module in model.modules() if isinstance(module, MPU)]


def run_example(name, *packages):
    for package in packages:
        pytest.importorskip(package)
    return runpy.run_path(str(EXAMPLES / f"{name}.py"), run_name="__main__")


def moved(modules):
    return [unit.theta.item() != 0 for unit in modules]


def test_example_transformers(capsys):
    names = run_example("transformers_config", "transformers")
    assert names["change"] < 1e-6
    assert moved(units(names["model"])) == [True] * 3
    assert "angles" in capsys.readouterr().out


def test_example_timm(capsys):
    names = run_example("timm_act_layer", "timm")
    for model, sites in zip(names["models"].values(), (17, 12, 4), strict=True):
        assert moved(units(model)) == [True] * sites
    assert "resnet18: 17 activations, 17 angles moved" in capsys.readouterr().out


def test_example_stable_baselines3():
    names = run_example("sb3_policy", "stable_baselines3")
    assert moved(units(names["model"].policy)) == [True] * 4
    assert names["same"]
    before, after = (
        {key: value for key, value in model.policy.state_dict().items() if key.endswith("theta")}
        for model in (names["model"], names["loaded"])
    )
    assert before == after


def test_example_torchrl():
    names = run_example("torchrl_mlp", "torchrl")
    assert moved(units(names["mlp"])) == [True] * 2
    assert names["loss"] < names["returns"].var()


@pytest.mark.filterwarnings("ignore:`isinstance\\(treespec, LeafSpec\\)` is deprecated:FutureWarning")
@pytest.mark.filterwarnings("ignore:The 'train_dataloader' does not have many workers")
def test_example_lightning():
    names = run_example("lightning_module", "lightning")
    assert moved(units(names["model"])) == [True] * 2
    logged = {key: value.item() for key, value in names["trainer"].callback_metrics.items()}
    assert logged.keys() == {"loss", "alpha/1", "alpha/3"}
    assert logged["alpha/1"] != pytest.approx(torch.pi / 4)


def test_example_accelerate():
    names = run_example("accelerate_loop", "accelerate")
    assert moved(names["units"]) == [True] * 2
    assert [unit.alpha.item() for unit in names["units"]] == names["angles"]


def test_examples_are_short():
    """A script of the same name as a package would be imported in its place."""
    scripts = sorted(EXAMPLES.glob("*.py"))
    assert len(scripts) == 6
    for script in scripts:
        assert len(script.read_text().splitlines()) < 50
        assert f"import {script.stem}" not in script.read_text()
