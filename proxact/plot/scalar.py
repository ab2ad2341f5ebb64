"""Pictures of a function of one number: its graph, its slope, its penalty."""

from __future__ import annotations

import torch
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from torch import Tensor

from ..prox import moreau_envelope
from .style import ARROW, EDGE, GREY, POINT, Map, through_origin

_SIZE = (3.8, 3.0)


def draw_graph(function: Map, low: float = -4.0, high: float = 4.0) -> Figure:
    """y = f(x), and the identity, dotted."""
    figure, axes = _panel()
    x, y = values(function, low, high)
    axes.plot([low, high], [low, high], ":", color=GREY, linewidth=1)
    axes.plot(x, y, color=ARROW, linewidth=2)
    _set_height(axes, y)
    axes.set(xlim=(low, high), xlabel="$x$", ylabel="$f(x)$")
    return figure


def draw_slope(function: Map, low: float = -4.0, high: float = 4.0) -> Figure:
    """f'(x) by autograd. Where the slope leaves [0, 1], shaded, the function is no prox."""
    figure, axes = _panel()
    x = torch.linspace(low, high, 1601, dtype=torch.float64, requires_grad=True)
    (slope,) = torch.autograd.grad(function(x).sum(), x)
    axes.axhspan(0, 1, color=EDGE, alpha=0.1, linewidth=0)
    axes.plot(x.detach(), _broken(slope), color=POINT, linewidth=2)
    axes.set(xlim=(low, high), xlabel="$x$", ylabel="$f\\,'(x)$")
    axes.set_ylim(min(-0.15, slope.min().item() - 0.1), max(1.15, slope.max().item() + 0.1))
    return figure


def draw_penalty(function: Map, penalty: Map, low: float = -4.0, high: float = 4.0) -> Figure:
    """The penalty, infinite where no line is drawn, and its Moreau envelope."""
    figure, axes = _panel()
    y = torch.linspace(low, high, 1601, dtype=torch.float64)
    inside = y[penalty(y).isfinite()]
    low, high = max(low, inside[0].item() - 1), min(high, inside[-1].item() + 1)
    y = torch.linspace(low, high, 1601, dtype=torch.float64)
    value = penalty(y)
    value[~value.isfinite()] = torch.nan
    smooth = moreau_envelope(penalty, prox=function)(y)
    axes.plot(y, smooth, color=EDGE, linewidth=2, linestyle="--", label="Moreau envelope")
    axes.plot(y, value, color=POINT, linewidth=2, label="penalty $\\phi$")
    inside = y[~value.isnan()]
    for end, other in ((inside[0], low), (inside[-1], high)):
        if abs(end - other) > 1e-6:  # the domain ends here
            axes.axvline(end.item(), color=POINT, linewidth=0.8, linestyle=":")
    top = min(6.0, max(torch.nan_to_num(value, nan=-9.0).max().item(), smooth.max().item()) * 1.08 + 0.1)
    bottom = min(0.0, torch.nan_to_num(value, nan=9.0).min().item(), smooth.min().item())
    axes.set(xlim=(low, high), ylim=(bottom - 0.06 * (top - bottom), top), xlabel="$y$")
    axes.legend(fontsize=8, loc="upper center", framealpha=0.9)
    return figure


def draw_outputs(function: Map, labels: tuple[str, ...], low: float = -4.0, high: float = 4.0) -> Figure:
    """Every output of a function of one number that has several."""
    figure, axes = _panel()
    x = torch.linspace(low, high, 401, dtype=torch.float64)
    for y, label, color in zip(function(x[:, None]).T, labels, (ARROW, POINT, EDGE), strict=False):
        axes.plot(x, y, color=color, linewidth=2, label=label)
    axes.set(xlim=(low, high), xlabel="$x$")
    axes.legend(fontsize=8)
    return figure


def values(function: Map, low: float, high: float) -> tuple[Tensor, Tensor]:
    x = torch.linspace(low, high, 801, dtype=torch.float64)
    return x, function(x).detach()


def _panel() -> tuple[Figure, Axes]:
    figure = Figure(figsize=_SIZE)
    axes = figure.add_axes((0.16, 0.16, 0.81, 0.81))
    through_origin(axes)
    return figure, axes


def _set_height(axes: Axes, y: Tensor) -> None:
    low, high = y.min().item(), y.max().item()
    margin = 0.08 * max(high - low, 1.0)
    axes.set_ylim(low - margin, high + margin)


def _broken(slope: Tensor) -> Tensor:
    """Leave a gap where the slope jumps, so that no steep line stands for the jump."""
    shown = slope.clone()
    shown[1:][slope.diff().abs() > 0.05] = torch.nan
    return shown
