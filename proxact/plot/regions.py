"""The figures of the proof for m = 2: the line x_1 = x_2, and the regions for small and for large angles."""

from __future__ import annotations

import functools
import math

import torch
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ..project import cone
from .height import label, vector
from .style import ARROW, EDGE, FAINT, GREY, POINT, grid, shade, shade_set, square, through_origin

_HALF = 2.2
SMALL, LARGE = math.pi / 8, 3 * math.pi / 8


def draw_line() -> Figure:
    """Left: points of the line x_1 = x_2 and their projections. Right: along the line, the projection is ReLU."""
    figure = Figure(figsize=(8, 3.8), layout="constrained")
    left, right = figure.subplots(1, 2)
    through_origin(left)
    shade_set(left, lambda x: cone(x, SMALL), _HALF, polar=True)
    left.plot([-_HALF, _HALF], [-_HALF, _HALF], "--", color=GREY, linewidth=1)
    points = torch.linspace(-1.8, 1.8, 7, dtype=torch.float64)[:, None].expand(-1, 2)
    moved = cone(points, SMALL)
    for start, end in zip(points, moved, strict=True):
        if not torch.equal(start, end):
            left.annotate("", end.tolist(), start.tolist(), arrowprops=_BENT)
    left.plot(*points.T, "o", color=ARROW, markersize=4)
    left.plot(*moved.T, "o", color=POINT, markersize=7, fillstyle="none", markeredgewidth=1.5)
    label(left, torch.tensor([1.2, 1.2]), "$x_1 = x_2$", (0.45, -0.2), GREY)
    square(left, _HALF)
    s = torch.linspace(-2, 2, 201, dtype=torch.float64)
    through_origin(right)
    right.plot(s, torch.relu(s), color=FAINT, linewidth=6, label="ReLU($s$)")
    right.plot(s, cone(s[:, None].expand(-1, 2).contiguous(), SMALL)[:, 0], color=POINT, label="$\\Pi(s, s)_1$")
    right.set(xlabel="$s$", xlim=(-2, 2), ylim=(-0.5, 2.2))
    right.legend(loc="upper left", fontsize=9)
    return figure


_BENT = {"arrowstyle": "-|>", "color": ARROW, "linewidth": 1.1, "connectionstyle": "arc3,rad=0.35"}


def draw_regions(alpha: float) -> Figure:
    """The regions of x, the edges of those of -x, and one pair x, -x with its projections."""
    figure = Figure(figsize=(4.4, 4.2), layout="constrained")
    axes = figure.subplots()
    project = functools.partial(cone, alpha=alpha)
    _, points = grid(_HALF, 241)
    moved, opposite = project(points), project(-points)
    shade(axes, torch.zeros(points.shape[:-1]), points, color="#fff5eb")
    shade_set(axes, project, _HALF, polar=True)
    for distance in ((opposite + points).norm(dim=-1), opposite.norm(dim=-1)):
        axes.contour(*points.unbind(-1), distance, levels=[0.02], colors=[GREY], linewidths=0.9, linestyles="--")
    for distance in ((moved - points).norm(dim=-1), moved.norm(dim=-1)):
        axes.contour(*points.unbind(-1), distance, levels=[0.02], colors=[EDGE], linewidths=1.2)
    through_origin(axes)
    _pair(axes, alpha)
    _names(axes, alpha)
    square(axes, _HALF)
    return figure


draw_small = functools.partial(draw_regions, SMALL)
draw_large = functools.partial(draw_regions, LARGE)


def _pair(axes: Axes, alpha: float) -> None:
    x = torch.tensor([-1.3, 1.05] if alpha < math.pi / 4 else [-0.75, 1.15], dtype=torch.float64)
    for point, name in ((x, "$x$"), (-x, "$-x$")):
        moved = cone(point, alpha)
        if not torch.equal(point, moved):
            vector(axes, point, moved, ARROW)
        axes.plot(*point, "o", color=ARROW, markersize=5)
        axes.plot(*moved, "o", color=POINT, markersize=7, fillstyle="none", markeredgewidth=1.5)
        label(axes, point, name, (-0.05, 0.24) if point is x else (0.15, -0.24), ARROW)


def _names(axes: Axes, alpha: float) -> None:
    """At the middle of each region, found by where the projection takes a circle."""
    turn = torch.linspace(0, 2 * math.pi, 721, dtype=torch.float64)[:-1]
    circle = 1.85 * torch.stack([turn.cos(), turn.sin()], -1)
    moved = cone(circle, alpha)
    inside, gone = (moved - circle).norm(dim=-1) < 1e-9, moved.norm(dim=-1) < 1e-9
    above = circle[:, 1] > circle[:, 0]
    regions = {"_1": inside, "_2": ~inside & ~gone & above, "_2'": ~inside & ~gone & ~above, "_3": gone}
    for name, where in regions.items():
        middle = circle[where].mean(0)
        box = {"boxstyle": "round,pad=0.15", "facecolor": "white", "edgecolor": "none", "alpha": 0.8}
        x, y = (1.75 * middle / middle.norm()).tolist()
        axes.text(x, y, f"$\\mathcal{{R}}{name}$", ha="center", va="center", fontsize=12, bbox=box)
