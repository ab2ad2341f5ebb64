"""The files of ``results/bench`` as tables in Markdown. Each function takes what ``proxact bench`` wrote."""

from __future__ import annotations

import json
import statistics
from collections.abc import Callable
from pathlib import Path
from typing import Any

from .markdown import table
from .statistics import threads

Record = dict[str, Any]


def activations(record: Record) -> str:
    """Every case; columns are ratios to ReLU."""
    names = ["mpu2", "mpu3", "mpu8", "gelu", "prelu", "plain2"]
    rows = []
    for case in record["activations"]:
        found = case["results"]
        ratios = [f"{found[name]['ratio']:.2f}" if name in found else "" for name in names]
        label = case["case"].replace(" float32", "").replace(" fwd+bwd", "").replace(" fwd", ", forward")
        rows.append([label.replace(" ", "&nbsp;"), f"{found['relu']['microseconds']:,.0f}", *ratios])
    return table(["case", "ReLU, µs", *names], rows)


def training(record: Record) -> str:
    """Whole training steps; in brackets the quartiles of the rounds."""
    rows = []
    for label, found in record["training"].items():
        ratios = [_ratio(found[name]) if name in found else "" for name in ("mpu2", "mpu3")]
        rows.append([label, f"{found['relu']['microseconds'] / 1000:,.1f}", *ratios])
    return table(["training step", "ReLU, ms", "mpu2", "mpu3"], rows)


def memory(record: Record) -> str:
    peaks = record["peak_megabytes"]
    return table([*peaks], [[f"{size:,.0f} MB" for size in peaks.values()]])


def fit(record: Record) -> str:
    """One epoch of all widths and seeds together, against one network after the other."""
    rows = [
        [name, f"{row['together_seconds']:.2f}", f"{statistics.fmean(row['loop_seconds']):.2f}", f"{row['ratio']:.0f}"]
        for name, row in record["activations"].items()
    ]
    rows.append(["all", "", "", f"{record['whole_ratio']:.0f}"])
    return table(["activation", "all networks together, s", "one network alone, s", "times as fast"], rows)


def unroll(record: Record) -> str:
    rows = []
    for setting in ("a P each", "one P"):
        for name, row in record[setting].items():
            rows.append([setting, name, f"{row['seconds']:.3f}", f"{row['gap']:.1e}", f"{row['ratio']:.1f}"])
    return table(["problems", "solver", "seconds", "gap", "times as fast as cvxpy"], rows)


def ant(record: Record) -> str:
    rows = [["the environment alone, random actions", f"{record['environment_steps_per_second']:,.0f}", ""]]
    for name, row in record["training"].items():
        rows.append([f"training, {name}", f"{row['steps_per_second']:,.0f}", _ratio(row)])
    rows += [[f"Stable-Baselines3, {name}", f"{speed:,.0f}", ""] for name, speed in record["stable_baselines3"].items()]
    return table(["what", "steps a second", "time / ReLU's"], rows)


def cifar10(record: Record) -> str:
    """Images a second follow from ReLU's by the ratio: each was timed in turn with ReLU, at another moment."""
    rows = [
        [width, name, f"{found['proxact, relu']['images_per_second'] / row['ratio']:,.0f}", _ratio(row)]
        for width, found in record["widths"].items()
        for name, row in found.items()
    ]
    shown = table(["width of the ResNet18", "training", "images a second", "time / our ReLU's"], rows)
    return f"{shown}\n\nOurs in {record['precision']}."


TABLES: dict[str, tuple[str, Callable[[Record], str]]] = {
    "activations": ("bench", activations),
    "training": ("bench", training),
    "memory": ("bench", memory),
    "fit": ("fit", fit),
    "unroll": ("unroll", unroll),
    "ant": ("ant", ant),
    "cifar10": ("cifar10", cifar10),
    "cifar10-fp32": ("cifar10-fp32", cifar10),
}
"""The file that each table is made from, and the function that makes it."""


def bench(name: str, folder: Path) -> str:
    """One of ``TABLES`` from a folder of results, with the machine and the date."""
    stem, make = TABLES[name]
    path = folder / f"{stem}.json"
    if not path.exists():
        return f"*Not measured here yet*: there is no `{path.name}` in `results/bench`."
    record = json.loads(path.read_text())
    machine = record["machine"]
    place = [machine["cpu"], threads(machine), machine["backend"]]
    if "date" in record:
        place.append(record["date"])
    return f"{make(record)}\n\n`{path.name}`: {'; '.join(place)}."


def _ratio(row: dict[str, float]) -> str:
    return f"{row['ratio']:.2f} ({row['ratio_low']:.2f} to {row['ratio_high']:.2f})"
