"""Function fitting: the paper's figure, the numbers behind it, and what they say."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ...experiments.fit import ACTIVATIONS, LEARNING_RATES, TARGETS
from ..fit_runs import by_activation, is_main, merged, of_largest_scale, overall
from ..html import MISSING, Section, bullets, paragraph, picture, table, text
from ..results import Results
from ..statistics import geometric_mean, mean_and_deviation, place

ORDER = 10
TITLES = {"cone": "target: projection onto the cone", "leaky_relu": "target: 2-D Leaky ReLU"}
_SHOWN_WIDTHS = (4, 8, 16, 39)
_TIMES_PARAMETERS = {"maxout": "1.5x", "crelu": "1.5x"}


def section(results: Results, figures: Path) -> Section:
    runs, others = of_largest_scale(merged([run for run in results.runs if run["experiment"] == "fit"]))
    parts = [
        paragraph(
            "Networks with one hidden layer fit a function from R^2 to R^2 that is itself such a network, of width 2. "
            "The paper shows curves and prints no numbers, so its column reads 'curve only'. Its claims: every "
            "activation fits the 2-D Leaky ReLU target; univariate ones cannot fit the cone's projection, MPU can."
        )
    ]
    if others:
        epochs = sorted({run["config"]["epochs"] for run in others})
        parts.append(
            paragraph(
                f"Left out: {len(others)} with less training or other widths ({', '.join(map(str, epochs))} epochs). "
                "A report of their folder alone shows them."
            )
        )
    if main := [run for run in runs if is_main(run)]:
        setting = main[0]["config"]
        parts.append(
            paragraph(
                f"Mean squared error on {setting['test_samples']:,} test samples, the best of {setting['epochs']} "
                f"epochs, widths {setting['widths'][0]} to {setting['widths'][-1]}, seeds {setting['seeds']}; band: "
                "smallest to largest over the seeds."
            )
        )
        shown = zip(draw(main, figures), TARGETS, strict=True)
        pictures = [picture(path, f"Error against hidden width, {TITLES[target]}") for path, target in shown]
        parts.append(f'<div class="side-by-side">{"".join(pictures)}</div>')
        parts.append(bullets(findings(main)))
    for target in TARGETS:
        parts.append(f"<h3>{text(TITLES[target])}</h3>" + numbers(main, target))
    parts.append("<h3>Variants</h3>" + variants(runs))
    return Section("fit", "Function fitting", "".join(parts), tuple(findings(main)))


def numbers(runs: Sequence[dict[str, Any]], target: str) -> str:
    found = by_activation(runs, target)
    names = [*ACTIVATIONS, *sorted(set(found) - set(ACTIVATIONS))]
    widths = [
        width for width in _SHOWN_WIDTHS if all(str(width) in run["metrics"]["best_mse"] for run in found.values())
    ]
    headers = ["activation", "parameters", "paper", *(f"width {width}" for width in widths), "all widths"]
    rows = []
    for name in names:
        times = _TIMES_PARAMETERS.get(name, "1x")
        if name not in found:
            rows.append([name, times, "curve only", *[MISSING] * (len(widths) + 1), 0, "", ""])
            continue
        run = found[name]
        cells = [mean_and_deviation(run["metrics"]["best_mse"][str(width)], "{:.2e}") for width in widths]
        total = mean_and_deviation(overall(run), "{:.2e}")
        rows.append([name, times, "curve only", *cells, total, len(run["seed"]), *place(run["parts"])])
    note = "All widths: geometric mean of the error over every width."
    return table([*headers, "n", "hardware", "date"], rows) + f'<p class="note">{note}</p>'


def findings(runs: Sequence[dict[str, Any]]) -> list[str]:
    """What the numbers say about the paper's claims, in sentences made from them."""
    said = []
    for target in TARGETS:
        found = by_activation(runs, target)
        if "mpu2" not in found or all("mpu" in name for name in found):
            continue
        rivals = {name: run for name, run in found.items() if name == "mpu2" or "mpu" not in name}
        errors = {name: geometric_mean(overall(run)) for name, run in rivals.items()}
        ranking = sorted(errors, key=lambda name: errors[name])
        rank = ranking.index("mpu2") + 1
        others = [name for name in ranking if name != "mpu2"]
        worst = f", the worst {others[-1]} with {errors[others[-1]]:.2e}" if len(others) > 1 else ""
        said.append(
            f"{TITLES[target].replace('target: ', 'Target ')}: mpu2 is number {rank} of {len(ranking)}, mean error "
            f"{errors['mpu2']:.2e}; the best other one is {others[0]} with {errors[others[0]]:.2e} "
            f"({errors[others[0]] / errors['mpu2']:.2f} times){worst}."
        )
    return said


def variants(runs: Sequence[dict[str, Any]]) -> str:
    """Remainder, learnt angle, the code's target and other learning rates, each as a row."""
    others = [run for run in runs if not is_main(run)]
    if not others:
        return paragraph("Not run: remainder 'relu', learnt angle, the code's target angle, other learning rates.")
    rows = []
    for run in others:
        config = run["config"]
        base = next((r for r in runs if is_main(r) and same_but_variant(r, run)), None)
        odd = [width for width in config["widths"] if width % 2]
        share = [odd] if config["remainder"] == "relu" else [config["widths"]]
        error = mean_and_deviation(overall(run, share[0]), "{:.3e}")
        usual = mean_and_deviation(overall(base, share[0]), "{:.3e}") if base else MISSING
        over = "odd widths" if config["remainder"] == "relu" else "all widths"
        rows.append([config["target"], run["activation"], describe(config), over, error, usual, len(run["seed"])])
    return table(["target", "activation", "what differs", "mean over", "error", "error as in the paper", "n"], rows)


def same_but_variant(base: dict[str, Any], run: dict[str, Any]) -> bool:
    same = ("activation", "target", "widths", "seeds", "epochs")
    return all(base["config"][key] == run["config"][key] for key in same)


def describe(config: dict[str, Any]) -> str:
    said = [f"learning rate {config['learning_rate']:g}"] * (
        config["learning_rate"] != LEARNING_RATES[config["target"]]
    )
    if config["target"] == "cone" and config["target_angle"] == "code":
        said.append("target with tangent pi/3, as in the code")
    said += ["angle learnt"] * config["learn_angle"]
    said += ["left-over unit through ReLU"] * (config["remainder"] == "relu")
    return ", ".join(said)


def draw(runs: Sequence[dict[str, Any]], figures: Path) -> list[Path]:
    """The paper's figure as one PNG, and as one SVG for each target, which a phone shows one below the other."""
    both = Figure(figsize=(11, 4.6), layout="constrained")
    panels = both.subplots(1, 2)
    for axes, target in zip(panels, TARGETS, strict=True):
        _panel(axes, by_activation(runs, target), TITLES[target])
    handles, labels = panels[0].get_legend_handles_labels()
    both.legend(handles, labels, loc="outside lower center", ncols=max(1, len(labels)), fontsize=9)
    both.savefig(figures / "fit.png", dpi=150)
    paths = []
    for target in TARGETS:
        figure = Figure(figsize=(5.6, 4.4), layout="constrained")
        axes = figure.subplots()
        _panel(axes, by_activation(runs, target), TITLES[target])
        if axes.get_lines():
            axes.legend(fontsize=8, ncols=2)
        paths.append(figures / f"fit-{target}.svg")
        figure.savefig(paths[-1], metadata={"Date": None})
    return paths


def _panel(axes: Axes, found: dict[str, dict[str, Any]], title: str) -> None:
    for i, name in enumerate([*ACTIVATIONS, *sorted(set(found) - set(ACTIVATIONS))]):
        if name not in found:
            continue
        widths = found[name]["config"]["widths"]
        columns = [found[name]["metrics"]["best_mse"][str(width)] for width in widths]
        color = "black" if name == "mpu2" else f"C{i}"
        means = [sum(column) / len(column) for column in columns]
        if any(map(math.isfinite, means)):  # it did not diverge at every width
            axes.set_yscale("log")
        axes.plot(widths, means, label=name, color=color, linewidth=2.4 if name == "mpu2" else 1.5)
        lows, highs = [min(column) for column in columns], [max(column) for column in columns]
        axes.fill_between(widths, lows, highs, alpha=0.15, color=color, linewidth=0)
    axes.set(xlabel="hidden width", ylabel="mean squared error", title=title)
    axes.grid(alpha=0.3)
