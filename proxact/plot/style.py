"""What the pictures share: colours, and regions read off from the projection itself."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from matplotlib.axes import Axes
from torch import Tensor

SET, EDGE, ARROW, POINT, GREY = "#9ecae1", "#3f83b5", "#3b5b92", "#d94801", "#888888"
POLAR, HATCH = "#eeeeee", "#c4c4c4"
FAINT = "#c9c9c9"
Map = Callable[[Tensor], Tensor]


def grid(half_width: float, count: int) -> tuple[Tensor, Tensor]:
    """Coordinates of one axis, and the points (count, count, 2) of the square, x_1 along the second axis."""
    line = torch.linspace(-half_width, half_width, count, dtype=torch.float64)
    second, first = torch.meshgrid(line, line, indexing="ij")
    return line, torch.stack([first, second], -1)


def shade(axes: Axes, value: Tensor, points: Tensor, color: str = SET, **style: Any) -> None:
    """Fill where ``value`` is 0. A distance grows linearly outside, so a small level gives a straight edge."""
    filled = axes.contourf(*points.unbind(-1), value, levels=[-1e9, 0.02], colors=[color], antialiased=True, **style)
    filled.set(edgecolor=HATCH, linewidth=0)  # the colour of its hatches


def shade_set(axes: Axes, function: Map, half_width: float, polar: bool = False, count: int = 161) -> None:
    """Fill the points that a projection leaves where they are; hatch those that it takes to 0."""
    _, points = grid(half_width, count)
    moved = function(points)
    shade(axes, (moved - points).norm(dim=-1), points, alpha=0.75)
    if polar:
        shade(axes, moved.norm(dim=-1), points, color=POLAR, hatches=["//"])


def arrows(axes: Axes, function: Map, points: Tensor, dots: bool = True) -> None:
    """An arrow from each point to where it goes."""
    moved = function(points)
    change = moved - points
    far = change.norm(dim=-1) > 1e-3
    axes.quiver(
        *points[far].T, *change[far].T, angles="xy", scale_units="xy", scale=1, color=ARROW, width=0.0045, headwidth=4
    )
    if dots:
        axes.plot(*moved.T, ".", color=POINT, markersize=4)


def square(axes: Axes, half_width: float, names: tuple[str, str] = ("$x_1$", "$x_2$")) -> None:
    ends = (-half_width, half_width)
    axes.set(xlim=ends, ylim=ends, aspect="equal", xticks=range(-2, 3), yticks=range(-2, 3))
    axes.set_xlabel(names[0])
    axes.set_ylabel(names[1])


def through_origin(axes: Axes) -> None:
    """Thin lines for both axes."""
    axes.axhline(0, color=FAINT, linewidth=0.8, zorder=0)
    axes.axvline(0, color=FAINT, linewidth=0.8, zorder=0)
