"""The runs of the fitting experiment, as the tables need them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from ..experiments.fit import LEARNING_RATES
from .statistics import geometric_mean

_SCALE = ("epochs", "widths", "samples", "test_samples", "batch", "dtype")


def of_largest_scale(runs: Sequence[dict[str, Any]]) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """The runs with the most training, and those of other scales, which one table cannot show beside them."""
    scales = [json.dumps([run["config"][name] for name in _SCALE]) for run in runs]
    budgets = [run["config"]["epochs"] * run["config"]["samples"] * len(run["config"]["widths"]) for run in runs]
    largest = max(zip(budgets, scales, strict=True), default=(0, ""))[1]
    chosen = [run for run, scale in zip(runs, scales, strict=True) if scale == largest]
    return chosen, [run for run, scale in zip(runs, scales, strict=True) if scale != largest]


def main_runs(runs: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Of the largest scale and with the paper's choices, seeds put together."""
    return [run for run in of_largest_scale(merged(runs))[0] if is_main(run)]


def merged(runs: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Runs that differ in their seeds alone, such as a sweep's, as one; a seed that is there twice counts once."""
    groups: dict[str, list[dict[str, Any]]] = {}
    for run in runs:
        setting = {name: value for name, value in run["config"].items() if name != "seeds"}
        groups.setdefault(json.dumps(setting, sort_keys=True), []).append(run)
    return [_united(parts) for parts in groups.values()]


def _united(parts: Sequence[dict[str, Any]]) -> dict[str, Any]:
    found = {seed: (run, i) for run in reversed(parts) for i, seed in enumerate(run["seed"])}
    seeds, first = sorted(found), parts[0]
    metrics = {
        name: {width: [found[seed][0]["metrics"][name][width][found[seed][1]] for seed in seeds] for width in table}
        for name, table in first["metrics"].items()
    }
    return {**first, "seed": seeds, "config": {**first["config"], "seeds": seeds}, "metrics": metrics, "parts": parts}


def is_main(run: dict[str, Any]) -> bool:
    """With the paper's choices, or the nearest there is to them."""
    config = run["config"]
    usual_rate = config["learning_rate"] == LEARNING_RATES[config["target"]]
    as_meant = config["target_angle"] == "paper" or config["target"] != "cone"
    return usual_rate and as_meant and not config["learn_angle"] and config["remainder"] == "pad"


def overall(run: dict[str, Any], widths: Sequence[int] | None = None) -> list[float]:
    """The geometric mean of the error over the widths, for each seed."""
    chosen = [str(width) for width in widths or run["config"]["widths"]]
    return [geometric_mean(column) for column in zip(*(run["metrics"]["best_mse"][w] for w in chosen), strict=True)]


def by_activation(runs: Sequence[dict[str, Any]], target: str) -> dict[str, dict[str, Any]]:
    return {run["activation"]: run for run in runs if run["config"]["target"] == target}
