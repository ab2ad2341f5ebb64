"""Runs that share a seed, and so their initial weights and their data, compared pair by pair."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .statistics import holm, paired_difference

LEVEL = 0.05
"""A difference counts if its p value after Holm's correction is below."""
Runs = Sequence[dict[str, Any]]


@dataclass(frozen=True)
class Comparison:
    """The differences of the pairs, and what they say."""

    differences: tuple[float, ...]
    mean: float
    low: float
    high: float
    p: float
    adjusted: float

    @property
    def n(self) -> int:
        return len(self.differences)

    @property
    def deviation(self) -> float:
        return statistics.stdev(self.differences)

    @property
    def verdict(self) -> str:
        if self.n < 2:
            return "one pair tells nothing"
        if self.adjusted >= LEVEL:
            return "cannot be told apart" + (" after Holm's correction" if self.p < LEVEL else "")
        return "better" if self.mean > 0 else "worse"

    def cells(self) -> list[str]:
        """Difference with its interval, Holm's p, the number of pairs."""
        if self.n < 2:
            return [f"{self.mean:+.2f}", "", str(self.n)]
        return [f"{self.mean:+.2f} ({self.low:+.2f} to {self.high:+.2f})", probability(self.adjusted), str(self.n)]

    def sentence(self) -> str:
        if self.n < 2:
            return f"{self.mean:+.2f} points in one pair, which tells nothing"
        return (
            f"{self.verdict}, {self.mean:+.2f} points (95 % interval {self.low:+.2f} to {self.high:+.2f}, Holm's p "
            f"{probability(self.adjusted)}, {self.n} pairs)"
        )


def compare(groups: Mapping[str, Runs], base: Runs) -> dict[str, Comparison]:
    """Each group against ``base``; p values are adjusted over the groups with two pairs or more.

    Groups without any pair are left out.
    """
    theirs = {key(run): score(run) for run in base}
    found: dict[str, tuple[list[float], list[float]]] = {}
    for name, runs in groups.items():
        if paired := sorted((run for run in runs if key(run) in theirs), key=key):
            found[name] = [score(run) for run in paired], [theirs[key(run)] for run in paired]
    results = {name: paired_difference(ours, others) for name, (ours, others) in found.items()}
    family = [name for name, (ours, _) in found.items() if len(ours) > 1]
    adjusted = dict(zip(family, holm([results[name][3] for name in family]), strict=True))
    compared = {}
    for name, (ours, others) in found.items():
        differences = tuple(own - other for own, other in zip(ours, others, strict=True))
        compared[name] = Comparison(differences, *results[name], adjusted.get(name, 1.0))
    return compared


def key(run: dict[str, Any]) -> tuple[str, int]:
    """What two runs of a pair have in common: the network they start from, if any, and the seed."""
    return run["config"].get("start", ""), run["seed"]


def score(run: dict[str, Any]) -> float:
    """Accuracy after the last epoch, in %."""
    return run["metrics"]["last_accuracy"]


def probability(p: float) -> str:
    return "< 0.001" if p < 0.001 else f"{p:.3f}"


def unpaired(groups: Mapping[str, Runs], base: Runs, base_name: str) -> list[str]:
    """Which seeds the differences leave out, in sentences."""
    theirs = {key(run) for run in base}
    said = []
    for name, runs in groups.items():
        if alone := sorted(run["seed"] for run in runs if key(run) not in theirs):
            said.append(f"{name}: seed {', '.join(map(str, alone))} has no {base_name} run beside it and is left out.")
    return said
