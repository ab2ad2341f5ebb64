"""How numbers are summed up on the page."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from typing import Any


def mean_and_deviation(values: Sequence[float], pattern: str = "{:.3g}") -> str:
    """``mean ± standard deviation`` (with n - 1); the deviation only where there are two values or more."""
    mean = pattern.format(statistics.fmean(values))
    return f"{mean} ± {pattern.format(statistics.stdev(values))}" if len(values) > 1 else mean


def geometric_mean(values: Sequence[float]) -> float:
    return math.exp(statistics.fmean(math.log(value) for value in values))


def place(runs: Sequence[dict[str, Any]]) -> tuple[str, str]:
    """Hardware and dates of these runs."""
    machines = sorted({f"{run['machine']['cpu']}, {run['machine']['threads']} threads" for run in runs})
    dates = sorted({run["date"] for run in runs})
    return "; ".join(machines), dates[0] if len(dates) == 1 else f"{dates[0]} to {dates[-1]}"
