"""The runs that there are in folders, and how far each is."""

from __future__ import annotations

import dataclasses
import fcntl
import json
import os
import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..experiments.runs import RunError
from .job import DONE, FAILED, read

_SCORES = {"fit": "best_mse"}


@dataclass(frozen=True)
class Found:
    """A run folder, or the folder of a job that failed before it had one."""

    folder: Path
    state: str
    experiment: str = ""
    activation: str = ""
    seeds: tuple[int, ...] = ()
    config: Mapping[str, Any] = field(default_factory=dict)
    metrics: Mapping[str, Any] = field(default_factory=dict)
    epoch: int = 0
    seconds: float | None = None

    def get(self, key: str) -> Any:
        """One of its columns or an entry of its configuration."""
        if key in ("experiment", "activation", "state"):
            return getattr(self, key)
        if key == "seed":
            return self.seeds[0] if len(self.seeds) == 1 else list(self.seeds)
        return self.config.get(key)

    def values(self, metric: str) -> list[float]:
        """The metric for each seed, or nothing. A table, such as an error by width, becomes its geometric mean."""
        if metric == "score":
            metric = _SCORES.get(self.experiment, metric)
        found: Any = self.metrics
        for part in metric.split("."):
            if not isinstance(found, Mapping) or part not in found:
                return []
            found = found[part]
        if isinstance(found, Mapping):
            columns = zip(*(_as_list(value) for value in found.values()), strict=True)
            return [_mean(column) for column in columns]
        return _as_list(found)

    @property
    def score(self) -> float | None:
        values = self.values("score")
        return statistics.fmean(values) if values else None


def find(folders: Sequence[Path]) -> list[Found]:
    """All runs in and below these folders, in the order of their folders."""
    if missing := [str(folder) for folder in folders if not folder.exists()]:
        raise RunError(f"no such folder: {', '.join(missing)}")
    names = ("config.json", "summary.json")
    runs = {path.parent for folder in folders for name in names for path in folder.rglob(name)}
    failed = {path.parent for folder in folders for path in folder.rglob(FAILED) if not (path.parent / DONE).exists()}
    found = [one for folder in runs if (one := _read(folder, failed)) is not None]
    found += [one for folder in folders for path in folder.rglob("verdict.json") for one in _of_try(path)]
    for folder in failed:
        if not any(folder in run.parents for run in runs):
            found.append(Found(folder, "failed", seconds=read(folder / FAILED).get("seconds")))
    return sorted(found, key=lambda one: one.folder)


def selected(found: Sequence[Found], wanted: Mapping[str, str]) -> list[Found]:
    """Those whose entries read as wanted."""
    known = sorted({"experiment", "activation", "state", "seed", *(key for one in found for key in one.config)})
    for key in wanted:
        if found and key not in known:
            raise ValueError(f"where: the runs have {', '.join(known)}; got {key!r}")
    return [one for one in found if all(_reads(one.get(key), text) for key, text in wanted.items())]


def differing(found: Iterable[Found]) -> list[str]:
    """The entries of the configuration, but for activation and seeds, in which these runs differ."""
    runs = [one for one in found if one.config]
    keys = dict.fromkeys(key for one in runs for key in one.config)
    skipped = ("activation", "seed", "seeds")
    return [
        key
        for key in keys
        if key not in skipped and len({json.dumps(one.config.get(key), sort_keys=True) for one in runs}) > 1
    ]


def _read(folder: Path, failed: set[Path]) -> Found | None:
    summary = read(folder / "summary.json")
    about = summary or read(folder / "config.json")
    if not {"experiment", "activation", "seed", "config"} <= set(about):
        return None  # another program's config.json
    seeds = about["seed"] if isinstance(about["seed"], list) else [about["seed"]]
    seconds = summary.get("wall_seconds")
    one = Found(folder, "finished", about["experiment"], about["activation"], tuple(seeds), about["config"])
    if summary:
        return dataclasses.replace(one, metrics=summary["metrics"], epoch=_epoch(summary["curve"]), seconds=seconds)
    state = "running" if is_held(folder) else "failed" if failed.intersection(folder.parents) else "stopped"
    return dataclasses.replace(one, state=state, epoch=_epoch(_rows(folder / "metrics.jsonl")))


def _of_try(path: Path) -> list[Found]:
    """The finished runs that ``proxact try`` judged; its record has the metric of each."""
    record = read(path)
    if not {"script", "arguments", "metric", "take", "seeds", "values"} <= set(record):
        return []  # another program's verdict.json
    config = {key: record[key] for key in ("script", "arguments", "metric", "take")}
    experiment, found = f"try {Path(record['script']).name}", []
    for activation, values in record["values"].items():
        for seed, value in zip(record["seeds"], values, strict=True):
            if value is not None:
                folder = path.parent / activation / f"seed{seed}"
                metrics, seconds = {record["metric"]: value, "score": value}, read(folder / DONE).get("seconds")
                found.append(
                    Found(folder, "finished", experiment, activation, (seed,), config, metrics, seconds=seconds)
                )
    return found


def is_held(folder: Path) -> bool:
    """Whether a process works in this run folder."""
    if not (folder / "lock").exists():
        return False
    handle = os.open(folder / "lock", os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(handle)  # at once: a run that starts just now must not find it taken
    return False


def _rows(path: Path) -> list[dict[str, Any]]:
    """All rows but one that is being written."""
    lines = path.read_text().splitlines(keepends=True) if path.exists() else []
    return [json.loads(line) for line in lines if line.endswith("}\n")]


def _epoch(rows: Sequence[Mapping[str, Any]]) -> int:
    return int(rows[-1].get("epoch", len(rows))) if rows else 0


def _as_list(value: Any) -> list[float]:
    found = value if isinstance(value, list) else [value]
    return [float(entry) for entry in found if isinstance(entry, (int, float))]


def _mean(values: Sequence[float]) -> float:
    return statistics.geometric_mean(values) if min(values) > 0 else statistics.fmean(values)


def _reads(value: Any, text: str) -> bool:
    """As JSON or as text: ``50``, ``true``, ``cone``, ``[1, 2]``."""
    if str(value) == text:
        return True
    try:
        return bool(value == json.loads(text.lower() if text in ("True", "False") else text))
    except json.JSONDecodeError:
        return False
