"""The MAC columns of the paper to the digit, and the command that says where they contradict themselves."""

import json
import re
from collections import Counter
from pathlib import Path

import pytest
import torch

import proxact
from proxact.cost import cost
from proxact.cost.command import CONTRADICTIONS, NETWORKS, describe, digits

PAPER = json.loads((Path(proxact.__file__).parent / "report/paper.json").read_text())
PAPER_SOURCE = Path(__file__).parents[2] / "shared/paper/paper.tex"

EXCEPTIONS = {
    ("resnet18", "leaky_mpu2", 0): ("71.56G", "71.71G", "repeats the row of MPU"),
    ("resnet18", "leaky_relu", 2): ("71.95G", "71.96G", "71.24 was rounded before it was multiplied"),
    ("resnet18", "wta", 2): ("71.95G", "71.96G", "71.24 was rounded before it was multiplied"),
    ("resnet18+", "prelu", 0): ("80.85G", "80.84G", "PReLU counts as ReLU in every other table"),
    ("resnet18+", "wta", 0): ("80.90G", "80.91G", "WTA counts as Leaky ReLU in every other table"),
}
"""(network, activation, extra epochs): what the paper prints, what its rule gives, why."""

BY_PAPER_NAME = {network.name_in_paper: network for network in NETWORKS.values()}
PRINTED = sorted(
    {
        (row["network"], row["activation"], row.get("extra_epochs", 0), row["macs"])
        for table in PAPER["tables"].values()
        for row in table["rows"]
        if "macs" in row
    }
)


def by_rule(network, activation, extra):
    """As the paper prints it; the batch of the caption, the mean over 200 epochs."""
    entry = BY_PAPER_NAME[network]
    batch = {"mlp": 4096, "mlp+": 4096}.get(network, 128)
    with torch.device("meta"):
        total = cost(entry.make(activation), torch.empty(batch, *entry.shape)).total
    return digits(total * (200 + extra) / 200)


@pytest.mark.parametrize(("network", "activation", "extra", "macs"), PRINTED)
def test_the_columns_of_the_paper(network, activation, extra, macs):
    found = by_rule(network, activation, extra)
    printed, by_its_rule, _ = EXCEPTIONS.get((network, activation, extra), (macs, macs, ""))
    assert (macs, found) == (printed, by_its_rule)


def test_there_are_no_other_exceptions():
    assert EXCEPTIONS.keys() == CONTRADICTIONS.keys()
    assert EXCEPTIONS.keys() <= {row[:3] for row in PRINTED}
    assert len(PRINTED) == 9 + 7 + 4 + 4 + 4  # CIFAR10, Ant, two epochs more, ResNet18+, MLP+
    assert all(printed != ours for printed, ours, _ in EXCEPTIONS.values())


NETWORKS_IN_TEX = {
    "ResNet18": "resnet18",
    "ResNet18+": "resnet18+",
    "ResNet34": "resnet34",
    "ResNet50": "resnet50",
    "MLP": "mlp",
    "MLP with 3 hidden layers": "mlp",
    "MLP+ with 3 hidden layers": "mlp+",
}


def rows_of_the_source():
    """(network, activation, extra epochs, MACs) of every row of a table that ends on such a number."""
    network = ""
    for line in PAPER_SOURCE.read_text().splitlines():
        macs = re.search(r"&\s*(\d+\.\d+[GM])\s*(?:&|\\\\)", line)
        if not macs:
            continue
        cells = [cell.strip() for cell in line[: macs.start()].split("&")]
        names = [re.sub(r"^\\multirow\{\d+\}\{\*\}\{(.*)\}$", r"\1", cell) for cell in cells]
        network = next((NETWORKS_IN_TEX[name] for name in names if name in NETWORKS_IN_TEX), network)
        told = next(cell for cell in cells if re.search(r"ReLU|WTA|MPU", cell))
        dimension = re.search(r"\^\{\((\d)\)\}", told)
        name = next(name for name in ("Leaky ReLU", "PReLU", "ReLU", "WTA", "Leaky MPU", "MPU") if name in told)
        extra = re.search(r"\+(\d) epochs", told)
        activation = name.lower().replace(" ", "_") + (dimension[1] if dimension else "")
        yield network, activation, int(extra[1]) if extra else 0, macs[1]


@pytest.mark.skipif(not PAPER_SOURCE.exists(), reason="the paper's source is not beside the project")
def test_the_columns_are_those_of_the_source():
    found = Counter(rows_of_the_source())
    assert set(found) == set(PRINTED)
    assert found.total() == 9 + 7 + 13 + 13 + 11


@pytest.mark.parametrize(("network", "activation", "extra"), EXCEPTIONS)
def test_the_command_says_where_the_paper_contradicts_itself(network, activation, extra):
    printed, by_its_rule, _ = EXCEPTIONS[network, activation, extra]
    text = describe(network, activation)
    assert re.search(rf"The paper prints {printed}.*; its rule gives {by_its_rule}: \w+", text)


def test_the_command():
    assert "The paper" not in describe("ant-mlp", "mpu3", rule="exact")
    assert "The paper" not in describe("ant-mlp", "mpu3", batch=7)
    text = describe("ant-mlp", "mpu3")
    assert text.startswith("ant-mlp, mpu3, batch 4096, rule 'paper': 241.44M MACs\n")
    assert text.endswith("\nThe paper prints 241.44M.")
    assert "; its rule gives 71.71G" in describe("resnet18", "Leaky-MPU")
    assert "5       MPU" in describe("ant-mlp", "mpu3", modules=True)
    assert describe("resnet18", batch=2).startswith("resnet18, relu, batch 2, rule 'paper': 1.11G")
    with pytest.raises(ValueError, match=r"network must be one of resnet18, .*timm/<name>.*got 'resnet19'"):
        describe("resnet19")
    with pytest.raises(ValueError, match="batch must be an int >= 1, got 0"):
        describe("resnet18", batch=0)
    with pytest.raises(ValueError, match="rule must be one of"):
        describe("ant-mlp", rule="none")


def test_networks_of_libraries():
    pytest.importorskip("torchvision")
    assert describe("torchvision/resnet18").startswith("torchvision/resnet18, as it is, batch 1, rule 'paper': 1.82G")
    with pytest.raises(ValueError, match="torchvision has no model 'resnet19'"):
        describe("torchvision/resnet19")
    text = describe("torchvision/resnet18", "mpu2")
    assert re.search(r"\* +MPU +17 ", text)
    assert text.endswith("\n17 activations replaced by mpu2.")
    pytest.importorskip("timm")
    assert describe("timm/resnet18").startswith("timm/resnet18, as it is, batch 1, rule 'paper': 1.82G")
    with pytest.raises(ValueError, match="timm has no model 'resnet19'"):
        describe("timm/resnet19")
