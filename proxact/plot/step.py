"""Panel a of the paper's method figure: one step of projected gradient descent beside one layer."""

from __future__ import annotations

from matplotlib.axes import Axes

from .style import ARROW, EDGE, POINT, SET

_ROWS = (
    ("one step of projected gradient descent", "$I - \\gamma P$", "$-\\gamma q$", "$\\Pi_S$"),
    ("one layer of a network", "$W$", "$b$", "$\\sigma$"),
)


def draw_step(axes: Axes) -> None:
    """The same boxes in both rows: a matrix, a vector added, a projection or activation."""
    axes.set(xlim=(0, 10), ylim=(0, 5.4))
    axes.set_axis_off()
    for base, (title, matrix, vector, activation) in zip((3.35, 0.65), _ROWS, strict=True):
        axes.text(5, base + 1.62, title, ha="center", va="center", fontsize=9)
        axes.text(0.55, base, "$x^{(l-1)}$", ha="center", va="center", fontsize=11)
        _box(axes, 2.5, base, matrix, SET)
        _circle(axes, 4.6, base)
        axes.text(4.6, base + 1.1, vector, ha="center", va="center", fontsize=10)
        axes.text(5.9, base + 0.28, "$z^{(l)}$", ha="center", va="center", fontsize=10)
        _box(axes, 7.4, base, activation, "#fdd0a2")
        axes.text(9.5, base, "$x^{(l)}$", ha="center", va="center", fontsize=11)
        for start, end in ((1.05, 1.72), (3.28, 4.32), (4.88, 6.62), (8.18, 9.05)):
            _arrow(axes, (start, base), (end, base))
        _arrow(axes, (4.6, base + 0.85), (4.6, base + 0.28))
    for x, color in ((2.5, EDGE), (7.4, POINT)):
        axes.plot([x, x], [1.2, 2.8], ":", color=color, linewidth=1.2)


def _box(axes: Axes, x: float, y: float, text: str, color: str) -> None:
    box = {"boxstyle": "round,pad=0.42", "facecolor": color, "edgecolor": ARROW, "linewidth": 1}
    axes.text(x, y, text, ha="center", va="center", fontsize=11, bbox=box)


def _circle(axes: Axes, x: float, y: float) -> None:
    box = {"boxstyle": "circle,pad=0.2", "facecolor": "white", "edgecolor": ARROW, "linewidth": 1}
    axes.text(x, y, "+", ha="center", va="center", fontsize=10, bbox=box)


def _arrow(axes: Axes, start: tuple[float, float], end: tuple[float, float]) -> None:
    axes.annotate("", end, start, arrowprops={"arrowstyle": "-|>", "color": ARROW, "linewidth": 1.1})
