"""Find a metric in what a training script printed or logged."""

from __future__ import annotations

import csv
import difflib
import json
import math
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Literal

from .model import MARK
from .run import START

Better = Literal["higher", "lower"]
Take = Literal["last", "best"]

_LOWER = {"loss", "logloss", "error", "err", "mse", "rmse", "mae", "mape", "nll", "perplexity", "ppl", "bpc", "bpb"}
_LOWER |= {"wer", "cer", "fid", "brier", "regret"}

_NUMBER = r"[-+]?(?:\d[\d_]*\.?\d*(?:[eE][-+]?\d+)?|\.\d+(?:[eE][-+]?\d+)?|nan\b|inf(?:inity)?\b)"
_BETWEEN = r"[\"']?(?:\s*\([^()\n]{0,12}\))?(?:[ \t]*(?::|=|->|→|[|│┃])[ \t]*|[ \t]+)"
_WRAPPED = r"(?:[\"']|(?:np\.float\d+|tensor|array)\(\[?)?"
_TERMINAL = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
_NAMED = re.compile(rf"(?<![\w./-])([A-Za-z][\w./-]*)[\"']?[ \t]*[:=|│┃][ \t]*{_WRAPPED}{_NUMBER}", re.IGNORECASE)


class MetricError(ValueError):
    """A run has no such metric."""


def guess_better(metric: str) -> Better:
    """``"lower"`` for names with a word such as loss or error in them.

    Example:
        >>> guess_better("val_loss"), guess_better("val/acc")
        ('lower', 'higher')
    """
    return "lower" if _LOWER & set(re.split(r"[^a-z]+", metric.lower())) else "higher"


def read_printed(text: str, metric: str) -> list[float]:
    """Every value that a text gives for a metric, in order.

    Example:
        >>> read_printed("epoch 1 val_acc: 0.88, best_val_acc=0.9\\n{'val_acc': 0.91}  val_acc 91.3 %", "val_acc")
        [0.88, 0.91, 91.3]
    """
    pattern = rf"(?<![\w./-]){re.escape(metric)}(?![\w/-]){_BETWEEN}{_WRAPPED}({_NUMBER})"
    return [float(found[1]) for found in re.finditer(pattern, _plain(text), re.IGNORECASE)]


def read_metric(folder: Path, metric: str) -> list[float]:
    """Every value of a metric in a run's folder: in ``log.txt``, or else in the newest file that has it.

    Such files are CSV and JSON lines with the metric as a column, and TensorBoard's.

    Raises:
        MetricError: there is none; the message names those that there are.
    """
    text = _printed(folder)
    if values := read_printed(text, metric):
        return values
    names = set(_NAMED.findall(_plain(text)))
    for path in _logs(folder):
        rows = _rows(path)
        values = [value for row in rows if (value := _number(row.get(metric))) is not None]
        if values:
            return values
        names.update(name for row in rows for name, value in row.items() if _number(value) is not None)
    raise MetricError(f"metric {metric!r} was neither printed nor logged below {folder}; {_list(names, metric)}")


def choose(values: Sequence[float], take: Take, better: Better) -> float:
    """The one value that stands for a run."""
    if take == "last":
        return values[-1]
    finite = [value for value in values if math.isfinite(value)]
    return (max if better == "higher" else min)(finite, default=math.nan)


def _printed(folder: Path) -> str:
    path = folder / "log.txt"
    text = path.read_text(errors="replace") if path.exists() else ""
    return text.rpartition(START)[2].partition("\n")[2] if START in text else text


def _plain(text: str) -> str:
    return _TERMINAL.sub("", text)


def _logs(folder: Path) -> list[Path]:
    """The files that may hold metrics, the newest first."""
    kinds = ("*.csv", "*.jsonl", "*tfevents*")
    paths = {path for kind in kinds for path in folder.rglob(kind) if path.name != MARK}
    return sorted(paths, key=lambda p: p.stat().st_mtime, reverse=True)


def _rows(path: Path) -> list[dict[str, Any]]:
    if "tfevents" in path.name:
        return list(_tensorboard(path))
    lines = path.read_text(errors="replace").splitlines()
    if path.suffix == ".csv":
        return list(csv.DictReader(lines))
    rows = []
    for line in lines:
        try:
            row = json.loads(line)
        except json.JSONDecodeError:  # cut off when a run was killed
            continue
        rows += [row] if isinstance(row, dict) else []
    return rows


def _tensorboard(path: Path) -> Iterator[dict[str, float]]:
    try:
        from tensorboard.backend.event_processing.event_accumulator import EventAccumulator  # type: ignore[import-untyped]
        from tensorboard.util.tensor_util import make_ndarray  # type: ignore[import-untyped]
    except ModuleNotFoundError as error:
        raise SystemExit(f"To read {path.name}, proxact try needs {error.name}: pip install tensorboard") from error
    events = EventAccumulator(str(path), size_guidance={"scalars": 0, "tensors": 0}).Reload()
    tags = events.Tags()
    for tag in tags["scalars"]:
        yield from ({tag: event.value} for event in events.Scalars(tag))
    for tag in tags["tensors"]:
        for event in events.Tensors(tag):
            value = make_ndarray(event.tensor_proto)
            if value.size == 1 and value.dtype.kind in "fiu":
                yield {tag: value.item()}


def _number(value: object) -> float | None:
    """What a cell of a table holds; None if it is no number."""
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        return None
    try:
        return float(value)
    except ValueError:
        return None


def _list(names: Iterable[str], metric: str) -> str:
    every = sorted(names)
    near = difflib.get_close_matches(metric, every, n=8, cutoff=0.3)
    shown = near + [name for name in every if name not in near][: 8 - len(near)]
    return f"what looks like one: {', '.join(shown)}" if shown else "nothing there looks like one"
