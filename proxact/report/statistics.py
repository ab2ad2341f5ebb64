"""How numbers are summed up on the page."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Sequence
from random import Random
from typing import Any


def mean_and_deviation(values: Sequence[float], pattern: str = "{:.3g}") -> str:
    """``mean ± standard deviation`` (with n - 1); the deviation only where there are two values or more, all finite."""
    mean = pattern.format(statistics.fmean(values))
    has_deviation = len(values) > 1 and all(map(math.isfinite, values))
    return f"{mean} ± {pattern.format(statistics.stdev(values))}" if has_deviation else mean


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


def gain(ours: Sequence[float], base: Sequence[float]) -> float:
    """By how many percent the first is more than the second, in the mean."""
    return 100 * (statistics.fmean(ours) / statistics.fmean(base) - 1)


def gain_interval(ours: Sequence[float], base: Sequence[float], level: float = 0.95) -> tuple[float, float]:
    """The t interval of :func:`gain`, for few values of a scatter that is small beside the means.

    The ratio's variance to first order is that of the mean of ours plus ratio^2 times that of base, over the mean of
    base squared; the degrees of freedom are Welch's.
    """
    ratio = statistics.fmean(ours) / statistics.fmean(base)
    parts = statistics.variance(ours) / len(ours), ratio**2 * statistics.variance(base) / len(base)
    half = 0.0
    if total := sum(parts):
        freedom = total**2 / (parts[0] ** 2 / (len(ours) - 1) + parts[1] ** 2 / (len(base) - 1))
        half = 100 * student_quantile(level, freedom) * math.sqrt(total) / abs(statistics.fmean(base))
    return gain(ours, base) - half, gain(ours, base) + half


def seeds_needed(deviations: tuple[float, float], difference: float, level: float = 0.95, power: float = 0.8) -> int:
    """Seeds for each of two groups so that the t test sees a true difference of means with this power."""
    n, relative = 2, (deviations[0] ** 2 + deviations[1] ** 2) / difference**2
    while n < (student_quantile(level, 2 * n - 2) + student_quantile(2 * power - 1, 2 * n - 2)) ** 2 * relative:
        n += 1
    return n


def student_tail(t: float, freedom: float) -> float:
    """The probability that Student's t lies outside [-t, t]."""
    if t == 0:
        return 1.0
    return _incomplete_beta(freedom / 2, 0.5, freedom / (freedom + t * t), t * t / (freedom + t * t))


def student_quantile(level: float, freedom: float) -> float:
    """The t with ``level`` of the probability in [-t, t]."""
    low, high = 0.0, 1.0
    while student_tail(high, freedom) > 1 - level:
        low, high = high, 2 * high
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if student_tail(middle, freedom) > 1 - level else (low, middle)
    return (low + high) / 2


def paired_difference(
    ours: Sequence[float], base: Sequence[float], level: float = 0.95
) -> tuple[float, float, float, float]:
    """Mean of the differences pair by pair, its t interval (low, high), and the two-sided p value of "no difference".

    One pair says nothing about the scatter: its interval is infinite and p is 1. Differences that are all the same
    have an interval of no width, and p is 0, or 1 if they are all 0.
    """
    differences = [own - other for own, other in zip(ours, base, strict=True)]
    if not differences:
        raise ValueError("ours and base must have at least one pair, got none")
    mean, n = statistics.fmean(differences), len(differences)
    if n == 1:
        return mean, -math.inf, math.inf, 1.0
    error = statistics.stdev(differences) / math.sqrt(n)
    if error == 0:
        return mean, mean, mean, 1.0 if mean == 0 else 0.0
    half = student_quantile(level, n - 1) * error
    return mean, mean - half, mean + half, student_tail(abs(mean) / error, n - 1)


def holm(pvalues: Sequence[float]) -> list[float]:
    """Holm's adjusted p values, in the order given: below a level, with that chance of any false alarm among them."""
    adjusted, largest = [0.0] * len(pvalues), 0.0
    for rank, i in enumerate(sorted(range(len(pvalues)), key=lambda i: pvalues[i])):
        largest = max(largest, min(1.0, (len(pvalues) - rank) * pvalues[i]))
        adjusted[i] = largest
    return adjusted


def paired_power(n: int, effect: float, level: float = 0.95) -> float:
    """The chance that the t test of n pairs sees a true difference of ``effect`` deviations of the differences.

    T is (z + effect sqrt(n)) / s with z normal and s^2 chi-squared over its freedom: the mean over s of the normal
    distribution's two tails beyond t s, by Simpson's rule.
    """
    normal, freedom, shift = statistics.NormalDist(), n - 1, effect * math.sqrt(n)
    limit = student_quantile(level, freedom)
    width = 8 / math.sqrt(2 * freedom)
    low, high, pieces = max(0.0, 1 - width), 1 + width, 400
    log_factor = math.log(2) + freedom / 2 * math.log(freedom / 2) - math.lgamma(freedom / 2)
    total = 0.0
    for i in range(pieces + 1):
        s = low + (high - low) * i / pieces
        if s == 0 and freedom > 1:
            continue
        density = math.exp(log_factor + ((freedom - 1) * math.log(s) if s else 0.0) - freedom * s * s / 2)
        seen = normal.cdf(shift - limit * s) + normal.cdf(-shift - limit * s)
        total += (1 if i in (0, pieces) else 4 if i % 2 else 2) * density * seen
    return total * (high - low) / pieces / 3


def pairs_needed(differences: Sequence[float], effect: float, level: float = 0.95, power: float = 0.8) -> int:
    """Pairs so that a true mean difference of ``effect`` is seen with this power, if differences scatter like these."""
    if len(differences) < 2 or effect == 0:
        raise ValueError(f"need two differences and an effect other than 0, got {len(differences)} and {effect}")
    deviation = statistics.stdev(differences)
    if deviation == 0:
        return 2
    relative = abs(effect) / deviation
    low, high = 1, 2
    while paired_power(high, relative, level) < power:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if paired_power(middle, relative, level) >= power else (middle, high)
    return high


def _incomplete_beta(a: float, b: float, x: float, rest: float) -> float:
    """The regularised incomplete beta function I_x(a, b), by Lentz's continued fraction; ``rest`` is 1 - x."""
    if x <= 0 or rest <= 0:
        return 0.0 if x <= 0 else 1.0
    if x > (a + 1) / (a + b + 2):  # where the fraction of the other side converges faster
        return 1 - _incomplete_beta(b, a, rest, x)
    front = math.exp(math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log(rest)) / a
    numerator, denominator = 1.0, 1 / (1 - (a + b) * x / (a + 1))
    found = denominator
    for k in range(1, 10_000):
        for factor in (
            k * (b - k) * x / ((a + 2 * k - 1) * (a + 2 * k)),
            -(a + k) * (a + b + k) * x / ((a + 2 * k) * (a + 2 * k + 1)),
        ):
            denominator = 1 / (1 + factor * denominator)
            numerator = 1 + factor / numerator
            found *= denominator * numerator
        if abs(denominator * numerator - 1) < 1e-15:
            break
    return front * found


def place(runs: Sequence[dict[str, Any]]) -> tuple[str, str]:
    """Hardware and dates of these runs."""
    machines = sorted({hardware(run["machine"]) for run in runs})
    dates = sorted({run["date"] for run in runs})
    return "; ".join(machines), dates[0] if len(dates) == 1 else f"{dates[0]} to {dates[-1]}"


def hardware(machine: dict[str, Any]) -> str:
    """What computed: the GPU where there is one; all of them where there were several processes."""
    gpu, processes = machine.get("gpu", "none"), machine.get("processes", 1)
    one = gpu if gpu != "none" else f"{machine['cpu']}, {threads(machine)}"
    return one if processes == 1 else f"{processes} x {one}"


def threads(machine: dict[str, Any]) -> str:
    return "1 thread" if machine["threads"] == 1 else f"{machine['threads']} threads"
