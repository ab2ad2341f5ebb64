"""Pictures of a function of two numbers: where it takes each point, how much of a small change passes, its penalty."""

from __future__ import annotations

import torch
from matplotlib.figure import Figure
from torch import Tensor

from .style import ARROW, EDGE, POINT, Map, arrows, grid, shade_set, square, through_origin

_SIZE = (3.8, 3.5)
_HALF = 2.2


def draw_map(function: Map, keeps_points: bool = False, polar: bool = False) -> Figure:
    """An arrow from each point to where it goes. Shaded: the set, points that stay. Hatched: points that go to 0."""
    figure = Figure(figsize=_SIZE)
    axes = figure.add_axes((0.15, 0.14, 0.83, 0.84))
    through_origin(axes)
    if keeps_points:
        shade_set(axes, function, _HALF, polar)
    line = torch.linspace(-2, 2, 11, dtype=torch.float64)
    arrows(axes, function, torch.cartesian_prod(line, line))
    square(axes, _HALF)
    return figure


def draw_passing(
    function: Map, half_width: float = _HALF, names: tuple[str, str] = ("$x_1$", "$x_2$"), at: Map | None = None
) -> Figure:
    """The trace of the Jacobian, by autograd: 0 where nothing of a small change of x passes.

    ``at`` puts the points of the plane into the space of the function, where that has more dimensions.
    """
    figure = Figure(figsize=_SIZE)
    axes = figure.add_axes((0.15, 0.14, 0.68, 0.84))
    _, points = grid(half_width, 161)
    placed = points if at is None else at(points)
    trace, top = divergence(function, placed), placed.shape[-1]
    extent = (-half_width, half_width, -half_width, half_width)
    shown = axes.imshow(trace, origin="lower", extent=extent, cmap="Blues", vmin=0, vmax=top, alpha=0.9)
    square(axes, half_width, names)
    figure.colorbar(shown, cax=figure.add_axes((0.86, 0.245, 0.03, 0.63)), ticks=range(top + 1))
    return figure


def divergence(function: Map, points: Tensor) -> Tensor:
    """The sum of dy_i/dx_i."""
    x = points.clone().requires_grad_(True)
    y = function(x)
    each = [torch.autograd.grad(y[..., i].sum(), x, retain_graph=True)[0][..., i] for i in range(x.shape[-1])]
    return torch.stack(each).sum(0)


def draw_heights(value: Map, label: str, half_width: float = _HALF) -> Figure:
    """A function from the plane to the numbers, as contours; nothing is drawn where it is infinite."""
    figure = Figure(figsize=_SIZE)
    axes = figure.add_axes((0.15, 0.14, 0.68, 0.84))
    _, points = grid(half_width, 161)
    height = value(points)
    height[~height.isfinite()] = torch.nan
    shown = axes.contourf(*points.unbind(-1), height, levels=12, cmap="Oranges", alpha=0.9)
    square(axes, half_width)
    figure.colorbar(shown, cax=figure.add_axes((0.86, 0.245, 0.03, 0.63)))
    axes.set_title(label, fontsize=9)
    return figure


def draw_weights(function: Map, penalty: Map | None = None) -> Figure:
    """For functions onto the simplex: the first of two weights against x_1 - x_2, or the penalty along the simplex."""
    figure = Figure(figsize=(3.8, 3.0))
    axes = figure.add_axes((0.16, 0.16, 0.81, 0.81))
    through_origin(axes)
    if penalty is None:
        x = torch.linspace(-4, 4, 401, dtype=torch.float64)
        axes.plot(x, function(torch.stack([x, torch.zeros_like(x)], -1))[..., 0], color=ARROW, linewidth=2)
        axes.set(xlabel="$x_1 - x_2$", ylabel="$y_1$")
        return figure
    y = torch.linspace(0, 1, 401, dtype=torch.float64)
    point = torch.stack([y, 1 - y], -1)
    moved = function(point)
    smooth = penalty(moved) + (moved - point).square().sum(-1) / 2
    axes.plot(y, smooth, color=EDGE, linewidth=2, linestyle="--", label="Moreau envelope")
    axes.plot(y, penalty(point), color=POINT, linewidth=2, label="penalty $\\phi(y, 1 - y)$")
    axes.set(xlabel="$y$")
    axes.legend(fontsize=8)
    return figure
