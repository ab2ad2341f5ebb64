"""Pictures of what an :class:`AngleMonitor` recorded."""

from __future__ import annotations

import importlib
import math
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from .angles import AngleMonitor
from .rows import read_rows

PANELS = {
    "angle": "half-apex angle, radians",
    "inside": "share of groups inside the cone",
    "zero": "share of groups projected to 0",
    "dead": "share of dead groups of channels",
}
_NAMED = 10  # sites that a legend lists one by one


def draw(source: AngleMonitor | str | os.PathLike[str], out: str | os.PathLike[str]) -> Path:
    """Draw angles and shares over the steps, a line for each site, from blue (first) to yellow (last).

    Args:
        source: a monitor, or the file it wrote.
        out: the picture; its suffix gives the format, such as .png or .svg.

    Returns:
        ``out`` as a Path.
    """
    rows = source.rows if isinstance(source, AngleMonitor) else read_rows(source)
    if not rows:
        raise ValueError("source must hold at least one recorded step, got none")
    figure = _figure((11, 7))
    for axes, kind in zip(figure.subplots(2, 2).flat, PANELS, strict=True):
        panel(axes, [rows], kind)
    handles, labels = figure.axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=5, fontsize=8)
    return _save(figure, out)


def draw_panel(runs: Sequence[Sequence[dict[str, Any]]], kind: str, out: str | os.PathLike[str], title: str) -> Path:
    """One panel of :func:`draw`, for the rows of several runs: a line for each run and site."""
    figure = _figure((5.6, 4.0))
    axes = figure.subplots()
    panel(axes, runs, kind)
    axes.set_title(title)
    axes.legend(fontsize=7, ncols=2)
    return _save(figure, out)


def panel(axes: Any, runs: Sequence[Sequence[dict[str, Any]]], kind: str) -> None:
    sites = list(dict.fromkeys(row["site"] for rows in runs for row in rows))
    colors = importlib.import_module("matplotlib").colormaps["viridis"]
    for i, site in enumerate(sites):
        color = colors(i / max(1, len(sites) - 1) * 0.9)
        for j, rows in enumerate(runs):
            own = [row for row in rows if row["site"] == site and value(row, kind) is not None]
            is_named = j == 0 and (len(sites) <= _NAMED or i in (0, len(sites) - 1))
            steps = [row["step"] for row in own]
            axes.plot(steps, [value(row, kind) for row in own], color=color, label=site if is_named else None)
            if kind == "angle" and any(row.get("angle_min") != row.get("angle_max") for row in own):
                lows, highs = [row["angle_min"] for row in own], [row["angle_max"] for row in own]
                axes.fill_between(steps, lows, highs, color=color, alpha=0.15, linewidth=0)
    if kind == "angle":
        axes.axhline(math.pi / 4, color="gray", linewidth=0.8, linestyle=":")
    else:
        axes.set_ylim(-0.02, 1.02)
    axes.set(xlabel="step", ylabel=PANELS[kind])
    axes.grid(alpha=0.3)


def value(row: dict[str, Any], kind: str) -> float | None:
    """The number that a panel shows of a row."""
    if kind != "dead":
        return row.get(kind)
    return row["dead"] / row["groups"] if row.get("groups") else None


def _figure(size: tuple[float, float]) -> Any:
    try:
        return importlib.import_module("matplotlib.figure").Figure(figsize=size, layout="constrained")
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(f"draw() needs {error.name}: pip install 'proxact[experiments]'") from error


def _save(figure: Any, out: str | os.PathLike[str]) -> Path:
    path = Path(out)
    path.parent.mkdir(parents=True, exist_ok=True)
    more = {"metadata": {"Date": None}} if path.suffix == ".svg" else {"dpi": 150}
    figure.savefig(path, **more)
    return path
