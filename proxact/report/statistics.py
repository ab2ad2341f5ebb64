"""How numbers are summed up on the page."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Sequence
from random import Random
from typing import Any


def mean_and_deviation(values: Sequence[float], pattern: str = "{:.3g}") -> str:
    """``mean ± standard deviation`` (with n - 1); the deviation only where there are two values or more."""
    mean = pattern.format(statistics.fmean(values))
    return f"{mean} ± {pattern.format(statistics.stdev(values))}" if len(values) > 1 else mean


def geometric_mean(values: Sequence[float]) -> float:
    return math.exp(statistics.fmean(math.log(value) for value in values))


def bootstrap(
    samples: Sequence[Sequence[float]], statistic: Callable[..., float], level: float = 0.95, draws: int = 10_000
) -> tuple[float, float]:
    """The percentile interval of a statistic of one or more samples, each drawn anew with replacement."""
    random = Random(0)
    found = sorted(statistic(*(random.choices(sample, k=len(sample)) for sample in samples)) for _ in range(draws))
    tail = (1 - level) / 2
    return found[int(tail * draws)], found[min(draws - 1, int((1 - tail) * draws))]


def seeds_needed(deviations: tuple[float, float], difference: float, level: float = 0.95, power: float = 0.8) -> int:
    """Seeds for each of two groups so that a true difference of means is seen with this power (normal distribution)."""
    normal = statistics.NormalDist()
    z = normal.inv_cdf(0.5 + level / 2) + normal.inv_cdf(power)
    return max(2, math.ceil(z**2 * (deviations[0] ** 2 + deviations[1] ** 2) / difference**2))


def place(runs: Sequence[dict[str, Any]]) -> tuple[str, str]:
    """Hardware and dates of these runs."""
    machines = sorted({f"{run['machine']['cpu']}, {run['machine']['threads']} threads" for run in runs})
    dates = sorted({run["date"] for run in runs})
    return "; ".join(machines), dates[0] if len(dates) == 1 else f"{dates[0]} to {dates[-1]}"
