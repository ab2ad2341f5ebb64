"""proxact try: the line in a script, and whole tries of small scripts."""

import contextlib
import importlib
import json
import os
import sys
import traceback
from pathlib import Path

import pytest
import torch
import tyro
from torch import nn

from proxact import MPU
from proxact.sweep import Outcome
from proxact.trials import model as trial_model
from proxact.trials import run as launcher
from proxact.trials.command import try_
from proxact.trials.model import ACTIVATION, FOLDER, read_marks, trial

EXAMPLES = Path(__file__).parent.parent / "examples" / "try"


class TestTrial:
    @pytest.fixture(autouse=True)
    def _clean(self, monkeypatch, tmp_path):
        monkeypatch.setattr(trial_model, "new_parameters", [])
        monkeypatch.setenv(FOLDER, str(tmp_path))

    def net(self):
        return nn.Sequential(nn.Linear(4, 4), nn.GELU(), nn.Linear(4, 4), nn.ReLU())

    def test_outside(self, monkeypatch, tmp_path, capsys):
        monkeypatch.delenv(ACTIVATION, raising=False)
        model = self.net()
        assert trial(model) is model
        assert isinstance(model[1], nn.GELU)
        assert not list(tmp_path.iterdir())
        assert not capsys.readouterr().out

    def test_inside(self, monkeypatch, tmp_path, capsys):
        monkeypatch.setenv(ACTIVATION, "mpu2")
        model = self.net()
        torch.manual_seed(7)
        expected = torch.rand(3)
        torch.manual_seed(7)
        assert trial(model, torch.zeros(1, 4)) is model
        assert [type(model[i]) for i in (1, 3)] == [MPU, MPU]
        assert torch.equal(torch.rand(3), expected)  # the same chance follows for every activation
        assert read_marks(tmp_path) == [{"sites": 2, "kinds": ["GELU", "ReLU"], "skipped": 0, "torch_seed": 7}]
        assert "replaced 2 sites (GELU, ReLU) by mpu2" in capsys.readouterr().out

    def test_relu_is_relu_everywhere_and_original_is_the_model(self, monkeypatch, tmp_path):
        monkeypatch.setenv(ACTIVATION, "relu")
        assert [type(trial(self.net())[i]) for i in (1, 3)] == [nn.ReLU, nn.ReLU]
        monkeypatch.setenv(ACTIVATION, "original")
        assert [type(trial(self.net())[i]) for i in (1, 3)] == [nn.GELU, nn.ReLU]
        assert [row["sites"] for row in read_marks(tmp_path)] == [2, 2, 2, 2]

    def test_options(self, monkeypatch):
        monkeypatch.setenv(ACTIVATION, "mpu3")
        model = trial(self.net(), exclude="1")
        assert [type(model[i]) for i in (1, 3)] == [nn.GELU, MPU]

    @pytest.mark.parametrize("activation", ["mpu2", "original"])
    def test_nothing_to_exchange(self, monkeypatch, activation):
        monkeypatch.setenv(ACTIVATION, activation)
        with pytest.raises(ValueError, match=r"but Sequential has none:(.|\n)*not in which: Tanh \(1\)"):
            trial(nn.Sequential(nn.Linear(2, 2), nn.Tanh()))
        with pytest.raises(TypeError, match=r"model must be an nn.Module"):
            trial([])


def in_this_process(jobs, **_):
    """What ``proxact.sweep.execute`` does, without a process for each job, which would import torch again."""
    outcomes = []
    for job in jobs:
        if job.is_finished:
            outcomes.append(Outcome(job, "skipped"))
            continue
        job.folder.mkdir(parents=True, exist_ok=True)
        before = dict(os.environ), sys.argv, list(sys.path), torch.get_rng_state()
        os.environ.update(job.environment)
        trial_model.new_parameters.clear()
        log = job.folder / "log.txt"
        state = "finished"
        with log.open("a") as file, contextlib.redirect_stdout(file), contextlib.redirect_stderr(file):
            try:
                launcher.main(*job.command_in(job.folder)[3:])
            except (Exception, SystemExit) as error:
                print(error if isinstance(error, SystemExit) else traceback.format_exc())
                state = "failed"
        os.environ.clear()
        os.environ.update(before[0])
        sys.argv, sys.path[:] = before[1], before[2]
        torch.set_rng_state(before[3])
        if state == "finished":
            (job.folder / "done.json").write_text("{}")
        outcomes.append(Outcome(job, state, 0.0, "\n".join(log.read_text().splitlines()[-15:])))
    return outcomes


SCRIPT = """
import argparse, sys
import numpy, random, torch
from torch import nn
import proxact
from neighbour import GAIN

parser = argparse.ArgumentParser()
parser.add_argument("--fail", default="")
parser.add_argument("--seed", type=int)
parser.add_argument("--late", action="store_true")
args = parser.parse_args()
if args.seed is not None:
    torch.manual_seed(args.seed)

model = nn.Sequential(nn.Linear(4, 6), nn.ReLU(), nn.Linear(6, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
model = proxact.trial(model)
optimizer = optimizer if args.late else torch.optim.SGD(model.parameters(), lr=0.1)
model(torch.randn(8, 4)).square().sum().backward()
optimizer.step()
m = getattr(model[1], "m", 1)
if str(m) == args.fail:
    raise RuntimeError("this one does not train")
base, noise = torch.rand(2, dtype=torch.float64).tolist()
chance = [random.random(), numpy.random.rand()] if args.seed is None else []
print("chance", *chance)
for epoch in range(3):
    print(f"epoch {epoch} val_acc: {base + epoch - 2 + (m > 1) * GAIN + m * 1e-3 * noise:.12f}")
sys.exit(0)
"""


class TestCommand:
    """Whole tries. The script's val_acc is a random number, 0.5 more with MPUs, and a little that depends on m."""

    @pytest.fixture
    def script(self, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        monkeypatch.setattr("proxact.sweep.execute", in_this_process)
        monkeypatch.setattr(trial_model, "new_parameters", [])
        monkeypatch.setattr(launcher, "new_parameters", trial_model.new_parameters)
        (tmp_path / "code").mkdir()
        (tmp_path / "code" / "neighbour.py").write_text("GAIN = 0.5\n")
        path = tmp_path / "code" / "train.py"
        path.write_text(SCRIPT)
        yield path
        sys.modules.pop("neighbour", None)
        importlib.invalidate_caches()

    def verdict(self):
        (path,) = Path("runs/try").glob("*/verdict.json")
        return json.loads(path.read_text())

    def test_whole(self, script, capsys):
        try_(script, metric="val_acc", activations="relu,mpu2,mpu3", seeds="3")
        out = capsys.readouterr().out
        found = self.verdict()
        assert [v["word"] for v in found["verdicts"]] == ["helps", "helps"]
        values = found["values"]
        gains = [b - a for a, b in zip(values["relu"], values["mpu2"], strict=True)]
        more = [b - a for a, b in zip(values["mpu2"], values["mpu3"], strict=True)]
        assert gains == pytest.approx([0.5 + d for d in more])  # same seed, same chance: noise alone is left
        assert len({*values["relu"]}) == 3
        assert "mpu2 helps: val_acc is higher than with relu by 0.5" in out
        assert "1 activation of the model was exchanged (ReLU)." in out
        assert "itself" not in out
        assert "did not move" not in out
        lines = {
            s: {(f / "log.txt").read_text().split("chance")[1].split("\n")[0] for f in Path("runs/try").rglob(s)}
            for s in ("seed0", "seed1")
        }
        assert [len(one) for one in lines.values()] == [1, 1]  # random and numpy have seeds as well
        assert lines["seed0"] != lines["seed1"]

        try_(script, metric="val_acc", activations="relu,mpu2", seeds="3", take="best", better="lower")
        again = self.verdict()
        assert again["verdicts"][0]["word"] == "hurts"
        assert again["values"]["relu"] == pytest.approx([v - 2 for v in values["relu"]])

    def test_one_activation_fails(self, script, capsys):
        with pytest.raises(SystemExit, match="1"):
            try_(script, ("--fail", "3"), metric="val_acc", seeds="2")
        out = capsys.readouterr().out
        assert [v["word"] for v in self.verdict()["verdicts"]] == ["helps", "cannot be told"]
        assert self.verdict()["values"]["mpu3"] == [None, None]
        assert "mpu3: cannot be told: 2 of its 2 runs failed." in out
        assert "RuntimeError: this one does not train" in out

    def test_script_sets_its_own_seed(self, script, capsys):
        try_(script, ("--seed", "42"), metric="val_acc", activations="relu,mpu2", seeds="2")
        out = capsys.readouterr().out
        assert "all 2 seeds gave the same value" in out
        assert "train.py sets torch's seed to 42 itself" in out
        assert "-- --seed {seed}" in out

    def test_seed_passed_on(self, script, capsys):
        try_(script, ("--seed", "{seed}"), metric="val_acc", activations="relu,mpu2", seeds="5:8")
        assert self.verdict()["seeds"] == [5, 6, 7]
        assert "itself" not in capsys.readouterr().out
        assert self.verdict()["verdicts"][0]["word"] == "helps"

    def test_line_behind_the_optimizer(self, script, capsys):
        try_(script, ("--late",), metric="val_acc", activations="relu,mpu2", seeds="2")
        assert "mpu2 brought in did not move in any run" in capsys.readouterr().out

    def test_line_missing(self, script, capsys):
        script.write_text("print('val_acc: 1')")
        with pytest.raises(SystemExit, match=r"no other was started(.|\n)*model = proxact.trial\(model\)"):
            try_(script, metric="val_acc")
        assert "train.py does not mention proxact" in capsys.readouterr().out
        assert len(list(Path("runs/try").rglob("log.txt"))) == 1

    def test_metric_missing(self, script):
        with pytest.raises(SystemExit, match=r"metric 'val_accuracy' was neither .* one: val_acc"):
            try_(script, metric="val_accuracy")
        assert len(list(Path("runs/try").rglob("log.txt"))) == 1

    def test_first_run_fails(self, script):
        with pytest.raises(SystemExit, match=r"(?s)first run failed, so no other was started.*does not train"):
            try_(script, ("--fail", "1"), metric="val_acc")

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            ({"activations": "relu"}, "activations must be"),
            ({"seeds": "none"}, "seeds must be"),
        ],
    )
    def test_bad_options(self, script, options, message):
        with pytest.raises(SystemExit, match=message):
            try_(script, metric="val_acc", **options)
        with pytest.raises(SystemExit, match=r"script must be a file, got nowhere.py"):
            try_(Path("nowhere.py"), metric="val_acc")

    def test_command_line(self, script, capsys):
        words = f"try {script} --activations original,mpu2 --seeds 2 --metric val_acc -- --seed {{seed}}"
        tyro.extras.subcommand_cli_from_dict({"try": try_, "other": print}, args=words.split())
        assert "minus original" in capsys.readouterr().out
        assert self.verdict()["arguments"] == ["--seed", "{seed}"]
