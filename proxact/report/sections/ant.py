"""PPO in the Ant environment: the paper's table and curves, and what they say about its 25 %."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from matplotlib.figure import Figure

from ...cost import cost
from ...models.mlp import ANT_UNITS, mlp
from ..html import MISSING, Section, bullets, paragraph, picture, table
from ..results import Results
from ..statistics import bootstrap, gain, gain_interval, mean_and_deviation, place, seeds_needed
from .paper_tables import PAPER

ORDER = 30
CLAIM = 25.0
"""Percent of return that MPU gains over ReLU, says the paper."""
_TABLES = {"mlp": "tab:ppo_ant", "mlp+": "tab:ppo_ant_same_macs"}
ACTIVATIONS = [*(row["activation"] for row in PAPER["tables"]["tab:ppo_ant"]["rows"]), "elu"]


def section(results: Results, figures: Path) -> Section:
    runs = [run for run in results.runs if run["experiment"] == "ant" and run["config"]["preset"] == "paper"]
    parts = [
        paragraph(
            "PPO with IsaacGym's settings teaches an ant to run: 4,096 ants, 16 steps, 500 epochs. Ours is MuJoCo's "
            "ant, so returns are not comparable with the paper's, only with each other. Our score is the mean episode "
            "return over the last 10 % of the epochs, band in the figure: smallest to largest over the seeds."
        )
    ]
    said = findings(runs)
    if runs:
        parts.append(picture(draw(runs, figures), "Mean episode return against epochs"))
        parts.append(bullets(said))
    parts.append(numbers(runs))
    if films := [film for run in runs if (film := run["folder"] / "play.gif").exists()]:
        parts.append(picture(films[0], f"What it looks like: {films[0].parent.parent.name}, after training"))
    return Section("ant", "Reinforcement learning: the ant", "".join(parts), tuple(said))


def scores(runs: Sequence[dict[str, Any]], activation: str, model: str = "mlp") -> list[float]:
    found = [run for run in runs if run["activation"] == activation and run["config"]["model"] == model]
    return [run["metrics"]["score"] for run in found]


def numbers(runs: Sequence[dict[str, Any]]) -> str:
    headers = ["network", "activation", "paper", "paper, max", "ours", "max", "95 % interval", "against ReLU", "best"]
    rows = []
    for model in ANT_UNITS:
        printed = {row["activation"]: row for row in PAPER["tables"][_TABLES[model]]["rows"]}
        extra = sorted({run["activation"] for run in runs if run["config"]["model"] == model} - set(printed))
        listed = [
            *printed,
            *(name for name in ACTIVATIONS if model == "mlp" and name not in {*printed, *extra}),
            *extra,
        ]
        for name in listed:
            chosen = [run for run in runs if run["activation"] == name and run["config"]["model"] == model]
            row = printed.get(name)
            paper = [f"{row['mean']:.0f} ± {row['std']:.0f}", f"{row['max']:.0f}"] if row else ["not in the paper", ""]
            rows.append([model, name, *paper, *_ours(chosen, runs, name, model), macs(name, model), len(chosen)])
            rows[-1] += place(chosen) if chosen else ("", "")
    note = (
        "95 % interval: bootstrap over the seeds, which with so few of them is narrower than it should be; against "
        "ReLU: Welch's t interval, for two seeds or more. Best: the highest return of any epoch, mean over the seeds. "
        "MACs: a batch of 4,096, by the paper's rule."
    )
    return table([*headers, "MACs", "n", "hardware", "date"], rows) + f'<p class="note">{note}</p>'


def _ours(chosen: Sequence[dict[str, Any]], runs: Sequence[dict[str, Any]], name: str, model: str) -> list[str]:
    if not chosen:
        return [MISSING] * 5
    own, base = scores(chosen, name, model), scores(runs, "relu", model)
    interval = against = ""
    if len(own) > 1:
        interval = "{:.0f} to {:.0f}".format(*bootstrap([own], statistics.fmean))
    if name != "relu" and min(len(own), len(base)) > 1:
        against = "{:+.1f} % ({:+.1f} to {:+.1f})".format(gain(own, base), *gain_interval(own, base))
    best = statistics.fmean(run["metrics"]["best_return"] for run in chosen)
    return [mean_and_deviation(own, "{:.0f}"), f"{max(own):.0f}", interval, against, f"{best:.0f}"]


def macs(name: str, model: str) -> str:
    with torch.device("meta"):
        net, x = mlp((60, *ANT_UNITS[model], 8), name), torch.empty(4096, 60)
    return f"{cost(net, x).total / 1e6:.2f} M"


def findings(runs: Sequence[dict[str, Any]]) -> list[str]:
    """What the numbers say about the paper's claim, in sentences made from them."""
    said = []
    base = scores(runs, "relu")
    for name in ("mpu2", "leaky_mpu2", "mpu3"):
        own = scores(runs, name)
        if min(len(own), len(base)) < 2:
            continue
        low, high = gain_interval(own, base)
        narrow = "{:+.1f} to {:+.1f}".format(*bootstrap([own, base], gain))
        verdict = "in it" if low <= CLAIM <= high else "outside"
        deviations = (statistics.stdev(own), statistics.stdev(base))
        needed = seeds_needed(deviations, CLAIM / 100 * statistics.fmean(base))
        said.append(
            f"{name} against ReLU: {gain(own, base):+.1f} % (95 % t interval {low:+.1f} to {high:+.1f}, bootstrap "
            f"{narrow}, {len(own)} and {len(base)} seeds); the paper's {CLAIM:+.0f} % lies {verdict}. With deviations "
            f"like these {needed} seeds each would show {CLAIM:+.0f} % in four of five experiments"
            + (f", the difference found would need {_needed_for(own, base)}." if own != base else ".")
        )
    return said + _unstable(runs)


def _unstable(runs: Sequence[dict[str, Any]]) -> list[str]:
    """Which runs' simulations left physics, as their returns then say little about the activation."""
    touched = sorted((run for run in runs if run["metrics"]["unstable"]), key=lambda run: -run["metrics"]["unstable"])
    if not touched:
        return []
    listed = ", ".join(
        f"{run['metrics']['unstable']:,} in {run['config']['model']}, {run['activation']}, seed {run['seed']}"
        for run in touched
    )
    rest = len(runs) - len(touched)
    return [f"Simulations that became unstable, each the end of an episode: {listed}; none in the other {rest} runs."]


def _needed_for(own: Sequence[float], base: Sequence[float]) -> int:
    difference = statistics.fmean(own) - statistics.fmean(base)
    return seeds_needed((statistics.stdev(own), statistics.stdev(base)), difference)


def draw(runs: Sequence[dict[str, Any]], figures: Path) -> Path:
    figure = Figure(figsize=(8, 4.6), layout="constrained")
    axes = figure.subplots()
    shown = [run for run in runs if run["config"]["model"] == "mlp"]
    names = [name for name in ACTIVATIONS if any(run["activation"] == name for run in shown)]
    for i, name in enumerate(names):
        curves = [[row["return"] for row in run["curve"]] for run in shown if run["activation"] == name]
        epochs = range(1, min(map(len, curves)) + 1)
        columns = list(zip(*curves, strict=False))
        style = "-" if "mpu" in name else "--"
        axes.plot(epochs, [statistics.fmean(column) for column in columns], style, color=f"C{i}", label=name)
        axes.fill_between(epochs, [*map(min, columns)], [*map(max, columns)], color=f"C{i}", alpha=0.12, linewidth=0)
    axes.set(xlabel="epoch", ylabel="mean episode return", title="PPO in the Ant environment")
    axes.grid(alpha=0.3)
    axes.legend(fontsize=8, ncols=2)
    figure.savefig(figures / "ant.png", dpi=150)
    figure.savefig(figures / "ant.svg", metadata={"Date": None})
    return figures / "ant.svg"
