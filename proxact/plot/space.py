"""Pictures of a set in three dimensions."""

from __future__ import annotations

import math

import torch
from matplotlib.figure import Figure
from torch import Tensor

from .style import ARROW, EDGE, GREY, POINT, SET, Map


def draw_space(function: Map, names: tuple[str, str, str], elev: float = 18, azim: float = -62) -> Figure:
    """Where the projection takes a sphere: its cap inside the set stays, the rest lands on the set's surface."""
    figure = Figure(figsize=(3.8, 3.5))
    axes = figure.add_subplot(projection="3d")
    axes.set_position((-0.04, 0.04, 0.96, 0.98))
    axes.plot_surface(
        *function(sphere(2.2)).unbind(-1),
        color=SET,
        edgecolor=EDGE,
        alpha=0.55,
        linewidth=0.2,
        shade=False,
        rstride=1,
        cstride=2,
    )
    generator = torch.Generator().manual_seed(3)
    points = torch.randn(14, 3, generator=generator, dtype=torch.float64)
    moved = function(points)
    for start, end in zip(points.tolist(), moved.tolist(), strict=True):
        axes.plot(*zip(start, end, strict=True), color=GREY, linewidth=0.8)
    axes.scatter(*points.T, color=ARROW, s=12, depthshade=False)
    axes.scatter(*moved.T, color=POINT, s=12, depthshade=False)
    axes.set(xlabel=names[0], ylabel=names[1], zlabel=names[2])
    axes.set(xticks=range(-2, 3), yticks=range(-2, 3), zticks=range(-2, 3))
    axes.tick_params(labelsize=8, pad=-2)
    axes.set_box_aspect((1, 1, 1), zoom=0.92)
    axes.view_init(elev=elev, azim=azim)
    return figure


def sphere(radius: float) -> Tensor:
    """Points (25, 49, 3)."""
    up, around = torch.meshgrid(
        torch.linspace(0, math.pi, 25, dtype=torch.float64),
        torch.linspace(0, 2 * math.pi, 49, dtype=torch.float64),
        indexing="ij",
    )
    ball = torch.stack([up.sin() * around.cos(), up.sin() * around.sin(), up.cos()], -1)
    return radius * ball
