"""Interleaved timing: every candidate once in each round, so that all see the same state of the machine."""

from __future__ import annotations

import os
import statistics
import sys
import time
from collections.abc import Callable

_MALLOC = {"MALLOC_MMAP_THRESHOLD_": "4294967296", "MALLOC_TRIM_THRESHOLD_": "17179869184"}


def keep_freed_memory() -> None:
    """Start this process again with glibc told to keep freed memory.

    Otherwise every large result comes on fresh pages, and their faults cost up to five times the computation.
    """
    if sys.platform.startswith("linux") and any(name not in os.environ for name in _MALLOC):
        os.execve(sys.executable, [sys.executable, "-m", "proxact", *sys.argv[1:]], {**os.environ, **_MALLOC})


def interleaved(candidates: dict[str, Callable[[], None]], rounds: int, seconds: float) -> dict[str, list[float]]:
    """Seconds for one call of each candidate, a list with one entry for each round.

    Short calls are repeated within a round; slow candidates stop when they have used up ``seconds``.
    """
    repeats, spent = {}, dict.fromkeys(candidates, 0.0)
    for name, call in candidates.items():
        call()
        start = time.perf_counter()
        call()
        repeats[name] = max(1, int(0.004 / max(time.perf_counter() - start, 1e-7)))
    times: dict[str, list[float]] = {name: [] for name in candidates}
    for _ in range(rounds):
        for name, call in candidates.items():
            if spent[name] > seconds and len(times[name]) >= 5:
                continue
            start = time.perf_counter()
            for _ in range(repeats[name]):
                call()
            elapsed = time.perf_counter() - start
            times[name].append(elapsed / repeats[name])
            spent[name] += elapsed
    return times


def ratios(times: dict[str, list[float]], base: str) -> dict[str, dict[str, float]]:
    """Median, quartiles and the ratio of medians to ``base``, with quartiles of the ratios round by round."""
    result = {}
    for name, values in times.items():
        by_round = [value / other for value, other in zip(values, times[base], strict=False)]
        low, _, high = statistics.quantiles(by_round, n=4)
        result[name] = {
            "microseconds": 1e6 * statistics.median(values),
            "ratio": statistics.median(values) / statistics.median(times[base]),
            "ratio_low": low,
            "ratio_high": high,
        }
    return result
