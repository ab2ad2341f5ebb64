"""Learning rates as functions of the epoch, which may be fractional: nothing to save, nothing to restore."""

from __future__ import annotations

import math
from collections.abc import Callable

Schedule = Callable[[float], float]


def cosine(peak: float, epochs: int, low: float = 0.0) -> Schedule:
    """From ``peak`` to ``low`` along half a cosine, one value for each epoch."""
    return lambda epoch: low + (peak - low) * (1 + math.cos(math.pi * int(epoch) / epochs)) / 2


def one_cycle(peak: float, epochs: int, warmup: float, low: float = 0.0) -> Schedule:
    """Linear up to ``peak`` in the first ``warmup`` epochs, then linear down to ``low``, step by step."""

    def rate(epoch: float) -> float:
        if epoch < warmup:
            return peak * (0.05 + 0.95 * epoch / warmup)
        return low + (peak - low) * (epochs - epoch) / (epochs - warmup)

    return rate


def steps(peak: float, milestones: tuple[int, ...], factor: float = 0.1) -> Schedule:
    """Times ``factor`` from each milestone on."""
    return lambda epoch: peak * factor ** sum(epoch >= milestone for milestone in milestones)


def held_cosine(peak: float, epochs: int, first: int, warm_up: bool, low: float) -> Schedule:
    """``first`` epochs at ``peak``, or rising to it step by step; then half a cosine to ``low``, epoch by epoch."""

    def rate(epoch: float) -> float:
        if epoch < first:
            return peak * (1e-3 + (1 - 1e-3) * epoch / first) if warm_up else peak
        return low + (peak - low) * (1 + math.cos(math.pi * (int(epoch) - first) / (epochs - first))) / 2

    return rate
