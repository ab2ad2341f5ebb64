"""What an MPU is in an experiment: the axis of its groups, its angle, and whether that is learnt."""

from __future__ import annotations

import functools
import math
import re
from typing import Any

import torch

from ...nn import MPU
from ...registry import canonical, get

GROUPINGS = {
    "channels": "neighbouring channels at one pixel (axis 1)",
    "text": "neighbours after everything but the batch is flattened, as the paper writes",
    "last": "neighbouring pixels of a row (last axis), as the published code does",
}
_DIMS = {"channels": 1, "text": "flat", "last": -1}


def is_unit(activation: str) -> bool:
    return re.fullmatch(r"(leaky_)?mpu\d+", canonical(activation)) is not None


def decay_of(activation: str, decay: str, usual: str) -> str:
    """The recipe's usual decay in place of one that differs from it in the units' angles, where there are none."""
    if not is_unit(activation) and {decay, usual} == {"all", "all-but-angles"}:
        return usual
    return decay


@functools.cache
def check_activation(activation: str) -> None:
    """The networks' layers have the channels that ReLU's have: nothing that halves or doubles them fits."""
    try:
        made = get(activation, dim=1)
        channels = made(torch.zeros(1, 16, 2, 2)).shape[1]
    except TypeError as error:
        raise ValueError(f"activation must be one that needs no parameters, got {activation!r}: {error}") from error
    if channels != 16:
        raise ValueError(f"activation must keep the channels, got {activation!r}, which makes {channels} of 16")


def unit_arguments(activation: str, grouping: str, alpha: float, learn_angle: bool) -> dict[str, Any]:
    """For :func:`proxact.get`; nothing for other activations."""
    if not is_unit(activation):
        return {}
    return {"dim": _DIMS[grouping], "alpha": alpha, "learnable": learn_angle}


def as_published(activation: str) -> dict[str, Any]:
    """What the published code computes: groups along the last axis, tangent 0.

    There the angle is trained in the leaky unit alone; ours then starts from the smallest angle that can be learnt.
    It is spared from weight decay as all angles are, where the published code decays the tangent, towards 0.
    """
    is_leaky = activation.lower().startswith("leaky")
    return {"grouping": "last", "alpha": _smallest_learnt() if is_leaky else 0.0, "learn_angle": is_leaky}


def _smallest_learnt() -> float:
    """A learnt angle stays above this many radians."""
    return math.pi / 4 - MPU().limit
