"""The cone for m = 3."""

from __future__ import annotations

import math

import torch
from matplotlib.figure import Figure

from ..project import cone
from .style import ARROW, GREY, POINT, SET

_ALPHA = math.pi / 6


def draw_cone() -> Figure:
    """The surface of the cone of half-apex angle pi/6, and random points joined to their projections."""
    figure = Figure(figsize=(6.4, 6), layout="constrained")
    axes = figure.add_subplot(projection="3d")
    axes.plot_surface(*surface(_ALPHA, height=3.2), color=SET, alpha=0.45, linewidth=0, antialiased=True)
    axis = torch.tensor([-0.8, 2.1])
    axes.plot(axis, axis, axis, color="#333333", linestyle="--", linewidth=1)
    axes.text(2.1, 2.1, 2.25, "axis (1, 1, 1)")
    generator = torch.Generator().manual_seed(3)
    points = torch.rand(14, 3, generator=generator) * 4 - 1.5
    moved = cone(points, _ALPHA, m=3)
    for start, end in zip(points.tolist(), moved.tolist(), strict=True):
        axes.plot(*zip(start, end, strict=True), color=GREY, linewidth=0.9)
    axes.scatter(*points.T, color=ARROW, s=16, label="x", depthshade=False)
    axes.scatter(*moved.T, color=POINT, s=16, label="its projection", depthshade=False)
    axes.set(xlabel="$x_1$", ylabel="$x_2$", zlabel="$x_3$", title="$C_\\alpha^{(3)}$, half-apex angle $\\pi/6$")
    axes.legend(loc="upper left")
    axes.view_init(elev=18, azim=-62)
    return figure


def surface(alpha: float, height: float) -> tuple[torch.Tensor, ...]:
    """Points t (e + tan(alpha) (cos phi v + sin phi w)) for an orthonormal basis e, v, w."""
    e = torch.ones(3) / math.sqrt(3)
    v = torch.tensor([1.0, -1.0, 0.0]) / math.sqrt(2)
    w = torch.linalg.cross(e, v)
    t, phi = torch.meshgrid(torch.linspace(0, height, 30), torch.linspace(0, 2 * math.pi, 60), indexing="ij")
    around = phi.cos()[..., None] * v + phi.sin()[..., None] * w
    return (t[..., None] * (e + math.tan(alpha) * around)).unbind(-1)
