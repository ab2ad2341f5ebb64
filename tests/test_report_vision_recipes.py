"""Runs with the paper's recipes, and with recipes that are nobody's: each where it belongs."""

from vision_summaries import RELU, by_first, made, made_imagenet, protocol, tables

from proxact.report import markdown
from proxact.report.html import MISSING
from proxact.report.results import Results
from proxact.report.sections.paper_tables import PAPER
from proxact.report.sections.vision import section
from proxact.report.vision.paper import printed
from proxact.report.vision.runs import macs


def test_other_pictures_are_not_the_papers(tmp_path):
    fashion = made("mpu2", 1, 93.0, "paper")
    fashion["config"]["data"] = "other: idx 99"
    tiny = made_imagenet("mpu2", 1, 40.0, data="tiny-imagenet, 200 classes, 10000 pictures")
    body = section(Results([fashion, tiny]), tmp_path).body
    *_, cifar, imagenet = tables(body)
    assert {row["n"] for row in (*cifar, *imagenet)} == {"0"}
    for name in (f"width 64 on {fashion['config']['data']}", f"ResNet18 on {tiny['config']['data']}"):
        assert f"{name}</h3>" in body
    *_, imagenet = tables(section(Results([fashion, tiny, made_imagenet("mpu2", 1, 70.0)]), tmp_path).body)
    assert [row["activation"] for row in imagenet if row["n"] == "1"] == ["mpu2"]


def test_the_papers_recipes_are_drawn_and_compared_too(tmp_path):
    """Curves, angles, MACs and differences as for the CPU's protocol, and what is changed in the unit as a variant."""
    runs = [run for run in protocol("paper") if run["activation"] in ("relu", "mpu2")]
    runs += [made("mpu2", seed, RELU[seed], "paper", decay="all") for seed in (1, 2)]
    runs += [made_imagenet(name, seed, 70.0 + seed) for name in ("relu", "mpu2") for seed in (1, 2)]
    runs += [made_imagenet(name, 1, 74.0, model="deit_tiny") for name in ("relu", "mpu3")]
    found = section(Results(runs), tmp_path)
    rows = [by_first(part) for part in tables(found.body) if "against ReLU" in part[0]]
    assert [list(part) for part in rows] == [["relu", "mpu2"], ["relu", "mpu2"], ["relu", "mpu3"]]
    assert rows[0]["mpu2"]["against ReLU"] == "+0.50 (+0.45 to +0.55)"
    # A picture of ImageNet: convolutions and linear layer 1.814 G (torchvision's own number), batch norm 2.484 M.
    assert [part["relu"]["MACs"] for part in rows[:2]] == ["71.173 G", f"{256 * (1.814073344 + 0.002483712):.3f} G"]
    for stem in ("cifar10-paper", "imagenet-paper", "imagenet-paper-2"):
        assert (tmp_path / f"{stem}-accuracy.svg").exists()
    assert (tmp_path / "imagenet-paper-2-angles-mpu3.svg").exists()
    assert any("ResNet18 of width 64: mpu2 (angle decayed) against the usual one: worse" in s for s in found.findings)
    assert not any("half-space" in sentence for sentence in found.findings)


def test_macs_scale_from_the_papers():
    config = made("relu", 1, 1.0, width=64, batch=128)["config"]
    assert macs(config, "relu") == "71.173 G"
    assert macs(config, "mpu3") == "71.536 G"


def test_the_papers_rows_once_each_and_ours_beside_them(tmp_path):
    paper = [made("mpu2", seed, 95.0 + seed / 10, "paper") for seed in (1, 2, 3)]
    paper += [made("mpu2", 1, 94.0, "paper", published=True), made("relu", 1, 95.4, "paper-plus2")]
    *_, cifar, imagenet = tables(section(Results(paper), tmp_path).body)
    for rows, experiment in ((cifar, "cifar10"), (imagenet, "imagenet")):
        theirs = [row for e in PAPER["tables"].values() if e["experiment"] == experiment for row in e["rows"]]
        assert {row["paper"].split(" ± ")[0] for row in rows} == {f"{row['mean']:.2f}" for row in theirs}
    assert len(imagenet) == len(printed("imagenet")) == 12
    assert len(cifar) == 9 + 5 + 4 + 4 + 3 + 1  # ResNet18 to 50, 101, two epochs more, ResNet18+, m = 4..6; published
    found = {(row["network"], row["activation"]): row for row in cifar}
    ours = found["resnet18", "mpu2"]
    assert ours["paper"] == "95.51 ± 0.10"
    assert ours["ours, best epoch"] == "95.50 ± 0.10"
    assert ours["ours, max"] == "95.60"
    assert ours["ours, last epoch"] == "95.20 ± 0.10"
    assert found["resnet18", "mpu2, as published"]["ours, last epoch"] == "94.00"
    assert found["resnet18, 2 epochs more", "relu"]["ours, last epoch"] == "95.40"
    assert found["resnet18", "relu"]["ours, last epoch"] == MISSING


def test_other_recipes_are_named_and_not_mixed_in(tmp_path):
    runs = [*protocol(), made("relu", 1, 10.0, epochs=8)]
    body = section(Results(runs), tmp_path).body
    assert by_first(tables(body)[0])["relu"]["n"] == "5"
    (row,) = tables(body)[-1]
    assert (row["recipe"].split(",")[0], row["last epoch"]) == ("cpu-epochs8", "10.00")


def test_other_recipes_keep_what_differs_apart(tmp_path):
    runs = [
        made("relu", seed, 80.0 + seed, epochs=18, **more)
        for seed, more in enumerate(({}, {"precision": "fp16"}, {"extra_epochs": 3}, {"width": 32}, {}))
    ]
    runs[-1]["config"]["data"] = "other: idx 99"
    for run in runs:
        run["config"]["preset"] = "cpu-epochs18"
    *_, rest = tables(section(Results(runs), tmp_path).body)
    assert sorted(row["last epoch"] for row in rest) == ["80.00", "81.00", "82.00", "83.00", "84.00"]
    shown = markdown.others("cifar10", runs)
    assert all(f"| {80 + i}.00 | 1 |" in shown for i in range(5))


def test_a_gpu_is_the_hardware(tmp_path):
    runs = [made("relu", seed, 95.0, "paper") for seed in (1, 2)]
    for run, processes in zip(runs, (1, 4), strict=True):
        run["machine"] |= {"gpu": "some GPU", "processes": processes}
    rows = tables(section(Results(runs), tmp_path).body)[0]
    assert next(row for row in rows if row["n"] == "2")["hardware"] == "4 x some GPU; some GPU"
