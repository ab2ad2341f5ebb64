"""The paper's first figure: its method in five panels."""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ..project import cone
from .half_line import draw_half_line
from .network import draw_network
from .step import draw_step
from .style import arrows, shade_set, square, through_origin

_ALPHA = math.pi / 6


def draw_plane(axes: Axes) -> None:
    """Panel c: where the projection onto the cone takes the points of the plane."""
    through_origin(axes)
    shade_set(axes, _project, 2.2, polar=True)
    line = torch.linspace(-2, 2, 9, dtype=torch.float64)
    arrows(axes, _project, torch.cartesian_prod(line, line))
    square(axes, 2.2)
    box = {"boxstyle": "round,pad=0.2", "facecolor": "white", "edgecolor": "none", "alpha": 0.8}
    axes.text(1.55, 1.55, "$C_\\alpha^{(2)}$", ha="center", va="center", fontsize=12, bbox=box)


def _project(x: torch.Tensor) -> torch.Tensor:
    return cone(x, _ALPHA)


PANELS: dict[str, tuple[Callable[[Axes], None], str, tuple[float, float]]] = {
    "a": (draw_step, "one step of PGD is one layer", (5.0, 2.9)),
    "b": (draw_half_line, "ReLU projects onto the half-line", (3.6, 2.2)),
    "c": (draw_plane, "projection onto the cone", (3.6, 3.4)),
    "d": (lambda axes: draw_network(axes, 2, "$\\Pi_{C_\\alpha^{(2)}}$"), "network with the cone", (4.6, 3.2)),
    "e": (lambda axes: draw_network(axes, 1, "ReLU"), "network with ReLU", (4.6, 3.2)),
}


def draw_method() -> Figure:
    """All five panels."""
    figure = Figure(figsize=(12, 6.6), layout="constrained")
    places = figure.subplot_mosaic("aaabbbccc\naaabbbccc\ndddd.eeee\ndddd.eeee")
    for name, (draw, title, _) in PANELS.items():
        draw(places[name])
        places[name].set_title(f"({name}) {title}", fontsize=10, loc="left")
    return figure


def draw_panel(name: str) -> Figure:
    """One of them."""
    draw, title, size = PANELS[name]
    figure = Figure(figsize=size, layout="constrained")
    axes = figure.subplots()
    draw(axes)
    axes.set_title(f"({name}) {title}", fontsize=10, loc="left")
    return figure
