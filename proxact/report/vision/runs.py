"""Which runs of ``proxact cifar10`` and ``proxact imagenet`` belong together."""

from __future__ import annotations

import functools
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch

from ...cost import cost
from ...experiments import imagenet
from ...experiments.cifar10 import Cifar10, build
from ...experiments.vision.presets import ACTIVATIONS
from ...nn import MPU

RECIPES = ("cpu", "cpu-fast", "paper")
_FREE = ("activation", "seed", "preset", "start", "grouping", "alpha", "learn_angle")
"""Fields in which runs of a protocol may differ; where they agree in all others, equal seeds make a pair."""
Run = dict[str, Any]


@dataclass
class Protocol:
    """Runs with one recipe, and those in which only the unit is another."""

    experiment: str
    recipe: str
    config: dict[str, Any]
    runs: list[Run] = field(default_factory=list)
    variants: list[Run] = field(default_factory=list)

    def of(self, activation: str) -> list[Run]:
        return [run for run in self.runs if run["activation"] == activation]

    @property
    def activations(self) -> list[str]:
        """Those that were run, in the order of the tables."""
        return in_order({run["activation"] for run in self.runs})


def protocols(summaries: Sequence[Run]) -> list[Protocol]:
    """One for each recipe and whatever else was different, such as the network or the pictures."""
    found: dict[str, Protocol] = {}
    ours = [run for run in summaries if run["experiment"] in ("cifar10", "imagenet")]
    for run in ours:
        recipe = run["config"]["preset"]
        if recipe in RECIPES:
            found.setdefault(shared(run), Protocol(run["experiment"], recipe, run["config"])).runs.append(run)
    for run in ours:
        own = found.get(shared(run))
        if own and run["config"]["preset"] != own.recipe and not run["config"].get("start"):
            own.variants.append(run)
    return sorted(found.values(), key=lambda protocol: (RECIPES.index(protocol.recipe), protocol.experiment))


def shared(run: Run) -> str:
    kept = {name: value for name, value in run["config"].items() if name not in _FREE}
    if kept.get("decay") == "all":
        kept["decay"] = "all-but-angles"  # another unit, not another recipe: nothing else is decayed differently
    return json.dumps([run["experiment"], kept], sort_keys=True)


def by_recipe(runs: Iterable[Run]) -> dict[tuple[str, ...], list[Run]]:
    """Runs of any experiment that differ in nothing but the seed, by recipe, network with its pictures, activation."""
    found: dict[tuple[str, ...], list[Run]] = {}
    for run in runs:
        config = run["config"]
        extra = f"-plus{config['extra_epochs']}" if config.get("extra_epochs") else ""
        width = f"width {config['width']}" if "width" in config else ""
        recipe = config["preset"] + extra, config.get("precision")
        network = config["model"], width, config.get("data")
        said = [", ".join(filter(None, words)) for words in (recipe, network)]
        found.setdefault((*said, run["activation"]), []).append(run)
    return dict(sorted(found.items()))


def in_order(names: Iterable[str]) -> list[str]:
    known = set(names)
    return [*(name for name in ACTIVATIONS if name in known), *sorted(known - set(ACTIVATIONS))]


def macs(config: dict[str, Any], activation: str) -> str:
    """Of a forward pass of one batch, by the paper's rule."""
    side = config.get("size", 32)
    return f"{_macs(config['model'], config.get('width'), side, config['batch'], activation) / 1e9:.3f} G"


def layers(config: dict[str, Any], activation: str) -> list[str]:
    """The names of the units, in the order of a run's columns angle0, angle1, ..."""
    net = _net(config["model"], config.get("width"), config.get("size", 32), activation)
    return [name for name, module in net.named_modules() if isinstance(module, MPU)]


@functools.cache
def _macs(model: str, width: int | None, side: int, batch: int, activation: str) -> int:
    with torch.device("meta"):
        x = torch.empty(batch, 3, side, side)
    return cost(_net(model, width, side, activation), x).total


def _net(model: str, width: int | None, side: int, activation: str) -> torch.nn.Module:
    """CIFAR10's networks have a width, ImageNet's have theirs by name."""
    with torch.device("meta"):
        if width is not None:
            return build(Cifar10(activation, model=model, width=width))
        return imagenet.build(imagenet.Imagenet(activation, model=model, size=side), 1000)
