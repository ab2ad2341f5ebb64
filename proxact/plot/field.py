"""The projection for m = 2 as a field of arrows."""

from __future__ import annotations

import math

import torch
from matplotlib.figure import Figure

from ..project import cone

_ANGLES = {"pi/8": math.pi / 8, "pi/4 (ReLU)": math.pi / 4, "3 pi/8": 3 * math.pi / 8}


def draw_field() -> Figure:
    """One panel for each angle: the cone shaded, its polar hatched, an arrow from each point to its projection."""
    figure = Figure(figsize=(12, 4.4), layout="constrained")
    for axes, (label, alpha) in zip(figure.subplots(1, len(_ANGLES)), _ANGLES.items(), strict=True):
        _fill_sector(axes, math.pi / 4, alpha, facecolor="#9ecae1", alpha=0.7, label="cone: x stays")
        _fill_sector(
            axes, 5 * math.pi / 4, math.pi / 2 - alpha, facecolor="#eeeeee", hatch="//", edgecolor="#bbbbbb",
            label="polar: x goes to 0",
        )  # fmt: skip
        line = torch.linspace(-2, 2, 11)
        points = torch.cartesian_prod(line, line)
        moved = cone(points, alpha)
        change = moved - points
        axes.quiver(
            *points.T, *change.T, angles="xy", scale_units="xy", scale=1, color="#3b5b92", width=0.004, headwidth=4
        )
        axes.plot(*moved.T, ".", color="#d94801", markersize=4, label="projections")
        axes.set(xlim=(-2.2, 2.2), ylim=(-2.2, 2.2), aspect="equal", title=f"half-apex angle {label}")
        axes.set(xlabel="$x_1$", ylabel="$x_2$")
    axes.legend(loc="lower right", fontsize=8)
    return figure


def _fill_sector(axes, middle: float, half_width: float, **style) -> None:  # type: ignore[no-untyped-def]
    turn = torch.linspace(middle - half_width, middle + half_width, 60)
    axes.fill([0, *(9 * turn.cos()).tolist()], [0, *(9 * turn.sin()).tolist()], **{"linewidth": 0, **style})
