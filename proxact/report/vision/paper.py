"""The paper's tables on pictures, ours of the same recipe beside them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..html import MISSING, table, text
from ..sections.paper_tables import PAPER, matching
from ..statistics import mean_and_deviation, place
from .runs import Run

TITLES = {
    "cifar10": "CIFAR10 with the paper's recipe: 200 epochs, full width",
    "imagenet": "ImageNet with the paper's recipes",
}
NOTE = (
    "The paper prints mean and maximum over 3 seeds of the best epoch (ImageNet: one number). Ours: the same, and the "
    "last epoch, which no test picture has chosen. Rows as published: units as in the published code, last axis, "
    "tangent 0."
)


def tables(summaries: Sequence[Run]) -> str:
    """One for CIFAR10, one for ImageNet."""
    parts = []
    for experiment, title in TITLES.items():
        rows = [cells for row, entry in printed(experiment) for cells in _rows(row, entry, summaries)]
        headers = ["network", "activation", "paper", "paper, max", "ours, best epoch", "ours, max", "ours, last epoch"]
        parts.append(f"<h3>{text(title)}</h3>" + table([*headers, "paper, MACs", "n", "hardware", "date"], rows))
    return "".join(parts) + f'<p class="note">{text(NOTE)}</p>'


def printed(experiment: str) -> list[tuple[dict[str, Any], dict[str, Any]]]:
    """Rows of all tables of an experiment, those printed twice once, each with its table."""
    found: dict[tuple[str, str, int], tuple[dict[str, Any], dict[str, Any]]] = {}
    for entry in PAPER["tables"].values():
        if entry["experiment"] == experiment:
            for row in entry["rows"]:
                place_of = (row["network"], row["activation"], row.get("extra_epochs", 0))
                found.setdefault(place_of, (row, entry))
    return list(found.values())


def _rows(row: dict[str, Any], entry: dict[str, Any], summaries: Sequence[Run]) -> list[list[object]]:
    extra = f", {row['extra_epochs']} epochs more" if "extra_epochs" in row else ""
    paper = f"{row['mean']:.2f}" + (f" ± {row['std']:.2f}" if "std" in row else "")
    largest = f"{row['max']:.2f}" if "max" in row else ""
    rows: list[list[object]] = []
    published = [as_paper(run) for run in summaries if run["config"].get("preset") == "paper-as-published"]
    for word, runs in (("", matching(row, entry, summaries)), (", as published", matching(row, entry, published))):
        if runs or not word:
            name = row["activation"] + word
            rows.append([row["network"] + extra, name, paper, largest, *_ours(runs), row.get("macs", ""), len(runs)])
            rows[-1] += place(runs) if runs else ("", "")
    return rows


def is_shown(run: Run) -> bool:
    """Whether a row of the tables counts it."""
    if run["config"].get("preset") not in ("paper", "paper-as-published"):
        return False
    return any(matching(row, entry, [as_paper(run)]) for row, entry in printed(run["experiment"]))


def as_paper(run: Run) -> Run:
    return {**run, "config": {**run["config"], "preset": "paper"}}


def _ours(runs: Sequence[Run]) -> list[str]:
    if not runs:
        return [MISSING, "", MISSING]
    best = [run["metrics"]["best_accuracy"] for run in runs]
    last = [run["metrics"]["last_accuracy"] for run in runs]
    return [mean_and_deviation(best, "{:.2f}"), f"{max(best):.2f}", mean_and_deviation(last, "{:.2f}")]


def gain(experiment: str, activation: str, network: str = "resnet18") -> float:
    """Points over ReLU as the paper prints them."""
    rows = {(row["network"], row["activation"], row.get("extra_epochs", 0)): row for row, _ in printed(experiment)}
    return round(rows[network, activation, 0]["mean"] - rows[network, "relu", 0]["mean"], 2)
