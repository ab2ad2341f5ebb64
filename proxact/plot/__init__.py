"""Pictures drawn from the library's own functions. Needs the ``experiments`` extra (matplotlib).

``FIGURES`` are those of ``proxact plot``: the figures of the paper, and two more. The modules ``scalar``, ``plane`` and
``space`` draw any function of one, two or three numbers; the pages of the documentation are made with them.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from pathlib import Path

from matplotlib.figure import Figure

from .cone3d import draw_cone
from .field import draw_field
from .height import draw_height
from .method import PANELS, draw_method, draw_panel
from .proof import draw_proof
from .regions import draw_large, draw_line, draw_small
from .sections import draw_sections

FIGURES: dict[str, tuple[Callable[[], Figure], str]] = {
    "field": (draw_field, "m = 2: where the projection takes each point, for three half-apex angles"),
    "cone": (draw_cone, "m = 3: the cone, its axis and points with their projections"),
    "method": (draw_method, "the paper's method: a step and a layer, ReLU, the cone, networks with either"),
    **{
        f"method-{name}": (functools.partial(draw_panel, name), f"panel {name} of it: {title}")
        for name, (_, title, _) in PANELS.items()
    },
    "sections": (draw_sections, "m = 3: the cone and what four planes cut out of it"),
    "height": (draw_height, "the height t and the vector h of a point"),
    "proof": (draw_proof, "the plane of 1 and h, with the regions of the proof"),
    "line": (draw_line, "m = 2: on the line x_1 = x_2 the projection is ReLU"),
    "small-angle": (draw_small, "m = 2, alpha < pi/4: the regions of x and -x"),
    "large-angle": (draw_large, "m = 2, alpha > pi/4: the regions of x and -x"),
}


def draw_all(out: Path, names: Sequence[str] = (), suffix: str = "png") -> list[tuple[Path, str]]:
    """Draw these figures, or every one, into ``out``; returns the files with what they show."""
    for name in names:
        if name not in FIGURES:
            raise ValueError(f"names must be of {', '.join(FIGURES)}; got {name!r}")
    out.mkdir(parents=True, exist_ok=True)
    drawn = []
    for name in names or FIGURES:
        draw, caption = FIGURES[name]
        path = out / f"{name}.{suffix}"
        draw().savefig(path, dpi=150)
        drawn.append((path, caption))
    return drawn
