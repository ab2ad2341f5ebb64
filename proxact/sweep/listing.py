"""``proxact runs``: a table of runs."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from rich.console import Group
from rich.table import Table
from rich.text import Text

from .board import duration
from .found import Found

_STYLES = {"failed": "red", "running": "green", "stopped": "yellow"}


def listed(found: Sequence[Found], sort: str = "folder") -> Group:
    """A table for each experiment. Folders are named from the one that they have in common."""
    parts: list[Any] = []
    found = ordered(found, sort)
    for experiment in dict.fromkeys(one.experiment for one in found):
        runs = [one for one in found if one.experiment == experiment]
        above = os.path.commonpath([one.folder.parent for one in runs])
        parts.append(Text(f"{experiment or 'failed before they began'}, in {above}"))
        table = Table(box=None, pad_edge=False)
        for name in ("state", "activation", "seed"):
            table.add_column(name, no_wrap=True)
        for name in ("epoch", "score", "time"):
            table.add_column(name, justify="right", no_wrap=True)
        table.add_column("folder", overflow="fold", min_width=16)
        for one in runs:
            cells = [*_cells(one), os.path.relpath(one.folder, above)]
            table.add_row(Text(one.state, _STYLES.get(one.state, "")), *map(Text, cells))
        parts += [table, Text("")]
    counts = {state: sum(one.state == state for one in found) for state in ("finished", "running", "stopped", "failed")}
    parts.append(Text(f"{len(found)} runs: " + ", ".join(f"{n} {state}" for state, n in counts.items())))
    return Group(*parts)


def ordered(found: Sequence[Found], sort: str) -> list[Found]:
    known = {"folder", "state", "activation", "seed", "score", "time", *(key for one in found for key in one.config)}
    if sort not in known:
        raise ValueError(f"sort must be one of {', '.join(sorted(known))}, got {sort!r}")
    special = {"folder": lambda one: one.folder, "score": lambda one: one.score, "time": lambda one: one.seconds}

    def key(one: Found) -> tuple[bool, bool, Any]:
        value = special[sort](one) if sort in special else one.get(sort)
        number = isinstance(value, (int, float))
        return value is None, not number, value if number else str(value)  # what is missing comes last

    return sorted(found, key=key)


def _cells(one: Found) -> list[str]:
    epochs = one.config.get("epochs")
    return [
        one.activation,
        " ".join(map(str, one.seeds)),
        "" if not one.config else f"{one.epoch}/{epochs}" if epochs else str(one.epoch or ""),
        "" if one.score is None else f"{one.score:.4g}",
        "" if one.seconds is None else duration(one.seconds),
    ]
