"""The section on vision says what its numbers say, pair by pair."""

import itertools
import json
import statistics

import pytest
from vision_summaries import RELU, STEADY, ablations, by_first, finetuning, made, protocol, tables

from proxact.experiments.vision.recording import metrics
from proxact.report import build, markdown
from proxact.report.html import MISSING
from proxact.report.pairs import compare
from proxact.report.results import Results, read_results
from proxact.report.sections.angles import by_setting
from proxact.report.sections.vision import findings, section
from proxact.report.statistics import holm, paired_difference, pairs_needed
from proxact.report.vision.protocol import CLAIM, sentences
from proxact.report.vision.runs import layers, protocols
from proxact.report.vision.units import variant


@pytest.fixture(scope="module")
def shown(tmp_path_factory):
    folder = tmp_path_factory.mktemp("figures")
    runs = [*protocol(), *ablations(), *finetuning(), *protocol("cpu-fast")]
    return section(Results(runs), folder), folder


def test_the_table_of_the_protocol(shown):
    rows = by_first(tables(shown[0].body)[0])
    assert list(rows) == ["relu", "leaky_relu", "prelu", "wta", "mpu2", "leaky_mpu2", "mpu3", "gelu", "silu"]
    relu, mpu2 = rows["relu"], rows["mpu2"]
    assert relu["last epoch"] == f"{statistics.fmean(RELU.values()):.2f} ± {statistics.stdev(RELU.values()):.2f}"
    assert relu["against ReLU"] == ""
    # By hand: mean 0.5, deviation 0.0381, t of 4 degrees of freedom 2.776: 0.5 ± 0.047.
    assert mpu2["against ReLU"] == "+0.50 (+0.45 to +0.55)"
    assert mpu2["pairs"] == mpu2["n"] == "5"
    assert mpu2["best epoch"] == f"{statistics.fmean(RELU.values()) + 0.5 + 0.3:.2f}"
    assert mpu2["max"] == f"{88.5 + 0.45 + 0.3:.2f}"
    assert mpu2["step"] == f"{1200 / 1150:.2f} (1150/s)"
    assert mpu2["hardware"] == "a processor, 2 threads"
    assert mpu2["date"] == "2026-11-16"
    assert rows["prelu"]["against ReLU"].startswith("-1.00 (-1.09 to -0.91)")
    assert rows["gelu"]["last epoch"] == MISSING
    assert rows["gelu"]["n"] == "0"


def test_holm_over_the_table(shown):
    rows = by_first(tables(shown[0].body)[0])
    gaps = {
        "prelu": [-2 * gap for gap in STEADY.values()],
        "wta": [1, -1, 0.5, -0.5, 0.1],
        "mpu2": list(STEADY.values()),
        "mpu3": [0.1, 0.2],
    }
    raw = {name: paired_difference(gap, [0.0] * len(gap))[3] for name, gap in gaps.items()}
    for name, expected in zip(raw, holm(list(raw.values())), strict=True):
        printed_p = rows[name]["Holm's p"]
        assert printed_p == ("< 0.001" if expected < 0.001 else f"{expected:.3f}"), name


def test_a_seed_without_relu_is_left_out_and_named(shown):
    body = shown[0].body
    row = by_first(tables(body)[0])["mpu3"]
    assert (row["pairs"], row["n"]) == ("2", "3")
    assert row["against ReLU"].startswith("+0.15 ")  # the 60 % of seed 9 are not in it
    assert "mpu3: seed 9 has no ReLU run beside it and is left out." in body


@pytest.mark.parametrize(
    ("name", "verdict"),
    [("mpu2", "better"), ("prelu", "worse"), ("wta", "cannot be told apart"), ("mpu3", "cannot be told apart")],
)
def test_each_activation_gets_a_verdict(shown, name, verdict):
    (sentence,) = [said for said in shown[0].findings if said.startswith(f"ResNet18 of width 16: {name} against ReLU:")]
    assert f": {verdict}, " in sentence


def test_the_power_statement(shown):
    (sentence,) = [said for said in shown[0].findings if "four of five" in said and said.startswith("ResNet18")]
    assert CLAIM == 0.18  # 95.53 - 95.35
    assert "+0.18 points" in sentence
    assert f"{pairs_needed(list(STEADY.values()), 0.18)} for mpu2 (of 5)" in sentence
    assert f"{pairs_needed([0.1, 0.2], 0.18)} for mpu3 (of 2)" in sentence


def test_runs_are_paired_by_seed_in_any_order():
    ours, base = [made("mpu2", s, v + 0.5) for s, v in RELU.items()], [made("relu", s, v) for s, v in RELU.items()]
    for order in itertools.permutations(ours):
        (result,) = compare({"mpu2": order}, base).values()
        assert result.differences == pytest.approx([0.5] * 5)
        assert (result.mean, result.verdict) == (pytest.approx(0.5), "better")
    (other_way,) = compare({"relu": base}, ours).values()
    assert (other_way.mean, other_way.verdict) == (pytest.approx(-0.5), "worse")


def test_one_pair_tells_nothing():
    runs = [made("relu", 1, 88.0), made("mpu2", 1, 95.0)]
    (protocol_,) = protocols(runs)
    assert "+7.00 points in one pair, which tells nothing" in sentences(protocol_)[1]
    assert not any("better" in sentence or "four of five" in sentence for sentence in sentences(protocol_))


def test_other_pictures_make_no_pairs(tmp_path):
    runs = [made("relu", 1, 88.0), made("mpu2", 1, 60.0)]
    runs[1]["config"]["data"] = "idx 99"
    assert len(protocols(runs)) == 2
    assert "-28" not in section(Results(runs), tmp_path).body


def test_an_angle_at_its_limit_is_named():
    runs = protocol()
    units = [run for run in runs if run["activation"] == "mpu2"]
    for run in units:
        run["curve"][-1]["angle16"] = 1.5666
    (own,) = protocols(runs)
    assert sentences(own)[-1] == "mpu2: blocks.7.activation ends at 1.567 rad in all 5 runs, nearly a half-space."
    units[0]["curve"][-1]["angle16"] = 1.5
    assert "half-space" not in sentences(own)[-1]


def test_other_pictures_are_named(tmp_path):
    runs = [made("relu", 1, 93.0)]
    runs[0]["config"]["data"] = "other: idx 99"
    assert findings(runs)[0].startswith("ResNet18 of width 16 on other: idx 99: ReLU reaches 93.00")
    assert "on CIFAR10</h3>" not in section(Results(runs), tmp_path).body


def test_ablations_against_the_usual_unit(shown):
    rows = by_first(tables(shown[0].body)[2])
    assert list(rows) == [
        "usual: channels, angle learnt from pi/4",
        "angle fixed at pi/4",
        "angle learnt from 0.6 rad",
        "flattened, as the paper writes",
    ]
    against = {name: row["against the usual mpu2"] for name, row in rows.items()}
    assert against["angle learnt from 0.6 rad"] == "-0.30 (-0.32 to -0.28)"
    assert against["angle fixed at pi/4"].split(" ")[0] in ("+0.00", "-0.00")
    assert against["flattened, as the paper writes"] == "+0.70"
    assert [row["n"] for row in rows.values()] == ["5", "3", "3", "1"]
    assert any("(angle learnt from 0.6 rad) against the usual one: worse" in said for said in shown[0].findings)


def test_the_published_unit_is_a_variant():
    runs = [*protocol(), made("mpu2", 1, 80.0, published=True)]
    (found,) = protocols(runs)
    assert [variant(run) for run in found.variants] == ["angle fixed at 0 rad, groups along the last axis"]


def test_fine_tuning_against_going_on(shown):
    relu, mpu2 = tables(shown[0].body)[-3]
    assert relu["before"] == mpu2["before"] == f"{(88.0 + 87.0) / 2:.2f}"
    assert relu["last epoch"].startswith("87.70 ")
    assert mpu2["against relu"].startswith("+0.15 (")
    assert mpu2["pairs"] == "2"
    assert any(
        "ReLUs become mpu2, against going on with ReLU: cannot be told apart, +0.15" in s for s in shown[0].findings
    )


def test_the_second_architecture_has_its_own_table(shown):
    found = tables(shown[0].body)
    (index,) = [i for i, rows in enumerate(found) if i and next(iter(rows[0])) == "activation"]
    row = by_first(found[index])["mpu2"]
    assert row["against ReLU"] == "+0.50 (+0.45 to +0.55)"
    assert row["MACs"] != by_first(found[0])["mpu2"]["MACs"]


def test_angles_of_every_layer(shown):
    body, folder = shown[0].body, shown[1]
    rows = tables(body)[1]
    names = layers(made("mpu2", 1, 1.0)["config"], "mpu2")
    assert [row["layer"] for row in rows] == names
    assert (len(names), names[0], names[-1]) == (17, "stem.2", "blocks.7.activation")
    assert rows[0]["mpu2, angle at the end"] == "0.705 ± 0.000"  # pi/4 - 16 epochs of 0.005
    for name in ("cifar10-cpu.png", "cifar10-cpu-accuracy.svg", "cifar10-cpu-angles-mpu2.svg", "cifar10-cpu-fast.png"):
        assert (folder / name).stat().st_size > 10_000


def test_no_runs_no_findings(tmp_path):
    found = section(Results([]), tmp_path)
    assert found.findings == ()
    assert "Nothing was run" in found.body
    assert "<figure>" not in found.body


def test_angles_of_variants_are_named_by_their_preset():
    labels = by_setting([*ablations(), *protocol(), *finetuning()])
    assert "cifar10, resnet18, mpu2, cpu" in labels
    assert "cifar10, resnet18, mpu2, cpu-alpha0.6" in labels
    assert len(labels["cifar10, resnet18, mpu2, cpu"]) == 5
    assert len(labels["cifar10, resnet18, mpu2, cpu-epochs4-peak0.02-from-relu"]) == 2
    assert "cifar10, resnet18, mpu3" in labels  # alone of its kind


def test_the_whole_page(tmp_path):
    for i, run in enumerate([*protocol(), *ablations(), *finetuning()]):
        (tmp_path / f"runs/{i}").mkdir(parents=True)
        (tmp_path / f"runs/{i}/summary.json").write_text(json.dumps(run))
    page, said = build([tmp_path / "runs"], tmp_path / "out")
    source = page.read_text()
    assert 'id="vision"' in source
    assert any("four of five" in sentence for sentence in said)
    assert str(tmp_path) not in source


def test_steps_of_other_kernels_are_not_compared(tmp_path):
    runs = protocol()
    for run in runs:
        if run["activation"] == "mpu2":
            run["machine"] = {**run["machine"], "convolutions": "others"}
    rows = by_first(tables(section(Results(runs), tmp_path).body)[0])
    assert rows["mpu2"]["step"] == ""
    assert rows["prelu"]["step"] == "1.00 (1200/s)"


def test_steps_are_the_benchmarks_where_it_was_run(tmp_path):
    for i, run in enumerate([*protocol(), *protocol("cpu-fast")]):
        (tmp_path / f"runs/{i}").mkdir(parents=True)
        (tmp_path / f"runs/{i}/summary.json").write_text(json.dumps(run))
    relu = {"proxact, relu": {"ratio": 1.0, "images_per_second": 617.0}}
    here, other = protocol()[0]["config"]["precision"], "fp16"
    (tmp_path / "bench").mkdir()
    for precision, measured in ((other, {"mpu2": 3.0, "wta": 2.0}), (here, {"mpu2": 1.234})):
        rows = {f"proxact, {name}": {"ratio": ratio, "images_per_second": 1.0} for name, ratio in measured.items()}
        record = {"precision": precision, "widths": {"16": {**relu, **rows}, "64": {}}}
        (tmp_path / f"bench/cifar10-{precision}.json").write_text(json.dumps(record))
    body = section(read_results([tmp_path]), tmp_path).body
    slim, fast = (by_first(rows) for rows in tables(body) if "step" in rows[0])
    assert slim["mpu2"]["step"] == "1.23 (500/s)"  # of the speed that the record has for ReLU
    assert slim["wta"]["step"] == "2.00 (308/s), fp16"  # not measured in the runs' own precision
    assert slim["prelu"]["step"] == "1.00 (1200/s)"  # not in the record
    assert fast["mpu2"]["step"] == "1.04 (1150/s)"  # another network


def test_unlike_pairs_and_a_lone_relu_run_are_named(tmp_path):
    runs = [*protocol(), made("relu", 6, 80.0)]
    assert "convolution kernels" not in section(Results(runs), tmp_path).body
    for run in runs:
        if run["activation"] == "mpu2" and run["seed"] > 3:
            run["machine"] = {**run["machine"], "convolutions": "others"}
    body = section(Results(runs), tmp_path).body
    assert "convolution kernels: mpu2 2 of 5." in body
    assert "relu: its mean counts seed 6, which no other has." in body


def test_minutes_are_those_of_the_runs_with_most_threads():
    runs = protocol()
    for run in runs[1:]:
        run["machine"], run["wall_seconds"] = {**run["machine"], "threads": 1}, 3000.0
    assert sentences(protocols(runs)[0])[0].endswith("(5 seeds, 13 min for the 1 run on 2 cores).")
    runs[1] |= {"machine": runs[0]["machine"], "wall_seconds": 600.0}
    assert sentences(protocols(runs)[0])[0].endswith("(5 seeds, 10 to 13 min for the 2 runs on 2 cores).")


def test_a_run_without_a_measured_pace(tmp_path):
    """Stopped after the last step of its only epoch, it went on with nothing to time."""
    kept = metrics([{"epoch": 1, "accuracy": 50.0, "train_loss": 1.0}])
    assert kept["last_accuracy"] == 50
    runs = [made("relu", 1, 88.0), made("mpu2", 1, 88.0)]
    runs[1]["metrics"] = kept
    assert by_first(tables(section(Results(runs), tmp_path).body)[0])["mpu2"]["step"] == ""


def test_the_pages_say_what_the_report_says(shown):
    said = markdown.findings("cifar10", [*protocol(), *ablations(), *finetuning(), *protocol("cpu-fast")])
    assert said.splitlines() == [f"- {markdown.literal(sentence)}" for sentence in shown[0].findings]
    assert "on 2 cores" in said
