"""The projection for m = 2 as a field of arrows."""

from __future__ import annotations

import functools
import math

import torch
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from ..project import cone
from .style import HATCH, POINT, POLAR, SET, arrows, shade_set, square

_ANGLES = {"pi/8": math.pi / 8, "pi/4 (ReLU)": math.pi / 4, "3 pi/8": 3 * math.pi / 8}


def draw_field() -> Figure:
    """One panel for each angle: the cone shaded, its polar hatched, an arrow from each point to its projection."""
    figure = Figure(figsize=(12, 4.4), layout="constrained")
    line = torch.linspace(-2, 2, 11, dtype=torch.float64)
    for axes, (label, alpha) in zip(figure.subplots(1, len(_ANGLES)), _ANGLES.items(), strict=True):
        project = functools.partial(cone, alpha=alpha)
        shade_set(axes, project, 2.2, polar=True)
        arrows(axes, project, torch.cartesian_prod(line, line))
        square(axes, 2.2)
        axes.set_title(f"half-apex angle {label}")
    shown = [
        Patch(facecolor=SET, label="cone: x stays"),
        Patch(facecolor=POLAR, edgecolor=HATCH, hatch="//", label="polar: x goes to 0"),
        *axes.plot([], [], ".", color=POINT, label="projections"),
    ]
    axes.legend(handles=shown, loc="lower right", fontsize=8)
    return figure
