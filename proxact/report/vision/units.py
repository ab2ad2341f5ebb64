"""Tables of what else was tried with the units: other angles and groups, and fine-tuning a ReLU network."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence

from ..html import paragraph, table
from ..pairs import Comparison, compare, key, score, unpaired
from ..statistics import mean_and_deviation, place
from .protocol import describe, note
from .runs import Protocol, Run, in_order, shared

_GROUPINGS = {"channels": "", "text": "flattened, as the paper writes", "last": "groups along the last axis"}


def variant(run: Run) -> str:
    """How the unit differs from the usual one, which groups channels and learns its angle from pi/4."""
    config, said = run["config"], []
    is_usual = math.isclose(config["alpha"], math.pi / 4)
    angle = "pi/4" if is_usual else f"{config['alpha']:.4g} rad"
    if not config["learn_angle"]:
        said.append(f"angle fixed at {angle}")
    elif not is_usual:
        said.append(f"angle learnt from {angle}")
    said.append(_GROUPINGS[config.get("grouping", "channels")])
    if config["decay"] == "all":
        said.append("angle decayed")
    return ", ".join(filter(None, said))


def by_variant(protocol: Protocol, activation: str) -> dict[str, list[Run]]:
    found: dict[str, list[Run]] = {}
    for run in protocol.variants:
        if run["activation"] == activation:
            found.setdefault(variant(run) or run["config"]["preset"], []).append(run)
    return found


def ablations(protocol: Protocol) -> tuple[str, list[str]]:
    """Variants of each unit against the usual one, as a table and in sentences."""
    parts, said = [], []
    for name in in_order({run["activation"] for run in protocol.variants}):
        usual, others = protocol.of(name), by_variant(protocol, name)
        found = compare(others, usual)
        rows = [_row("usual: channels, angle learnt from pi/4", usual, None)] if usual else []
        rows += [_row(label, runs, found.get(label)) for label, runs in others.items()]
        headers = [name, "last epoch", f"against the usual {name}", "Holm's p", "pairs", "best epoch", "n"]
        parts.append(table([*headers, "hardware", "date"], rows))
        parts += map(note, unpaired(others, usual, f"usual {name}"))
        said += [f"{name} ({label}) against the usual one: {result.sentence()}." for label, result in found.items()]
        if name == "mpu2" and any("fixed at pi/4" in label for label in others):
            said.append(rounding(protocol, others))
    return "".join(parts), said


def rounding(protocol: Protocol, others: dict[str, list[Run]]) -> str:
    """How far two runs of one network end apart, where mpu2 that does not learn gives it."""
    said = "With the angle fixed at pi/4 mpu2 is ReLU: they differ by rounding alone, which training enlarges"
    fixed = {"": [run for label, runs in others.items() if label == "angle fixed at pi/4" for run in runs]}
    found = compare(fixed, protocol.of("relu"))
    shown = ", ".join(f"{difference:+.2f}" for difference in found[""].differences) if found else ""
    return f"{said} ({shown} points, seed by seed)." if shown else f"{said}."


def finetuned(summaries: Sequence[Run]) -> dict[str, list[Run]]:
    """Runs that start from the network of another, those that differ in start, activation and seed together."""
    found: dict[str, list[Run]] = {}
    for run in summaries:
        if run["experiment"] == "cifar10" and run["config"].get("start"):
            found.setdefault(shared(run), []).append(run)
    return found


def finetuning(summaries: Sequence[Run]) -> tuple[str, list[str]]:
    """A ReLU network gone on with ReLU, or with another unit in its place, for the same number of epochs."""
    parts, said = [], []
    for runs in finetuned(summaries).values():
        config = runs[0]["config"]
        groups: dict[str, list[Run]] = {}
        for name in in_order({run["activation"] for run in runs}):
            for run in runs:
                if run["activation"] == name:
                    groups.setdefault(", ".join(filter(None, (name, variant(run)))), []).append(run)
        base = groups.pop("relu", [])
        found = compare(groups, base)
        before = {key(run): start_score(run, summaries) for run in runs}
        rows = []
        for label, own in {"relu": base, **groups}.items():
            if own:
                known = [value for run in own if (value := before[key(run)]) is not None]
                start = f"{statistics.fmean(known):.2f}" if known else ""
                before_it = own[0]["config"]["start"].split("/")[2]
                words = f"goes on with {label}" if before_it == own[0]["activation"] else f"{before_it} becomes {label}"
                rows.append([words, start, *_row(label, own, found.get(label))[1:]])
        parts.append(
            paragraph(
                f"{describe(config)}, {config['epochs']} more epochs, peak "
                f"{config['peak']:g}, {config['schedule']}; each pair starts from the same trained network."
            )
        )
        headers = ["", "before", "last epoch", "against relu", "Holm's p", "pairs", "best epoch", "n"]
        parts.append(table([*headers, "hardware", "date"], rows))
        parts += map(note, unpaired(groups, base, "ReLU"))
        said += [
            f"A trained {describe(config)} whose ReLUs become {label}, against going on with ReLU: {result.sentence()}."
            for label, result in found.items()
        ]
    return "".join(parts), said


def start_score(run: Run, summaries: Sequence[Run]) -> float | None:
    """Last accuracy of the run this one started from, if it is among them."""
    label = run["config"]["start"].split(" ")[0]
    for other in summaries:
        if other["experiment"] != "cifar10" or other["config"].get("start") or label != _label(other):
            continue
        if all(other["config"].get(name) == run["config"].get(name) for name in ("width", "data")):
            return score(other)
    return None


def _label(run: Run) -> str:
    """As :func:`proxact.experiments.vision.finetune.read_start` names it, without the digest."""
    config = run["config"]
    return f"{config['preset']}/{config['model']}/{run['activation']}/seed{run['seed']}"


def _row(label: str, runs: Sequence[Run], result: Comparison | None) -> list[object]:
    best = statistics.fmean(run["metrics"]["best_accuracy"] for run in runs)
    accuracy = mean_and_deviation([*map(score, runs)], "{:.2f}")
    return [label, accuracy, *(result.cells() if result else [""] * 3), f"{best:.2f}", len(runs), *place(runs)]
