"""Panels d and e of the paper's method figure: a shallow network with either kind of activation."""

from __future__ import annotations

from matplotlib.axes import Axes
from matplotlib.patches import FancyBboxPatch

from .style import ARROW, FAINT, POINT

_INPUTS, _HIDDEN, _OUTPUTS = 3, 6, 2


def draw_network(axes: Axes, m: int, name: str) -> None:
    """One hidden layer; every m hidden units go into one activation and come out of it."""
    axes.set(xlim=(-0.4, 10.4), ylim=(-0.9, 6.4))
    axes.set_axis_off()
    columns = {x: _heights(n) for x, n in ((0.3, _INPUTS), (3.4, _HIDDEN), (6.8, _HIDDEN), (9.7, _OUTPUTS))}
    (x0, x1, x2, x3), (inputs, before, after, outputs) = columns.keys(), columns.values()
    for start, end, left, right in ((x0, x1, inputs, before), (x2, x3, after, outputs)):
        for a in left:
            for b in right:
                axes.plot([start, end], [a, b], color=FAINT, linewidth=0.6, zorder=0)
    for group in range(_HIDDEN // m):
        rows = before[group * m : (group + 1) * m]
        low, high = rows[-1] - 0.3, rows[0] + 0.3
        box = FancyBboxPatch((4.3, low), 1.6, high - low, boxstyle="round,pad=0.05", fc="#fdd0a2", ec=POINT, lw=1)
        axes.add_patch(box)
        axes.text(5.1, (low + high) / 2, name, ha="center", va="center", fontsize=9 if m > 1 else 8)
        for y in rows:
            for start, end in ((x1, 4.25), (5.95, x2)):
                axes.plot([start, end], [y, y], color=ARROW, linewidth=1.1, zorder=1)
    for x, rows in columns.items():
        axes.plot([x] * len(rows), rows, "o", color="white", markeredgecolor=ARROW, markersize=9, markeredgewidth=1.2)
    labels = ((x0, "$x^{(0)}$"), (x1, "$z^{(1)}$"), (x2, "$x^{(1)}$"), (x3, "$x^{(2)}$"))
    for x, label in labels:
        axes.text(x, -0.6, label, ha="center", va="center", fontsize=10)


def _heights(count: int) -> list[float]:
    """From top to bottom, around the middle."""
    return [3.0 + (count - 1) / 2 - i for i in range(count)]
