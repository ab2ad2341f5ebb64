"""Panel b of the paper's method figure: ReLU as the projection onto the half-line."""

from __future__ import annotations

import torch
from matplotlib.axes import Axes

from ..project import nonnegative
from .style import ARROW, EDGE, POINT, SET


def draw_half_line(axes: Axes) -> None:
    """Points of the number line and where the projection takes them: the negative ones to 0."""
    axes.set(xlim=(-3.4, 3.4), ylim=(-1.5, 2.4))
    axes.set_axis_off()
    axes.axhline(0, color="#666666", linewidth=1, zorder=1)
    axes.fill_between([0, 3.4], -0.16, 0.16, color=SET, linewidth=0, zorder=0)
    axes.text(1.7, -0.62, "$\\mathbb{R}_+$", color=EDGE, ha="center", va="center", fontsize=12)
    points = torch.tensor([-2.8, -1.9, -1.0, 1.1, 2.2])
    moved = nonnegative(points)
    for start, end in zip(points.tolist(), moved.tolist(), strict=True):
        if start != end:
            bend = {"arrowstyle": "-|>", "color": ARROW, "linewidth": 1.1, "connectionstyle": "arc3,rad=-0.45"}
            axes.annotate("", (end, 0.06), (start, 0.06), arrowprops=bend)
    axes.plot(points, torch.zeros(5), "o", color=ARROW, markersize=5)
    axes.plot(moved, torch.zeros(5), "o", color=POINT, markersize=7, fillstyle="none", markeredgewidth=1.5)
    axes.text(0, -0.62, "0", ha="center", va="center")
    axes.text(0, 2.0, "$\\mathrm{ReLU}(x) = \\Pi_{\\mathbb{R}_+}(x)$", ha="center", va="center", fontsize=12)
    axes.text(-1.9, -0.62, "$x < 0$ goes to 0", ha="center", va="center", fontsize=9)
    axes.text(1.7, 0.62, "$x \\geq 0$ stays", ha="center", va="center", fontsize=9)
