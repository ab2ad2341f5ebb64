"""When a unit has stopped to be of use."""

from __future__ import annotations

import math
from typing import Any

from ..nn import MPU

NEARLY_ALL = 0.99
"""The share of groups at which a unit counts as zero, or as the identity."""
AT_THE_END = 0.01
"""Radians from the end of its interval at which an angle counts as there."""


class CollapseWarning(UserWarning):
    """A unit passes nothing, or everything, or its angle has run into the end of its interval."""


def collapse(unit: MPU, row: dict[str, Any]) -> tuple[str, str] | None:
    """A word and a sentence on what is wrong with this unit, or None."""
    low, high = math.pi / 4 - unit.limit, math.pi / 4 + unit.limit
    if unit.learnable and (row["angle_min"] < low + AT_THE_END or row["angle_max"] > high - AT_THE_END):
        return "angle", (
            f"an angle has run into the end of its interval [{low:.4f}, {high:.4f}] "
            f"(smallest {row['angle_min']:.4f}, largest {row['angle_max']:.4f}): the cone is a ray or a half-space"
        )
    if row["zero"] is not None and row["zero"] > NEARLY_ALL:
        return "zero", f"{row['zero']:.1%} of its groups are projected to 0, which passes no gradient"
    if row["inside"] is not None and row["inside"] > NEARLY_ALL:
        return "identity", f"{row['inside']:.1%} of its groups are inside the cone, where it is the identity"
    return None
