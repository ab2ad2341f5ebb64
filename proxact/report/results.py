"""What a report is made from."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..experiments.runs import read_summaries


@dataclass(frozen=True)
class Results:
    """The summaries of finished runs, and what ``proxact bench`` wrote, by the name of its file."""

    runs: Sequence[dict[str, Any]]
    benchmarks: Mapping[str, dict[str, Any]] = field(default_factory=dict)


def read_results(folders: list[Path]) -> Results:
    """All in and below these folders; benchmarks lie in folders called ``bench``, and the first of a name counts."""
    runs = read_summaries(folders)
    benchmarks: dict[str, dict[str, Any]] = {}
    for folder in folders:
        for path in sorted(folder.rglob("*.json")):
            if path.parent.name == "bench":
                benchmarks.setdefault(path.stem, json.loads(path.read_text()))
    return Results(runs, benchmarks)
