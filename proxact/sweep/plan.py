"""From the flags of ``proxact sweep`` to jobs: every combination of grid, activation and seed."""

from __future__ import annotations

import itertools
import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from ..experiments.runs import write_atomically
from ..registry import get
from .flags import Experiment, as_arguments, check_arguments, check_extra, check_key
from .job import FOLDER, Job, read

_SHARES_A_CACHE = ("cifar10", "imagenet")


@dataclass(frozen=True)
class Sweep:
    """What is run. ``sweep.json`` in the sweep's folder says it."""

    experiment: Experiment
    activations: tuple[str, ...]
    seeds: tuple[int, ...]
    grid: Mapping[str, tuple[str, ...]]
    arguments: tuple[str, ...] = ()

    def jobs(self, folder: Path) -> list[Job]:
        """All activations with the first seed, then with the next: a table can be drawn early."""
        keys = list(self.grid)
        return [
            self._job(folder, dict(zip(keys, values, strict=True)), activation, seed)
            for seed in self.seeds
            for values in itertools.product(*self.grid.values())
            for activation in self.activations
        ]

    def _job(self, folder: Path, values: Mapping[str, str], activation: str, seed: int) -> Job:
        parts = [f"{key}={value.replace('/', '-')}" for key, value in values.items()]
        name = "/".join([*parts, activation, f"seed{seed}"])
        arguments = ["--activations", activation, "--seeds", str(seed)]
        for key, value in values.items():
            arguments += as_arguments(self.experiment, key, value)
        arguments += [*self.arguments, "--runs", FOLDER]
        if self.experiment in _SHARES_A_CACHE:
            # The sweep's folder, or the scratch folder of all its jobs on a node: pictures are decoded there once.
            arguments += ["--cache", "/".join([FOLDER, *[".."] * len(Path(name).parts)])]
        return Job(name, folder / name, (sys.executable, "-m", "proxact", self.experiment, *arguments))

    def check(self) -> None:
        """Everything that can be known to be wrong before a run starts."""
        for activation in self.activations:
            get(activation)
        check_extra(self.experiment, self.arguments, list(self.grid))
        for job in replace(self, seeds=self.seeds[:1]).jobs(Path("runs")):
            check_arguments(self.experiment, job.command[4:])

    def write(self, folder: Path) -> None:
        """Into ``sweep.json``, together with what was swept in this folder before."""
        path = folder / "sweep.json"
        before = read(path)
        if before and before["experiment"] != self.experiment:
            raise ValueError(
                f"{folder} holds a sweep of {before['experiment']}, not of {self.experiment}; choose another folder"
            )
        about = asdict(self)
        if before:
            about["activations"] = _united(before["activations"], self.activations)
            about["seeds"] = sorted(_united(before["seeds"], self.seeds))
            keys = _united(list(before["grid"]), list(self.grid))
            about["grid"] = {key: _united(before["grid"].get(key, []), self.grid.get(key, ())) for key in keys}
        folder.mkdir(parents=True, exist_ok=True)
        write_atomically(path, json.dumps(about, indent=1) + "\n")


def parse(
    experiment: Experiment, activations: str, seeds: str, grid: Sequence[str] = (), arguments: Sequence[str] = ()
) -> Sweep:
    """``relu,mpu2``, ``0:5`` and ``epochs=10,20`` as a :class:`Sweep`, checked."""
    values: dict[str, tuple[str, ...]] = {}
    for text in grid:
        key, equals, given = text.partition("=")
        if not equals:
            raise ValueError(f"grid must be key=value,value,..., got {text!r}")
        values[check_key(experiment, key)] = _listed(f"grid: {key}", given)
    found = Sweep(experiment, _listed("activations", activations), parse_seeds(seeds), values, tuple(arguments))
    found.check()
    return found


def parse_seeds(text: str) -> tuple[int, ...]:
    """``0:5`` as in Python, stop excluded; or ``1,2,7``."""
    parts = text.split(":" if ":" in text else ",")
    if not all(part.strip().isdigit() for part in parts) or (":" in text and len(parts) not in (2, 3)):
        raise ValueError(f"seeds must be start:stop, such as 0:5, or numbers, such as 1,2,3; got {text!r}")
    numbers = [int(part) for part in parts]
    if ":" in text and numbers[2:] == [0]:
        raise ValueError(f"seeds must have a step of 1 or more, got {text!r}")
    found = tuple(range(*numbers)) if ":" in text else tuple(dict.fromkeys(numbers))
    if not found:
        raise ValueError(f"seeds must not be empty, got {text!r}")
    return found


def _listed(name: str, text: str) -> tuple[str, ...]:
    found = tuple(dict.fromkeys(part.strip() for part in text.split(",")))
    if not all(found):
        raise ValueError(f"{name} must be values with commas between, got {text!r}")
    return found


def _united(first: Sequence, second: Sequence) -> list:
    return list(dict.fromkeys([*first, *second]))
