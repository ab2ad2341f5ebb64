"""The tables of the paper, ours beside them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ...experiments.vision.pictures import OTHER
from ..html import MISSING, Section, paragraph, table, text
from ..results import Results
from ..statistics import mean_and_deviation, place

ORDER = 90
IMAGENET = ", 1000 classes, 1281167 pictures"
PAPER = json.loads((Path(__file__).parent.parent / "paper.json").read_text())


def section(results: Results, figures: Path) -> Section:
    parts = [
        paragraph(
            "The numbers in the paper's columns are quoted as printed, with a remark where they cannot be right. Ours "
            "are last-epoch scores, mean and standard deviation over n seeds."
        )
    ]
    for name, entry in PAPER["tables"].items():
        rows = [_row(row, entry, results.runs) for row in entry["rows"]]
        headers = ["network", "activation", "paper", "paper, max", "paper, MACs", "ours", "n", "hardware", "date"]
        parts.append(f"<h3>{text(entry['title'])}</h3>")
        parts.append(f'<p class="note">{text(name)}; {text(entry["metric"])}</p>{table(headers, rows)}')
        parts += [
            paragraph(f"{row['network']}, {row['activation']}: {row['note']}.")
            for row in entry["rows"]
            if "note" in row
        ]
    return Section("paper-tables", "The paper's tables", "".join(parts))


def _row(row: dict[str, Any], entry: dict[str, Any], summaries: Sequence[dict[str, Any]]) -> list[object]:
    printed = f"{row['mean']:.2f}" + (f" ± {row['std']:.2f}" if "std" in row else "")
    extra = f" (+{row['extra_epochs']} epochs)" if "extra_epochs" in row else ""
    runs = matching(row, entry, summaries)
    values = [run["metrics"]["score"] for run in runs]
    ours = mean_and_deviation(values, "{:.2f}") if values else MISSING
    where = place(runs) if runs else ("", "")
    maximum = f"{row['max']:.2f}" if "max" in row else ""
    name = row["activation"] + extra
    return [row["network"], name, printed, maximum, row.get("macs", ""), ours, len(values), *where]


def matching(row: dict[str, Any], entry: dict[str, Any], summaries: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Runs with the paper's own recipe: experiments mark those with ``preset = "paper"``."""
    return [
        run
        for run in summaries
        if run["experiment"] == entry["experiment"]
        and run["activation"] == row["activation"]
        and run["config"].get("preset") == "paper"
        and run["config"].get("model") == row["network"]
        and run["config"].get("extra_epochs", 0) == row.get("extra_epochs", 0)
        and _has_the_papers_data(run)
    ]


def _has_the_papers_data(run: dict[str, Any]) -> bool:
    """The recipe may have been run on other pictures, such as Fashion-MNIST or Tiny-ImageNet."""
    data = run["config"].get("data", "")
    return data.endswith(IMAGENET) if run["experiment"] == "imagenet" else not data.startswith(OTHER)
