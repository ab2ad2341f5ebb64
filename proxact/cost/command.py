"""``proxact cost``: a network by name, its count, and what the paper prints for it."""

from __future__ import annotations

import functools
import importlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import nn

from .._checks import check_positive_int
from ..models import CIFAR_RESNETS, cifar_resnet
from ..models.mlp import ANT_UNITS, mlp
from ..registry import canonical
from .count import cost
from .result import Cost

PAPER = json.loads((Path(__file__).parent.parent / "report" / "paper.json").read_text())

CONTRADICTIONS = {
    ("resnet18", "leaky_mpu2", 0): "it repeats the row of MPU, where the Ant's table counts 2 more for each element",
    ("resnet18", "leaky_relu", 2): "that is 71.24G x 202/200, rounded before it was multiplied",
    ("resnet18", "wta", 2): "that is 71.24G x 202/200, rounded before it was multiplied",
    ("resnet18+", "prelu", 0): "in every other table PReLU counts as much as ReLU",
    ("resnet18+", "wta", 0): "in every other table WTA counts as much as Leaky ReLU",
}
"""(network, activation, extra epochs) where the paper's digits are not those of its own rule, and what it did there."""


class Network(NamedTuple):
    make: Callable[[str], nn.Module]
    shape: tuple[int, ...]  # of one sample
    batch: int
    name_in_paper: str


NETWORKS = {
    **{name: Network(functools.partial(cifar_resnet, name), (3, 32, 32), 128, name) for name in CIFAR_RESNETS},
    **{
        f"ant-{name}": Network(functools.partial(mlp, (60, *units, 8)), (60,), 4096, name)
        for name, units in ANT_UNITS.items()
    },
}
LIBRARIES = ("timm", "torchvision")


def describe(
    network: str, activation: str | None = None, batch: int | None = None, rule: str = "paper", modules: bool = False
) -> str:
    """The text of ``proxact cost``.

    Args:
        network: one of ``NETWORKS``, or ``timm/<name>`` or ``torchvision/<name>``.
        activation: a name of :func:`proxact.names`; ReLU, or what the library's network has, if not given.
        batch: samples; the paper's if not given, 1 for the networks of libraries.
        rule: of :func:`proxact.cost`.
        modules: a row for each module instead of one for each class of modules.

    Example:
        >>> print(describe("ant-mlp", "mpu3"))
        ant-mlp, mpu3, batch 4096, rule 'paper': 241.44M MACs
        module  kind    calls       matmul  norm  activation        total
        *       Linear      4  232,783,872     0           0  232,783,872
        *       MPU         3            0     0   8,658,944    8,658,944
        ------  ------  -----  -----------  ----  ----------  -----------
        all                 7  232,783,872     0   8,658,944  241,442,816
        The paper prints 241.44M.
    """
    if batch is not None:
        check_positive_int("batch", batch)
    notes: list[str] = []
    if network in NETWORKS:
        entry = NETWORKS[network]
        activation, shape, usual = activation or "relu", entry.shape, entry.batch
        with torch.device("meta"):
            model = entry.make(activation)
    else:
        model, shape = _from_library(network)
        usual = 1
        if activation is not None:
            model, notes = _converted(model, activation, shape)
    batch = batch or usual
    found = cost(model.to("meta"), torch.empty(batch, *shape, device="meta"), rule)
    title = f"{network}, {activation or 'as it is'}, batch {batch}, rule {rule!r}: {digits(found.total)} MACs"
    if network in NETWORKS and batch == usual:
        notes = _beside_paper(network, str(activation), found)
    return "\n".join([title, found.table(None if modules else found.by_kind()), *notes])


def digits(macs: float) -> str:
    """As the paper prints them.

    Example:
        >>> digits(71_172_751_360)
        '71.17G'
    """
    return f"{macs / 1e9:.2f}G" if macs >= 1e9 else f"{macs / 1e6:.2f}M"


def _beside_paper(network: str, activation: str, found: Cost) -> list[str]:
    """What the paper prints for this network, after 200 epochs or 202, and why, where its rule gives other digits."""
    if found.rule != "paper":
        return []
    name, said = NETWORKS[network].name_in_paper, {}
    key = canonical(activation)
    for row in [row for table in PAPER["tables"].values() for row in table["rows"] if "macs" in row]:
        if (row["network"], row["activation"]) == (name, key):
            macs, extra = row["macs"], row.get("extra_epochs", 0)
            ours = digits(found.total * (200 + extra) / 200)
            reason = "" if ours == macs else f"; its rule gives {ours}: {CONTRADICTIONS[name, key, extra]}"
            said[extra] = f"The paper prints {macs}" + (f" with {extra} more epochs" if extra else "") + f"{reason}."
    return list(said.values())


def _from_library(network: str) -> tuple[nn.Module, tuple[int, ...]]:
    library, _, name = network.partition("/")
    if library not in LIBRARIES or not name:
        raise ValueError(
            f"network must be one of {', '.join(NETWORKS)}, or timm/<name> or torchvision/<name>; got {network!r}"
        )
    try:
        package: Any = importlib.import_module(library if library == "timm" else "torchvision.models")
    except ModuleNotFoundError as error:
        raise ValueError(f"network {network!r} needs {error.name}: pip install {library}") from error
    if library == "timm":
        if not package.is_model(name):
            raise ValueError(f"network: timm has no model {name!r}")
        model = package.create_model(name)
        return model, tuple(model.pretrained_cfg["input_size"])
    if name not in package.list_models():
        raise ValueError(f"network: torchvision has no model {name!r}")
    size = 299 if name == "inception_v3" else 224
    more = {"init_weights": False} if name in ("googlenet", "inception_v3") else {}
    return package.get_model(name, **more), (3, size, size)


def _converted(model: nn.Module, activation: str, shape: tuple[int, ...]) -> tuple[nn.Module, list[str]]:
    from ..conversion import convert

    model, report = convert(model, to=activation, example_input=torch.zeros(1, *shape), verify=False)
    said = [f"{len(report.replaced)} activations replaced by {activation}."]
    said += [f"Not replaced: {site.name}, {site.what}: {site.reason}." for site in report.skipped]
    return model, said
