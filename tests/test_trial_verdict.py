"""proxact try: which runs there are, and what their differences say."""

import math
import random
import statistics
from pathlib import Path

import pytest

from proxact.trials import verdict as verdict_module
from proxact.trials.model import ACTIVATION, SEED
from proxact.trials.plan import make_runs, parse_activations, parse_seeds
from proxact.trials.show import show
from proxact.trials.verdict import judge


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
