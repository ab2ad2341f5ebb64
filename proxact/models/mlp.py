"""Multilayer perceptrons, such as the paper's for the Ant: 60-256-128-64-8."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

from torch import nn

from ..registry import get

ANT_UNITS = {"mlp": (256, 128, 64), "mlp+": (256, 128, 96)}
"""Hidden units of the paper's networks for the Ant, which has 60 observations and 8 actions."""


def mlp(widths: Sequence[int] = (60, 256, 128, 64, 8), activation: str = "relu", **arguments: Any) -> nn.Sequential:
    """Linear layers of these widths, an activation of its own between each two.

    Example:
        >>> len(mlp((60, 256, 8), "mpu3"))
        3
    """
    layers: list[nn.Module] = []
    for inputs, outputs in itertools.pairwise(widths):
        layers += [nn.Linear(inputs, outputs), get(activation, dim=-1, **arguments)]
    return nn.Sequential(*layers[:-1])
