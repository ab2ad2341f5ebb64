"""The plane spanned by 1 and h, in which the projection's formula is proved."""

from __future__ import annotations

import math

import torch
from matplotlib.figure import Figure
from matplotlib.patches import Arc
from torch import Tensor

from ..project import cone
from .height import label, vector
from .style import ARROW, EDGE, GREY, POINT, shade_set

_ALPHA = math.pi / 6
_E = torch.ones(3, dtype=torch.float64) / math.sqrt(3)
_H = torch.tensor([0.8, -0.9, 0.1], dtype=torch.float64)


def in_plane(points: Tensor) -> Tensor:
    """The projection in R^3 of points given by their coordinates along h and along 1; it stays in their plane."""
    direction = _H / _H.norm()
    moved = cone(points[..., :1] * direction + points[..., 1:] * _E, _ALPHA, m=3)
    return torch.stack([moved @ direction, moved @ _E], -1)


def draw_proof() -> Figure:
    """The axis points upwards; the line l is the cone's edge, on which x lands."""
    figure = Figure(figsize=(4.6, 4.4), layout="constrained")
    axes = figure.subplots()
    half = 2.2
    shade_set(axes, in_plane, half, polar=True)
    across, up = 3 * math.sin(_ALPHA), 3 * math.cos(_ALPHA)
    axes.plot([0, across], [0, up], color=EDGE, linewidth=1.8)
    axes.plot([0, -across], [0, up], color=EDGE, linewidth=1)
    axes.plot([0, 0], [-half, half], "--", color=GREY, linewidth=1)
    x = torch.tensor([1.75, 0.75], dtype=torch.float64)
    moved = in_plane(x)
    vector(axes, torch.zeros(2), x, ARROW)
    axes.plot(*torch.stack([x, moved]).T, ":", color=POINT, linewidth=1.4)
    vector(axes, torch.zeros(2), moved, POINT)
    axes.plot([0, 1.75], [0.75, 0.75], ":", color=GREY, linewidth=1)
    axes.add_patch(Arc((0, 0), 1.3, 1.3, theta1=90 - math.degrees(_ALPHA), theta2=90, color=GREY))
    label(axes, torch.tensor([0.18, 0.82]), "$\\alpha$", (0.0, 0.0), GREY)
    label(axes, x, "$x$", (0.16, 0.08), ARROW)
    label(axes, moved, "x\N{COMBINING CARON}", (-0.16, 0.18), POINT)
    label(axes, torch.tensor([0.66 * across, 0.66 * up]), "$l$", (0.2, -0.05), EDGE)
    label(axes, torch.tensor([0.95, 0.75]), "$\\|h\\|$", (0.0, 0.17), GREY)
    label(axes, torch.tensor([0.0, 0.45]), "$t$", (-0.16, 0.0), GREY)
    for name, place in {"R_1": (-0.35, 1.75), "R_2": (1.6, -0.35), "R_2'": (-1.6, 0.3), "R_3": (0.35, -1.7)}.items():
        label(axes, torch.tensor(place), f"$\\mathcal{{{name[0]}}}_{name[2:]}$", (0.0, 0.0), "black")
    axes.set(xlim=(-half, half), ylim=(-half, half), aspect="equal", xticks=[0], yticks=[0])
    axes.set_xlabel("along $h / \\|h\\|$")
    axes.set_ylabel("along $\\mathbf{1}_n / \\sqrt{n}$")
    return figure
