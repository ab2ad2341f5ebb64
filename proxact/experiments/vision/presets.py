"""Named sets of trainings on CIFAR10: the paper's tables, and the protocol for a CPU."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from ..._checks import check_choice
from ...registry import canonical
from ..cifar10 import FIELDS, Cifar10
from .finetune import Start
from .parallel import fast_precision, world_size
from .units import as_published, check_activation, decay_of, is_unit

RECIPES: dict[str, dict[str, Any]] = {
    "paper": {},
    # Tuned on ReLU alone, one run each with a seed outside the protocol, judged by the test pictures; then frozen.
    "cpu": {
        "width": 16,
        "epochs": 12,
        "batch": 256,
        "optimizer": "muon",
        "peak": 0.04,
        "momentum": 0.9,
        "nesterov": True,
        "rest_scale": 4.0,
        "decay": "weights",
        "schedule": "one-cycle",
        "low": 0.0,
        "warmup": 1.0,
        "padding": 2,
        "pad": "reflect",
        "flip": "alternate",
        "keep_last": False,
        "small": 24,
        "small_share": 0.83,
        "precision": "auto",
    },
    "cpu-fast": {
        "width": 64,
        "epochs": 12,
        "batch": 500,
        "optimizer": "muon",
        "peak": 0.24,
        "momentum": 0.6,
        "nesterov": True,
        "rest_scale": 0.25,
        "decay": "weights",
        "schedule": "one-cycle",
        "low": 0.0,
        "warmup": 1.0,
        "label_smoothing": 0.2,
        "padding": 2,
        "pad": "reflect",
        "flip": "alternate",
        "keep_last": False,
        "precision": "auto",
        "bn_momentum": 0.4,
    },
}
_FIRST_TABLE = ("relu", "leaky_relu", "prelu", "wta", "mpu2", "leaky_mpu2", "mpu3")
ACTIVATIONS = (*_FIRST_TABLE, "gelu", "silu")
"""What is compared: the paper's first table, and two that users would ask for."""
_OF_THE_UNIT = ("grouping", "alpha", "learn_angle")


@dataclass(frozen=True)
class Preset:
    """A recipe, and what is trained with it."""

    recipe: str = "paper"
    activations: tuple[str, ...] = _FIRST_TABLE
    seeds: tuple[int, ...] = (1, 2, 3)
    models: tuple[str, ...] = ("resnet18",)
    settings: Mapping[str, Any] = field(default_factory=dict)


PRESETS = {
    "paper": Preset(),
    "paper-deeper": Preset(activations=("relu",), models=("resnet34", "resnet50")),
    "paper-plus2": Preset(activations=_FIRST_TABLE[:4], settings={"extra_epochs": 2}),
    "paper-resnet18+": Preset(activations=_FIRST_TABLE[:4], models=("resnet18+",)),
    "paper-resnet101": Preset(activations=("relu", "leaky_relu", "mpu2", "leaky_mpu2", "mpu3"), models=("resnet101",)),
    "paper-m": Preset(activations=("mpu2", "mpu3", "mpu4", "mpu5", "mpu6")),
    "cpu": Preset("cpu", seeds=(1, 2, 3, 4, 5)),
    "cpu-fast": Preset("cpu-fast", seeds=(1, 2, 3, 4, 5), models=("fast",)),
}


def plan(
    preset: str,
    activations: tuple[str, ...] | None = None,
    seeds: tuple[int, ...] | None = None,
    given: Mapping[str, Any] | None = None,
    published: bool = False,
    begin: Start | None = None,
) -> Iterator[Cifar10]:
    """Every training, all activations with the first seed, then with the next: a table can be drawn early.

    Args:
        preset: one of ``PRESETS``.
        activations: instead of the preset's.
        seeds: instead of the preset's.
        given: fields of :class:`Cifar10` that differ from the preset. The run's ``preset`` then names them, so that
            only a run of the unchanged recipe carries the recipe's name.
        published: units as in the published code, see :func:`as_published`.
        begin: the run to start from, whose network is taken.
    """
    check_choice("preset", preset, tuple(PRESETS))
    chosen, given = PRESETS[preset], dict(given or {})
    if published and (own := sorted(set(given) & set(_OF_THE_UNIT))):
        raise ValueError(f"{own[0]} must be left out with as_published, which sets it, got {given[own[0]]}")
    if begin is not None:
        for name in ("model", "width"):
            if given.setdefault(name, begin.config[name]) != begin.config[name]:
                raise ValueError(f"{name} must be {begin.config[name]}, that of {begin.label}, got {given[name]}")
    models = (given.pop("model"),) if "model" in given else chosen.models
    for seed in seeds or chosen.seeds:
        for model in models:
            for activation in map(canonical, activations or chosen.activations):
                yield _one(chosen, model, activation, seed, given, published, begin)


def _one(
    preset: Preset,
    model: str,
    activation: str,
    seed: int,
    given: dict[str, Any],
    published: bool,
    begin: Start | None,
) -> Cifar10:
    check_activation(activation)
    base = {**FIELDS, **RECIPES[preset.recipe], **preset.settings}
    if base["precision"] == "auto":
        # Either precision is the recipe: what one processor began in fp32, one that has bf16 can go on with.
        base["precision"] = given.get("precision", fast_precision())
    settings = {**base, **given}
    if "warmup" in given and settings["schedule"] == "cosine":
        raise ValueError(f"warmup must be left out with the schedule cosine, which has none, got {given['warmup']}")
    # Without --micro-batch a batch is divided among the processes; batch norm then sees less, and the name says so.
    if "micro_batch" not in given:
        if settings["batch"] % world_size():
            raise ValueError(f"batch must be a multiple of the {world_size()} processes, got {settings['batch']}")
        settings["micro_batch"] = settings["batch"] // world_size()
    base["micro_batch"] = settings["batch"]
    if settings["sync_bn"] and settings["micro_batch"] * world_size() == settings["batch"]:
        base |= {"sync_bn": True, "micro_batch": settings["micro_batch"]}  # it sees the whole batch: the recipe itself
    settings["decay"] = decay_of(activation, settings["decay"], base["decay"])
    if not is_unit(activation):
        settings |= {name: base[name] for name in _OF_THE_UNIT}
    elif published:
        settings |= as_published(activation)
    words = [preset.recipe]
    if published and is_unit(activation):
        words.append("as-published")
    ignored = {"activation", "seed", "model", "preset", "extra_epochs", *(_OF_THE_UNIT if published else ())}
    words += [_word(n, settings[n]) for n in base if n not in ignored and settings[n] != base[n]]
    if begin is not None:
        words.append(f"from-{begin.config['activation']}-seed{begin.config['seed']}")
    settings |= {"activation": activation, "seed": seed, "model": model, "preset": "-".join(words)}
    return Cifar10(**settings)


def _word(name: str, value: Any) -> str:
    name = name.replace("_", "")
    if isinstance(value, bool):
        return name if value else f"no{name}"
    return f"{name}{value:g}" if isinstance(value, (int, float)) else f"{name}{value}"
