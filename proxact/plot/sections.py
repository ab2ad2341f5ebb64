"""The cone for m = 3 and what some planes cut out of it."""

from __future__ import annotations

import math
from typing import NamedTuple

import torch
from matplotlib.figure import Figure
from torch import Tensor

from ..project import cone
from .cone3d import surface
from .style import GREY, SET, grid

_ALPHA = math.pi / 8
_HALF = 1.7


class _Plane(NamedTuple):
    name: str
    color: str
    origin: Tensor
    first: Tensor
    second: Tensor

    def at(self, points: Tensor) -> Tensor:
        return self.origin + points[..., :1] * self.first + points[..., 1:] * self.second


def _planes() -> list[_Plane]:
    e = torch.ones(3, dtype=torch.float64) / math.sqrt(3)
    v = torch.tensor([1.0, -1.0, 0.0], dtype=torch.float64) / math.sqrt(2)
    w = torch.linalg.cross(e, v)
    x1, x2, x3 = torch.eye(3, dtype=torch.float64)
    return [
        _Plane("through the axis:\na wedge", "#238b45", 1.7 * e, v, e),
        _Plane("across the axis:\na disc", "#d94801", 1.9 * e, v, w),
        _Plane("$x_3 = 0.5$:\nan ellipse", "#6a51a3", 0.89 * (x1 + x2) + 0.5 * x3, x1, x2),
        _Plane("beside the axis:\na hyperbola", "#b8860b", 1.7 * e + 0.45 * w, v, e),
    ]


def draw_sections() -> Figure:
    """Left: the cone with the outline of each section. Right: the sections, read off from the projection."""
    figure = Figure(figsize=(11.5, 5.4))
    space = figure.add_subplot(projection="3d")
    space.set_position((0.0, 0.02, 0.42, 0.96))
    space.plot_surface(*surface(_ALPHA, height=3.4), color=SET, alpha=0.25, linewidth=0)
    axis = torch.tensor([-0.4, 2.3])
    space.plot(axis, axis, axis, color=GREY, linestyle="--", linewidth=1)
    for i, plane in enumerate(_planes()):
        axes = figure.add_axes((0.50 + 0.25 * (i % 2), 0.57 - 0.48 * (i // 2), 0.21, 0.32))
        _, points = grid(_HALF, 201)
        placed = plane.at(points)
        distance = (cone(placed, _ALPHA, m=3) - placed).norm(dim=-1)
        axes.contourf(*points.unbind(-1), distance, levels=[-1, 0.012], colors=[SET])
        line = axes.contour(*points.unbind(-1), distance, levels=[0.012], colors=[plane.color], linewidths=2)
        axes.set(aspect="equal", xticks=[-1, 0, 1], yticks=[-1, 0, 1])
        axes.tick_params(labelsize=8)
        axes.set_title(plane.name, fontsize=9.5, color=plane.color)
        for piece in line.allsegs[0]:
            space.plot(*plane.at(torch.from_numpy(piece)).T, color=plane.color, linewidth=2)
    space.set(xlabel="$x_1$", ylabel="$x_2$", zlabel="$x_3$", xticks=range(4), yticks=range(4), zticks=range(4))
    space.tick_params(labelsize=8)
    space.set_title("$C_\\alpha^{(3)}$, $\\alpha = \\pi/8$", y=0.98)
    space.view_init(elev=16, azim=-66)
    return figure
