"""The height t and the vector h of the projection's formula."""

from __future__ import annotations

import math

import torch
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from torch import Tensor

from ..project import cone
from .style import ARROW, EDGE, GREY, POINT, shade_set, square, through_origin

_ALPHA = math.pi / 6
_X = torch.tensor([-0.55, 1.75], dtype=torch.float64)


def parts(x: Tensor) -> tuple[Tensor, Tensor]:
    """t e and h: x along the axis, and across it."""
    along = x.mean(-1, keepdim=True).expand_as(x)
    return along, x - along


def draw_height() -> Figure:
    """x = t e + h, with its projection onto the cone."""
    figure = Figure(figsize=(4.4, 4.2), layout="constrained")
    axes = figure.subplots()
    through_origin(axes)
    shade_set(axes, lambda x: cone(x, _ALPHA), 2.2)
    axes.plot([-2.2, 2.2], [-2.2, 2.2], "--", color=GREY, linewidth=1)
    along, across = parts(_X)
    vector(axes, torch.zeros(2), along, EDGE)
    vector(axes, along, along + across, POINT)
    vector(axes, torch.zeros(2), _X, ARROW)
    moved = cone(_X, _ALPHA)
    axes.plot(*torch.stack([_X, moved]).T, ":", color=GREY, linewidth=1.2)
    axes.plot(*moved, "o", color=POINT, markersize=6)
    _right_angle(axes, along, across)
    label(axes, _X, "$x$", (-0.2, 0.1), ARROW)
    label(axes, along / 2, "$t$", (0.22, -0.12), EDGE)
    label(axes, along + across / 2, "$h$", (0.1, 0.2), POINT)
    label(axes, moved, "$\\Pi(x)$", (0.36, 0.22), POINT)
    label(axes, torch.tensor([-1.2, -1.2]), "axis $x_1 = x_2$", (0.8, -0.1), GREY)
    label(axes, torch.tensor([1.75, 1.1]), "$C_\\alpha^{(2)}$", (0.0, 0.0), EDGE)
    square(axes, 2.2)
    return figure


def vector(axes: Axes, start: Tensor, end: Tensor, color: str) -> None:
    style = {"arrowstyle": "-|>", "color": color, "linewidth": 1.8, "shrinkA": 0, "shrinkB": 0}
    axes.annotate("", tuple(end.tolist()), tuple(start.tolist()), arrowprops=style)


def label(axes: Axes, at: Tensor, text: str, shift: tuple[float, float], color: str) -> None:
    x, y = at.tolist()
    axes.text(x + shift[0], y + shift[1], text, color=color, ha="center", va="center", fontsize=12)


def _right_angle(axes: Axes, corner: Tensor, towards: Tensor) -> None:
    side = 0.16 * towards / towards.norm()
    inward = -0.16 * corner / corner.norm()
    axes.plot(*torch.stack([corner + side, corner + side + inward, corner + inward]).T, color=GREY, linewidth=1)
