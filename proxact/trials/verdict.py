"""Whether an activation helps, judged from runs with the same seeds."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from ..report.statistics import holm, paired_difference, pairs_needed
from .metric import Better

Word = Literal["helps", "hurts", "cannot be told"]
UNKNOWN: Word = "cannot be told"
LEVEL = 0.95
_MOST_SEEDS = 1000
"""More than anybody would run: the number is not given."""


@dataclass(frozen=True)
class Verdict:
    """How an activation compares with the baseline, in a word and in a sentence.

    difference: the mean over seeds of its value minus the baseline's, None without a pair; interval: of 95 %, by
    Student's t; p: after Holm's correction for all that were compared. Both are None where the spread is not known.
    """

    activation: str
    word: Word
    sentence: str
    difference: float | None = None
    interval: tuple[float, float] | None = None
    p: float | None = None


def judge(values: Mapping[str, Sequence[float | None]], better: Better, metric: str = "the metric") -> list[Verdict]:
    """A verdict for every activation but the first, the baseline.

    Args:
        values: for each activation the metric for seed after seed, None where a run failed.
        better: which values are better.
        metric: its name, for the sentences.

    Example:
        >>> (one,) = judge({"relu": [0.80, 0.82, 0.81], "mpu2": [0.90, 0.93, 0.90]}, "higher", "val_acc")
        >>> one.sentence
        'mpu2 helps: val_acc is higher than with relu by 0.1 (95 % interval 0.0752 to 0.125)'
    """
    baseline = next(iter(values))
    others = {name: _differences(one, values[baseline]) for name, one in values.items() if name != baseline}
    refused = {name: _refusal(values[name], values[baseline], baseline, metric) for name in others}
    found = {name: paired_difference(d, [0.0] * len(d)) for name, d in others.items() if not refused[name]}
    adjusted = dict(zip(found, holm([p for *_, p in found.values()]), strict=True))
    verdicts = []
    for name, differences in others.items():
        if name not in found:
            mean = math.fsum(differences) / len(differences) if differences else None
            verdicts.append(Verdict(name, UNKNOWN, f"{name}: cannot be told{refused[name]}", mean))
            continue
        mean, low, high, p = found[name]
        if adjusted[name] <= 1 - LEVEL:
            word, sentence = _answer(mean, (low, high), better, baseline, metric)
        else:
            word, sentence = UNKNOWN, _too_few(differences, p, len(found))
        verdicts.append(Verdict(name, word, name + sentence, mean, (low, high), adjusted[name]))
    return verdicts


def _differences(values: Sequence[float | None], base: Sequence[float | None]) -> list[float]:
    pairs = zip(values, base, strict=True)
    return [a - b for a, b in pairs if a is not None and b is not None and math.isfinite(a) and math.isfinite(b)]


def _refusal(values: Sequence[float | None], base: Sequence[float | None], baseline: str, metric: str) -> str:
    """Why runs cannot be compared; empty if they can."""
    for whose, some in (("its", values), (f"{baseline}'s", base)):
        runs = f"of {whose} {len(some)} runs"
        if missing := sum(value is None for value in some):
            return f": {missing} {runs} failed"
        if strange := sum(value is not None and not math.isfinite(value) for value in some):
            return f": {metric} is not a finite number in {strange} {runs}, the training diverged"
    differences = _differences(values, base)
    if len(differences) < 2:
        return " with 1 seed, which shows no spread; five are a start"
    if len({*values}) == 1 and len({*base}) == 1:
        return (
            f": all {len(values)} seeds gave the same value. The script sets its own seed, or {metric} is at its limit"
        )
    if not any(differences):
        return f": {metric} is the same as with {baseline} for every seed"
    if _is_constant(differences, values):
        return f" with {len(values)} seeds: the difference is the same for each, which leaves its spread unknown"
    return ""


def _is_constant(differences: Sequence[float], values: Sequence[float | None]) -> bool:
    """Up to rounding: in floats 0.3 - 0.2 is not 0.2 - 0.1."""
    size = max(abs(value) for value in values if value is not None)
    return max(differences) - min(differences) <= 1e-12 * size


def _answer(mean: float, interval: tuple[float, float], better: Better, baseline: str, metric: str) -> tuple[Word, str]:
    near, far = sorted(map(abs, interval))
    side = "higher" if mean > 0 else "lower"
    word: Word = "helps" if side == better else "hurts"
    by = f"{abs(mean):.3g} (95 % interval {near:.3g} to {far:.3g})"
    return word, f" {word}: {metric} is {side} than with {baseline} by {by}"


def _too_few(differences: Sequence[float], p: float, compared: int) -> str:
    mean = math.fsum(differences) / len(differences)
    needed = pairs_needed(differences, mean, 1 - (1 - LEVEL) / compared) if mean else math.inf
    seeds = f"about {needed:.0f}" if needed <= _MOST_SEEDS else f"more than {_MOST_SEEDS}"
    few = f"{len(differences)} seeds"
    sentence = f": cannot be told with {few}; {seeds} would be needed to see a difference of this size"
    if p <= 1 - LEVEL:
        sentence += f" (its interval leaves out 0, but with {compared} activations compared that happens by chance)"
    return sentence
