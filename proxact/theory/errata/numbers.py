"""Printed numbers that cannot be right."""

from __future__ import annotations

import itertools
import math

import torch
from torch import Tensor

from ..claim import Construction, Erratum
from ..measure import F64, worst
from ..operations import SIZES, count_operations


def _totals(slope: int) -> Construction:
    return {"totals": torch.tensor([slope * m + 9 for m in SIZES], dtype=F64)}


def _totals_gap(totals: Tensor) -> float:
    counted = torch.tensor([sum(count_operations(m).values()) for m in SIZES], dtype=F64)
    return worst(totals - counted)


def _difference_gap(difference: Tensor) -> float:
    """PReLU's best accuracy minus ReLU's."""
    return worst(difference - (94.60 - 95.47))


ANT_BATCH, ANT_HORIZON, ANT_MLP = 4096, 16, (60, 256, 128, 64, 8)
"""The horizon of IsaacGymEnvs' Ant: steps of every environment in an epoch."""


def _macs_gap(samples: Tensor) -> float:
    """In millions, against the 232.78 M of the ReLU row."""
    weights = sum(inputs * outputs for inputs, outputs in itertools.pairwise(ANT_MLP))
    return worst(samples * weights / 1e6 - 232.78)


MEANS, MAXIMA = torch.tensor([5679.84, 5429.31], dtype=F64), torch.tensor([6338.67, 5576.70], dtype=F64)
"""Of Leaky ReLU and WTA in the MLP+ rows."""


def _deviation_gap(largest: Tensor) -> float:
    """Against the largest standard deviation of three numbers with these means and maxima, by trying them all."""
    others = 3 * MEANS - MAXIMA  # the sum of the two that are not the maximum
    second = torch.linspace(0, 1, 1001, dtype=F64).unsqueeze(-1) * (MAXIMA - others / 2) + others / 2
    seeds = torch.stack([MAXIMA.expand_as(second), second, others - second])
    return worst(seeds.std(0).max(0).values - largest)


ERRATA = [
    Erratum(
        where="Table of complexity",
        says="7 m + 9 operations in all",
        name="its rows add up to 6 m + 9",
        construct=lambda: _totals(6),
        printed=lambda: _totals(7),
        residual=_totals_gap,
        tolerance=0.0,
        kind="count",
    ),
    Erratum(
        where="CIFAR10 tables, PReLU",
        says="max (-0.75)",
        name="94.60 - 95.47 = -0.87",
        construct=lambda: {"difference": torch.tensor(-0.87, dtype=F64)},
        printed=lambda: {"difference": torch.tensor(-0.75, dtype=F64)},
        residual=_difference_gap,
    ),
    Erratum(
        where="Captions, MACs",
        says="per epoch",
        name="per batch (of 128; of 4096)",
        construct=lambda: {"samples": torch.tensor(float(ANT_BATCH), dtype=F64)},
        printed=lambda: {"samples": torch.tensor(float(ANT_BATCH * ANT_HORIZON), dtype=F64)},
        residual=_macs_gap,
        tolerance=0.005,
        kind="count",
    ),
    Erratum(
        where="MLP+ table",
        says="Leaky ReLU +- 8534.00; WTA +- 552.92",
        name="with the printed mean and max, 3 seeds have at most sqrt(3) (max - mean): 1141.13 and 255.29",
        construct=lambda: {"largest": math.sqrt(3) * (MAXIMA - MEANS)},
        printed=lambda: {"largest": torch.tensor([8534.00, 552.92], dtype=F64)},
        residual=_deviation_gap,
        tolerance=1e-9,
    ),
]
