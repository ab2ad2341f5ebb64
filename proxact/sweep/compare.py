"""``proxact runs --compare``: a metric over the seeds, for each activation and each setting that differs."""

from __future__ import annotations

import json
import statistics
from collections import Counter
from collections.abc import Sequence
from typing import Any

from rich.console import Group
from rich.table import Table
from rich.text import Text

from ..report.statistics import mean_and_deviation
from .found import Found, differing

_SORTS = ("folder", "activation", "score")


def compared(found: Sequence[Found], metric: str, sort: str = "folder") -> Group:
    """A table for each experiment; ``sort="score"`` puts the smallest mean first."""
    if sort not in _SORTS:
        raise ValueError(f"sort must be one of {', '.join(_SORTS)} with compare, got {sort!r}")
    known = [one for one in found if one.values(metric)]
    if not known:
        there = [
            name + (f" (of a width: {name}.{min(table, key=int)})" if isinstance(table, dict) and table else "")
            for name, table in sorted({name: table for one in found for name, table in one.metrics.items()}.items())
        ]
        told = f"the finished runs have {', '.join(there)}" if there else "no run is finished"
        raise ValueError(f"compare: {told}; got {metric!r}")
    parts: list[Any] = []
    for experiment in dict.fromkeys(one.experiment for one in known):
        runs = [one for one in known if one.experiment == experiment]
        keys = differing(runs)
        usual = {key: Counter(_shown(one.config.get(key)) for one in runs).most_common(1)[0][0] for key in keys}
        parts.append(Text(f"{experiment}: {metric}, mean ± standard deviation over the seeds"))
        table = Table(box=None, pad_edge=False)
        table.add_column("activation", no_wrap=True)
        table.add_column("setting", overflow="fold", min_width=16)
        for name in ("n", metric, "smallest", "largest"):
            table.add_column(name, justify="right", no_wrap=True)
        rows = [(group[0], _over_seeds(group, metric)) for group in _groups(runs, keys)]
        if sort == "score":
            rows.sort(key=lambda row: statistics.fmean(row[1]))
        elif sort == "activation":
            rows.sort(key=lambda row: row[0].activation)
        for one, values in rows:
            own = {key: _shown(one.config.get(key)) for key in keys}
            setting = " ".join(f"{key}={value}" for key, value in own.items() if value != usual[key])
            numbers = [mean_and_deviation(values, "{:.4g}"), *(f"{end(values):.4g}" for end in (min, max))]
            table.add_row(*map(Text, (one.activation, setting, str(len(values)), *numbers)))
        parts.append(table)
        if usual:
            rest = " ".join(f"{key}={value}" for key, value in usual.items())
            parts.append(Text(f"Where the setting does not say otherwise: {rest}"))
        parts.append(Text(""))
    if left_out := sum(not one.metrics for one in found):
        parts.append(Text(f"{left_out} runs are not finished and left out."))
    return Group(*parts)


def _groups(runs: Sequence[Found], keys: Sequence[str]) -> list[list[Found]]:
    groups: dict[str, list[Found]] = {}
    for one in runs:
        setting = json.dumps([one.activation, *(one.config.get(key) for key in keys)], sort_keys=True)
        groups.setdefault(setting, []).append(one)
    return list(groups.values())


def _shown(value: Any) -> str:
    if isinstance(value, list) and len(value) > 3 and all(isinstance(entry, (int, float)) for entry in value):
        return f"{value[0]}..{value[-1]}x{len(value)}"
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def _over_seeds(group: Sequence[Found], metric: str) -> list[float]:
    """Of each seed once, also where a run was copied or is part of two sweeps."""
    found: dict[Any, float] = {}
    for one in group:
        for seed, value in zip(one.seeds, one.values(metric), strict=True):
            found.setdefault(seed, value)
    return list(found.values())
