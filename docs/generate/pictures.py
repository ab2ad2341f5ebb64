"""The pictures of a page, by :mod:`proxact.plot`: what they show, their files, and a small one for the gallery."""

from __future__ import annotations

import io
from collections.abc import Callable

import matplotlib
import torch
from catalogue import IN_SPACE, RANGES, Thing
from matplotlib.figure import Figure
from torch import Tensor

import proxact
from proxact.plot.cone3d import draw_cone
from proxact.plot.field import draw_field
from proxact.plot.plane import draw_heights, draw_map, draw_passing, draw_weights
from proxact.plot.scalar import draw_graph, draw_outputs, draw_penalty, draw_slope
from proxact.plot.space import draw_space
from proxact.project import SETS

Picture = tuple[str, Callable[[], Figure], str]  # what it is called in its file name, how to draw it, its caption
MAP = "Each arrow goes from a point to where the function takes it."
SET = "Each arrow goes from a point to its projection, orange. Shaded: the set. Hatched: what goes to 0."
PASSING = "The trace of the Jacobian: how many directions of a small change pass. White: none; the darkest: all."
SLOPE = "Its slope. A prox has slopes in the shaded band, [0, 1]."
GRAPH = "The function; dotted, the identity."
PENALTY = "The penalty and its Moreau envelope. The penalty is infinite beyond the dotted lines."
SPACE = (
    "The set in three dimensions, as the place where its projection takes a sphere, and points with their projections."
)
ON_SIMPLEX = ("softmax", "sparsemax", "entmax")


def pictures(thing: Thing) -> list[Picture]:
    """The first one stands for the page in the gallery."""
    if thing.name in _OWN:
        return _OWN[thing.name](thing)
    function = thing.function()
    if thing.is_scalar:
        ends = RANGES.get(thing.name, (-4.0, 4.0))
        shown: list[Picture] = [
            ("graph", lambda: draw_graph(function, *ends), GRAPH),
            ("slope", lambda: draw_slope(function, *ends), SLOPE),
        ]
        if thing.folder == "prox":
            shown.append(("penalty", lambda: draw_penalty(function, thing.penalty(), *ends), PENALTY))
        return shown
    if thing.name in IN_SPACE:
        names = IN_SPACE[thing.name]
        return [
            ("set", lambda: draw_space(function, names), SPACE),
            (
                "passing",
                lambda: draw_passing(function, names=(names[0], names[2]), at=_slice),
                f"{PASSING} In the plane {names[1]} = 0.5.",
            ),
        ]
    if thing.name in SETS:
        is_cone = thing.name in ("cone", "nonnegative")
        return [
            ("map", lambda: draw_map(function, keeps_points=True, polar=is_cone), SET if is_cone else SET[:-32]),
            ("passing", lambda: draw_passing(function), PASSING),
        ]
    maps: list[Picture] = [
        ("map", lambda: draw_map(function), MAP),
        ("passing", lambda: draw_passing(function), PASSING),
    ]
    if thing.name in ON_SIMPLEX:
        return [
            ("weight", lambda: draw_weights(function), "For two entries: the first weight."),
            *maps[:1],
            ("penalty", lambda: draw_weights(function, thing.penalty()), "The penalty and its Moreau envelope."),
            *maps[1:],
        ]
    if thing.folder == "prox":
        maps.append(("penalty", lambda: draw_heights(thing.penalty(), "penalty"), "The penalty, for two entries."))
    return maps


def _slice(points: Tensor) -> Tensor:
    first, third = points.unbind(-1)
    return torch.stack([first, torch.full_like(first, 0.5), third], -1)


def _cone(thing: Thing) -> list[Picture]:
    return [
        *_plane(thing.function(), SET),
        ("field", draw_field, "The same for three half-apex angles; the middle one is ReLU."),
        ("space", draw_cone, "m = 3."),
    ]


def _plane(function: Callable[[Tensor], Tensor], caption: str) -> list[Picture]:
    return [
        ("map", lambda: draw_map(function, keeps_points=True, polar=True), caption),
        ("passing", lambda: draw_passing(function), PASSING),
    ]


def _mpu(thing: Thing) -> list[Picture]:
    unit = proxact.MPU(alpha=torch.pi / 3, learnable=False, dim=-1).double()
    return [
        *_plane(unit, f"m = 2, alpha = pi/3. {SET}"),
        ("field", draw_field, "Three half-apex angles. Training starts in the middle, which is ReLU."),
        ("space", draw_cone, "m = 3: points and their projections."),
    ]


def _leaky_mpu(thing: Thing) -> list[Picture]:
    unit = proxact.MPU(alpha=torch.pi / 3, learnable=False, leak=0.2, dim=-1).double()
    leak = "With a leak of 0.2, for the eye; the unit's own is 0.01."
    return [
        ("map", lambda: draw_map(unit), f"m = 2, alpha = pi/3. {MAP} {leak}"),
        ("passing", lambda: draw_passing(unit), f"{PASSING} {leak}"),
    ]


def _maxout(thing: Thing) -> list[Picture]:
    unit = thing.function()
    return [("value", lambda: draw_heights(lambda x: unit(x).squeeze(-1), "the larger of two"), "Its only output.")]


def _crelu(thing: Thing) -> list[Picture]:
    unit = thing.function()
    return [("graph", lambda: draw_outputs(unit, ("relu(x)", "relu(-x)")), "The two outputs for one input.")]


_OWN = {"cone": _cone, "mpu": _mpu, "leaky_mpu": _leaky_mpu, "maxout": _maxout, "crelu": _crelu}


def saved(figure: Figure, kind: str) -> bytes:
    out = io.BytesIO()
    with matplotlib.rc_context({"svg.hashsalt": "proxact"}):
        if kind == "svg":
            figure.savefig(out, format="svg", metadata={"Date": None})
        else:
            figure.savefig(out, format="png", dpi=150)
    return out.getvalue()


def thumbnail(figure: Figure) -> Figure:
    """The same picture without words, for a small square."""
    for axes in figure.axes[1:]:
        axes.remove()
    axes = figure.axes[0]
    axes.set(xlabel="", ylabel="", title="", xticks=[], yticks=[])
    if axes.name == "3d":
        axes.set_axis_off()
        axes.set_box_aspect((1, 1, 1), zoom=1.5)
    if legend := axes.get_legend():
        legend.remove()
    axes.set_position((0.02, 0.02, 0.96, 0.96))
    figure.set_size_inches(1.7, 1.6)
    return figure
