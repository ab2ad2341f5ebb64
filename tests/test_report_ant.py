"""The ant's section says what its numbers say."""

import statistics
from random import Random

import pytest

from proxact.report.results import Results
from proxact.report.sections.ant import findings, macs, section
from proxact.report.statistics import bootstrap, gain, gain_interval, seeds_needed

MACHINE = {"cpu": "a processor", "threads": 2}


def run(activation, seed, score, model="mlp", folder=None, unstable=0):
    return {
        "experiment": "ant",
        "activation": activation,
        "seed": seed,
        "config": {"preset": "paper", "model": model},
        "metrics": {"score": score, "best_return": score + 10, "unstable": unstable},
        "curve": [{"return": score * i / 4} for i in range(5)],
        "machine": MACHINE,
        "date": "2026-11-16",
        "folder": folder,
    }


def made_up(folder, gain):
    return [
        run(name, seed, base * factor, folder=folder)
        for name, factor in (("relu", 1), ("mpu2", 1 + gain))
        for seed, base in ((1, 4000.0), (2, 4100.0), (3, 3900.0))
    ]


@pytest.mark.parametrize(("gain", "verdict"), [(0.0, "outside"), (0.25, "in it")])
def test_the_claim_is_judged_by_the_interval(tmp_path, gain, verdict):
    (sentence,) = findings(made_up(tmp_path, gain))
    assert f"{100 * gain:+.1f} %" in sentence
    assert f"lies {verdict}" in sentence


def test_the_section_has_every_row_and_the_figure(tmp_path):
    (tmp_path / "play.gif").write_bytes(b"GIF89a")
    found = section(Results(made_up(tmp_path, 0.1)), tmp_path)
    for name in ("relu", "leaky_relu", "prelu", "wta", "mpu2", "leaky_mpu2", "mpu3", "elu", "mlp+"):
        assert f"<td>{name}</td>" in found.body
    assert found.body.count("not run") == 10 * 5
    assert "data:image/gif" in found.body
    assert "232.78 M" in found.body
    assert (tmp_path / "ant.png").stat().st_size > 10_000


def test_no_runs_no_findings(tmp_path):
    found = section(Results([]), tmp_path)
    assert found.findings == ()
    assert "<figure>" not in found.body


def test_runs_with_unstable_simulations_are_named(tmp_path):
    runs = [*made_up(tmp_path, 0.1), run("wta", 3, 3000.0, unstable=3), run("relu", 1, 3000.0, "mlp+", unstable=1646)]
    said = findings(runs)[-1]
    assert "1,646 in mlp+, relu, seed 1, 3 in mlp, wta, seed 3; none in the other 6 runs" in said


def test_macs_are_the_papers():
    assert macs("mpu3", "mlp") == "241.44 M"
    assert macs("wta", "mlp+") == "252.58 M"


def test_bootstrap_of_a_mean_is_as_wide_as_its_standard_error():
    values = [statistics.NormalDist().inv_cdf((i + 0.5) / 400) for i in range(400)]
    low, high = bootstrap([values], statistics.fmean, draws=4000)
    assert high - low == pytest.approx(2 * 1.96 * statistics.stdev(values) / 20, rel=0.1)


def test_seeds_needed_against_the_textbook():
    assert seeds_needed((1.0, 1.0), 1.0) == 17
    assert seeds_needed((1.0, 1.0), 0.5) == 64


def test_the_t_interval_of_a_gain_covers_what_the_bootstrap_misses():
    random = Random(1)
    covered = {"t": 0, "bootstrap": 0}
    for _ in range(600):
        ours = [random.gauss(6600.0, 600.0) for _ in range(3)]
        base = [random.gauss(6000.0, 400.0) for _ in range(3)]
        intervals = {"t": gain_interval(ours, base), "bootstrap": bootstrap([ours, base], gain, draws=300)}
        for name, (low, high) in intervals.items():
            covered[name] += low <= 10.0 <= high
    assert 0.93 * 600 < covered["t"] < 0.985 * 600
    assert covered["bootstrap"] < 0.88 * 600


def test_no_scatter_no_width():
    assert gain_interval([2.0, 2.0], [1.0, 1.0]) == (100.0, 100.0)
