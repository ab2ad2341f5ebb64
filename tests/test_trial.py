"""proxact try: reading metrics, pairing, verdicts, and whole tries of small scripts."""

import contextlib
import importlib
import json
import math
import os
import random
import runpy
import statistics
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
from proxact.trials import verdict as verdict_module
from proxact.trials.command import try_
from proxact.trials.metric import MetricError, choose, guess_better, read_metric, read_printed
from proxact.trials.model import ACTIVATION, FOLDER, MARK, SEED, read_marks, trial
from proxact.trials.plan import make_runs, parse_activations, parse_seeds
from proxact.trials.show import show
from proxact.trials.verdict import judge

EXAMPLES = Path(__file__).parent.parent / "examples" / "try"


class TestPrinted:
    @pytest.mark.parametrize(
        ("text", "expected"),
        [
            ("val_acc: 0.91", [0.91]),
            ("val_acc=0.91", [0.91]),
            ("val_acc = 0.91,", [0.91]),
            ("{'loss': 0.1, 'val_acc': 0.91}", [0.91]),
            ('{"val_acc":0.91}', [0.91]),
            ("{'val_acc': '0.91'}", [0.91]),  # transformers 5 prints strings
            ("val_acc 91.3 %", [91.3]),
            ("val_acc (%): 91.3", [91.3]),
            ("val_acc -> 9.13e-1", [0.913]),
            ("{'val_acc': tensor(0.9100)} {'val_acc': np.float64(0.92)}", [0.91, 0.92]),
            ("│   val_acc    │    0.9100000262260437   │", [0.9100000262260437]),  # Lightning's table
            ("2024-01-01 12:00:00 INFO epoch 3: val_acc=.5", [0.5]),
            ("100%|###| 3/3 [val_acc=0.1]\r100%|###| 3/3 [val_acc=0.2]", [0.1, 0.2]),  # tqdm
            ("\x1b[1mval_acc\x1b[0m: \x1b[32m0.91\x1b[0m", [0.91]),
            ("val_acc: -3", [-3.0]),
            ("val_acc: 1_000", [1000.0]),
            ("best_val_acc: 0.99 val_acc_top5: 0.98 train/val_acc 0.9 val_acc/x 0.8 val_acc.x: 0.7", []),
            ("val_acc\n0.91", []),
            ("val_acc improved at epoch 3", []),
            ("valXacc: 0.91", []),
        ],
    )
    def test_values(self, text, expected):
        assert read_printed(text, "val_acc") == expected

    def test_names_are_no_patterns(self):
        assert read_printed("valXacc: 1 val.acc: 2", "val.acc") == [2.0]
        assert read_printed("Val Acc@1: 3", "Val Acc@1") == [3.0]

    def test_not_finite(self):
        nan, inf = read_printed("loss: nan loss: -inf", "loss")
        assert math.isnan(nan)
        assert inf == -math.inf

    def test_only_the_last_attempt(self, tmp_path):
        log = f"{launcher.START}a\nval_acc 0.1\n{launcher.START}a with val_acc 7\nval_acc 0.2\n"
        (tmp_path / "log.txt").write_text(log)
        assert read_metric(tmp_path, "val_acc") == [0.2]

    @pytest.mark.parametrize(
        ("metric", "better"),
        [
            ("val_loss", "lower"),
            ("test/MSE", "lower"),
            ("val-error", "lower"),
            ("perplexity", "lower"),
            ("val_acc", "higher"),
            ("glossary_score", "higher"),
            ("f1", "higher"),
        ],
    )
    def test_direction(self, metric, better):
        assert guess_better(metric) == better

    def test_choice(self):
        values = [0.2, math.nan, 0.5, 0.3]
        assert choose(values, "last", "higher") == 0.3
        assert choose(values, "best", "higher") == 0.5
        assert choose(values, "best", "lower") == 0.2
        assert math.isnan(choose([math.nan], "best", "higher"))


class TestLogged:
    def test_csv(self, tmp_path):
        """As Lightning writes it: cells are empty where a step has no such metric."""
        path = tmp_path / "lightning_logs" / "version_0" / "metrics.csv"
        path.parent.mkdir(parents=True)
        path.write_text("epoch,loss,val/acc\n0,1.5,\n0,,0.8\n1,,0.9\n")
        assert read_metric(tmp_path, "val/acc") == [0.8, 0.9]

    def test_json_lines(self, tmp_path):
        (tmp_path / "metrics.jsonl").write_text('{"val_acc": 0.8}\n[1]\n{"loss": 1}\n{"val_acc": 0.9}\n{"val_a')
        assert read_metric(tmp_path, "val_acc") == [0.8, 0.9]

    def test_tensorboard(self, tmp_path):
        pytest.importorskip("tensorboard")
        from torch.utils.tensorboard import SummaryWriter

        with SummaryWriter(str(tmp_path / "tb")) as writer:
            for step, value in enumerate([0.25, 0.5]):
                writer.add_scalar("val/acc", value, step)
                writer.add_scalar("val/loss", 1.0, step, new_style=True)
        assert read_metric(tmp_path, "val/acc") == [0.25, 0.5]
        assert read_metric(tmp_path, "val/loss") == [1.0, 1.0]

    def test_newest_file_and_print_first(self, tmp_path):
        for name, value, age in (("old", 0.1, 10), ("new", 0.2, 0)):
            path = tmp_path / f"{name}.csv"
            path.write_text(f"val_acc\n{value}\n")
            os.utime(path, (1e9 - age, 1e9 - age))
        assert read_metric(tmp_path, "val_acc") == [0.2]
        (tmp_path / "log.txt").write_text("val_acc: 0.3")
        assert read_metric(tmp_path, "val_acc") == [0.3]

    def test_missing(self, tmp_path):
        (tmp_path / "log.txt").write_text("epoch: 1 val_accuracy: 0.3, at 12:30")
        (tmp_path / "a.csv").write_text("val_f1\n0.1\n")
        with pytest.raises(MetricError, match=r"metric 'val_acc' was neither .* one: val_accuracy, val_f1, epoch"):
            read_metric(tmp_path, "val_acc")


class TestPlan:
    def test_seeds(self):
        assert parse_seeds("5") == [0, 1, 2, 3, 4]
        assert parse_seeds("7:9") == [7, 8]

    @pytest.mark.parametrize("text", ["0", "x", "5:5", "-3", "-1:3", ""])
    def test_bad_seeds(self, text):
        with pytest.raises(ValueError, match="seeds must be how many"):
            parse_seeds(text)

    @pytest.mark.parametrize(
        ("text", "message"),
        [
            ("relu", "activations must be a baseline and at least one other"),
            ("relu,relu", "each once"),
            ("relu,mpuu2", "known activation, got 'mpuu2'"),
            ("relu,crelu", "keep the number of channels"),
        ],
    )
    def test_bad_activations(self, text, message):
        with pytest.raises(ValueError, match=message):
            parse_activations(text)

    def test_runs(self, tmp_path):
        script = tmp_path / "train.py"
        script.write_text("1")
        arguments = ["--seed={seed}", "--name", "{activation}-{seed}", "--out", "{folder}"]
        folder, runs = make_runs(script, arguments, ["relu", "mpu2"], [3, 4], tmp_path / "runs", 2)
        job = runs["mpu2"][4]
        assert job.folder == folder / "mpu2" / "seed4"
        assert job.command_in(Path("/x"))[2:] == [
            "proxact.trials.run", "/x", str(script), "--seed=4", "--name", "mpu2-4", "--out", "/x",
        ]  # fmt: skip
        assert {ACTIVATION: "mpu2", SEED: "4", "OMP_NUM_THREADS": "2"}.items() <= job.environment.items()
        script.write_text("2")
        assert make_runs(script, arguments, ["relu"], [0], tmp_path / "runs", 2)[0] != folder


def one(values, base, better="higher"):
    (found,) = judge({"relu": base, "mpu2": values}, better, "val_acc")
    return found


class TestVerdict:
    base = (0.80, 0.84, 0.81, 0.79, 0.83)

    def test_numbers(self):
        """The interval and p by scipy; p twice as large for the smaller of two, by Holm."""
        stats = pytest.importorskip("scipy.stats")
        draw = random.Random(0)
        values = {"relu": self.base} | {
            name: [b + draw.gauss(mean, 0.01) for b in self.base] for name, mean in (("mpu2", 0.03), ("mpu3", 0.005))
        }
        found = judge(values, "higher")
        expected = [stats.ttest_rel(values[name], self.base) for name in ("mpu2", "mpu3")]
        small = min(range(2), key=lambda i: expected[i].pvalue)
        for i, (mine, theirs) in enumerate(zip(found, expected, strict=True)):
            interval = theirs.confidence_interval(0.95)
            assert mine.interval == pytest.approx((interval.low, interval.high))
            assert mine.difference == pytest.approx((interval.low + interval.high) / 2)
            factor = 2 if i == small else 1
            assert mine.p == pytest.approx(max(factor * theirs.pvalue, 2 * expected[small].pvalue))

    @pytest.mark.parametrize(("better", "word"), [("higher", "helps"), ("lower", "hurts")])
    def test_clear_difference(self, better, word):
        noise = (0.001, -0.001, 0.002, 0.0, -0.002)
        up = one([b + 0.03 + n for b, n in zip(self.base, noise, strict=True)], self.base, better)
        assert up.word == word
        assert up.difference == pytest.approx(0.03)
        assert up.sentence.startswith(f"mpu2 {word}: val_acc is higher than with relu by 0.03 (95 % interval 0.0")
        down = one([b - 0.03 + n for b, n in zip(self.base, noise, strict=True)], self.base, better)
        assert {up.word, down.word} == {"helps", "hurts"}
        assert "is lower than with relu by 0.03" in down.sentence

    def test_pairs_count(self):
        """A constant gain under large differences between seeds is seen only because seeds are paired."""
        base = [0.1, 0.9, 0.5, 0.3, 0.7]
        ours = [b + 0.01 + n for b, n in zip(base, (0.001, 0, -0.001, 0.001, 0), strict=True)]
        assert one(ours, base).word == "helps"
        assert one(ours[::-1], base).word == "cannot be told"

    def test_too_few_seeds(self):
        found = one([0.81, 0.83, 0.83, 0.79, 0.82], self.base)
        assert found.word == "cannot be told"
        needed = int(found.sentence.split("; about ")[1].split()[0])
        # By the normal distribution, which asks for a few seeds less than Student's.
        differences = [a - b for a, b in zip([0.81, 0.83, 0.83, 0.79, 0.82], self.base, strict=True)]
        normal = ((1.96 + 0.8416) * statistics.stdev(differences) / statistics.fmean(differences)) ** 2
        assert normal <= needed <= normal + 5

    def test_tiny_difference(self):
        found = one([0.81, 0.83, 0.81, 0.79, 0.83000001], self.base)
        assert "with 5 seeds; more than 1000 would be needed" in found.sentence

    def test_correction(self):
        """p = 0.03 alone, not among four."""
        differences = (0.02, 0.002, 0.012, 0.004, 0.016)
        ours = [b + d for b, d in zip(self.base, differences, strict=True)]
        assert one(ours, self.base).word == "helps"
        swapped = [self.base[i] for i in (1, 0, 3, 2, 4)]
        others = {f"mpu{m}": [s + 1e-3 * m for s in swapped] for m in (3, 4, 5)}
        among = judge({"relu": self.base, "mpu2": ours, **others}, "higher")[0]
        assert among.word == "cannot be told"
        assert among.interval[0] > 0
        assert "with 4 activations compared that happens by chance" in among.sentence

    def test_false_alarms(self, monkeypatch):
        """Where nothing helps, at most one try in twenty names anything, however many activations are compared."""
        monkeypatch.setattr(verdict_module, "pairs_needed", lambda *_: 9)
        draw = random.Random(1)
        tries, alarms = 400, 0
        for _ in range(tries):
            values = {name: [draw.gauss(0, 1) for _ in range(4)] for name in ("relu", "a", "b", "c")}
            alarms += any(v.word != "cannot be told" for v in judge(values, "higher"))
        assert alarms <= 0.05 * tries + 3 * math.sqrt(tries * 0.05 * 0.95)

    @pytest.mark.parametrize(
        ("values", "base", "sentence"),
        [
            ([0.9], [0.8], "with 1 seed, which shows no spread"),
            ([0.9, 0.9, 0.9], [0.8, 0.8, 0.8], "all 3 seeds gave the same value. The script sets its own seed"),
            ([0.8, 0.7], [0.8, 0.7], "val_acc is the same as with relu for every seed"),
            ([0.2, 0.3], [0.1, 0.2], "with 2 seeds: the difference is the same for each"),
            ([0.9, None, 0.9], [0.8, 0.7, 0.8], "1 of its 3 runs failed"),
            ([None, None], [0.8, 0.7], "2 of its 2 runs failed"),
            ([0.9, 0.9], [0.8, None], "1 of relu's 2 runs failed"),
            ([0.9, math.nan], [0.8, 0.7], "not a finite number in 1 of its 2 runs"),
            ([0.9, 0.8], [math.inf, 0.7], "not a finite number in 1 of relu's 2 runs"),
        ],
    )
    def test_no_answer(self, values, base, sentence):
        found = one(values, base)
        assert found.word == "cannot be told"
        assert sentence in found.sentence
        assert found.interval is None
        assert found.p is None
        text = show({"relu": base, "mpu2": values}, [found], range(len(base)), "val_acc", "last", "higher")
        assert sentence in text

    def test_seeds_at_the_limit(self):
        """One activation reaches the best value with every seed, the other does not: that is no fixed seed."""
        assert one([1.0] * 4, [0.8, 0.81, 0.79, 0.8]).word == "helps"

    def test_table(self):
        values = {"relu": [0.80, 0.82], "mpu2": [0.90, 0.93]}
        text = show(values, judge(values, "higher", "val_acc"), [0, 1], "val_acc", "last", "higher")
        rows = [line.split() for line in text.splitlines()]
        assert ["relu", "0.810", "±", "0.014", "baseline"] in rows
        assert next(row for row in rows if row[:1] == ["mpu2"])[:5] == ["mpu2", "0.915", "±", "0.021", "+0.105"]


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
