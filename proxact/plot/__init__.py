"""Pictures drawn from the library's own functions. Needs the ``experiments`` extra (matplotlib)."""

from __future__ import annotations

from pathlib import Path

from .cone3d import draw_cone
from .field import draw_field

FIGURES = {
    "field": (draw_field, "m = 2: where the projection takes each point, for three half-apex angles"),
    "cone": (draw_cone, "m = 3: the cone, its axis and points with their projections"),
}


def draw_all(out: Path) -> list[tuple[Path, str]]:
    """Draw every figure into ``out``; returns the files with what they show."""
    out.mkdir(parents=True, exist_ok=True)
    drawn = []
    for name, (draw, caption) in FIGURES.items():
        path = out / f"{name}.png"
        draw().savefig(path, dpi=150)
        drawn.append((path, caption))
    return drawn
