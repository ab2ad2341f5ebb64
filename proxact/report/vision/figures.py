"""Learning curves and angles over time."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from pathlib import Path

from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ..html import picture, table
from ..pairs import key
from ..statistics import mean_and_deviation
from .runs import ACTIVATIONS, Protocol, Run, layers

_NAMED = 4  # layers that a legend lists


def curves(protocol: Protocol, figures: Path, stem: str) -> list[Path]:
    """Accuracy, and its difference to ReLU seed by seed, as one PNG and as an SVG each."""
    both = Figure(figsize=(11, 4.6), layout="constrained")
    panels, paths = both.subplots(1, 2), []
    for axes, (kind, draw) in zip(panels, (("accuracy", _accuracy), ("difference", _difference)), strict=True):
        draw(axes, protocol)
        alone = Figure(figsize=(5.6, 4.4), layout="constrained")
        own = alone.subplots()
        draw(own, protocol)
        if own.lines:
            own.legend(fontsize=8, ncols=2)
        paths.append(figures / f"{stem}-{kind}.svg")
        alone.savefig(paths[-1], metadata={"Date": None})
    handles, labels = panels[0].get_legend_handles_labels()
    both.legend(handles, labels, loc="outside lower center", ncols=max(1, len(labels)), fontsize=9)
    both.savefig(figures / f"{stem}.png", dpi=150)
    return paths


def _accuracy(axes: Axes, protocol: Protocol) -> None:
    for name in protocol.activations:
        _line(axes, name, [_values(run) for run in protocol.of(name)])
    axes.set(xlabel="epoch", ylabel="test accuracy, %", title="mean over the seeds; band: lowest to highest")
    axes.title.set_fontsize(10)
    axes.grid(alpha=0.3)


def _difference(axes: Axes, protocol: Protocol) -> None:
    base = {key(run): _values(run) for run in protocol.of("relu")}
    half = 0.0
    for name in protocol.activations:
        pairs = [(_values(run), base[key(run)]) for run in protocol.of(name) if key(run) in base]
        differences = [[a - b for a, b in zip(own, other, strict=False)] for own, other in pairs]
        if differences:
            _line(axes, name, differences)
            # The first epochs differ by far more than the last ones, which count.
            half = max(half, *(abs(value) for run in differences for value in run[2 * len(run) // 3 :]))
    if half:
        axes.set_ylim(-1.1 * half, 1.1 * half)
    axes.set(xlabel="epoch", ylabel="points", title="accuracy minus ReLU's, same seed")
    axes.title.set_fontsize(10)
    axes.grid(alpha=0.3)


def _line(axes: Axes, name: str, runs: Sequence[Sequence[float]]) -> None:
    columns = list(zip(*runs, strict=False))
    epochs = range(1, len(columns) + 1)
    color = "black" if name == "relu" else f"C{ACTIVATIONS.index(name) if name in ACTIVATIONS else 9}"
    style = "-" if "mpu" in name or name == "relu" else "--"
    axes.plot(epochs, [statistics.fmean(column) for column in columns], style, color=color, label=name, linewidth=1.4)
    axes.fill_between(epochs, [*map(min, columns)], [*map(max, columns)], color=color, alpha=0.1, linewidth=0)


def _values(run: Run) -> list[float]:
    return [row["accuracy"] for row in run["curve"]]


def angles(protocol: Protocol, figures: Path, stem: str) -> str:
    """For each activation with learnt angles a picture of every layer over time, and one table of where they end."""
    pictures, ends, names = [], {}, []
    for name in protocol.activations:
        runs = [run for run in protocol.of(name) if "angle0" in run["curve"][-1]]
        if runs:
            names = layers(protocol.config, name)
            path = _angles_of(name, runs, names, figures / f"{stem}-angles-{name}.svg")
            pictures.append(picture(path, f"{name}: half-apex angle of each layer, mean over {len(runs)} seeds"))
            ends[name] = [[run["curve"][-1][f"angle{i}"] for run in runs] for i in range(len(names))]
    if not pictures:
        return ""
    rows = [[layer, *(mean_and_deviation(own[i], "{:.3f}") for own in ends.values())] for i, layer in enumerate(names)]
    numbers = table(["layer", *(f"{name}, angle at the end" for name in ends)], rows)
    return f'<div class="side-by-side">{"".join(pictures)}</div>{numbers}'


def _angles_of(name: str, runs: Sequence[Run], names: Sequence[str], path: Path) -> Path:
    figure = Figure(figsize=(5.6, 4.0), layout="constrained")
    axes = figure.subplots()
    named = {round(i * (len(names) - 1) / (_NAMED - 1)) for i in range(_NAMED)}
    for i, layer in enumerate(names):
        columns = list(zip(*([row[f"angle{i}"] for row in run["curve"]] for run in runs), strict=False))
        epochs, color = range(1, len(columns) + 1), colormaps["viridis"](i / max(1, len(names) - 1) * 0.92)
        axes.plot(epochs, [statistics.fmean(column) for column in columns], color=color, label=_short(layer, i, named))
        axes.fill_between(epochs, [*map(min, columns)], [*map(max, columns)], color=color, alpha=0.12, linewidth=0)
    axes.axhline(math.pi / 4, color="gray", linewidth=0.8, linestyle=":")
    axes.set(xlabel="epoch", ylabel="half-apex angle, radians", title=name)
    axes.grid(alpha=0.3)
    axes.legend(fontsize=8)
    figure.savefig(path, metadata={"Date": None})
    return path


def _short(layer: str, i: int, named: set[int]) -> str | None:
    return layer if i in named else None
