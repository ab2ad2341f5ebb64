"""Tables and findings of the runs with one recipe, seed by seed against ReLU."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from typing import Any

from ...experiments.vision.pictures import OTHER
from ...nn import MPU
from ..html import MISSING, table, text
from ..pairs import Comparison, compare, key, score, unpaired
from ..statistics import hardware, mean_and_deviation, pairs_needed, place
from .paper import gain
from .runs import ACTIVATIONS, Protocol, Run, in_order, layers, macs

CLAIM = gain("cifar10", "leaky_mpu2")
"""Points that the paper's best unit, Leaky MPU of m = 2, gains over ReLU there."""
NOTE = (
    "In % of the test pictures. Last epoch: mean ± standard deviation over the seeds. Against ReLU: mean difference of "
    "last epochs, seed by seed (same initial weights, same order of the data), in points, with its 95 % t interval; p "
    "after Holm's correction over this table. Best epoch, as the paper prints it: chosen by the test pictures, so too "
    "high; mean and largest over the seeds. MACs: a forward pass of a batch, by the paper's rule, which counts nothing "
    "for GELU and SiLU. Step: time of a training step over ReLU's, and pictures a second, as measured by proxact bench "
    "cifar10, in the precision named if it is not the runs' own; without its record, the median over pairs of runs, "
    "which may have shared the machine with others."
)


def note(value: str) -> str:
    return f'<p class="note">{text(value)}</p>'


def comparisons(protocol: Protocol) -> dict[str, Comparison]:
    """All activations against ReLU."""
    return compare(_others(protocol), protocol.of("relu"))


def numbers(protocol: Protocol, benchmarks: Sequence[dict[str, Any]] = ()) -> str:
    headers = ["activation", "last epoch", "against ReLU", "Holm's p", "pairs", "best epoch", "max", "MACs", "step"]
    found, rows = comparisons(protocol), []
    planned = ACTIVATIONS if protocol.recipe.startswith("cpu") else ()
    for name in in_order({*planned, *protocol.activations}):
        runs = protocol.of(name)
        if not runs:
            rows.append([name, MISSING, *[""] * 7, 0, "", ""])
            continue
        against = found[name].cells() if name in found else [""] * 3
        best = [run["metrics"]["best_accuracy"] for run in runs]
        cells = [name, mean_and_deviation([*map(score, runs)], "{:.2f}"), *against]
        cells += [f"{statistics.fmean(best):.2f}", f"{max(best):.2f}", macs(protocol.config, name)]
        step = benched(protocol.config, name, benchmarks) or step_time(runs, protocol.of("relu"))
        rows.append([*cells, step, len(runs), *place(runs)])
    left_out = unpaired(_others(protocol), protocol.of("relu"), "ReLU")
    said = [*left_out, *lone_relu(protocol)]
    return table([*headers, "n", "hardware", "date"], rows) + "".join(map(note, said))


def lone_relu(protocol: Protocol) -> list[str]:
    """ReLU's seeds that no other activation has."""
    paired = {key(run) for runs in _others(protocol).values() for run in runs}
    alone = sorted(run["seed"] for run in protocol.of("relu") if paired and key(run) not in paired)
    return [f"relu: its mean counts seed {', '.join(map(str, alone))}, which no other has."] if alone else []


def unlike_pairs(protocol: Protocol) -> list[str]:
    """Pairs whose sums were made in another order, by other kernels or on another processor."""
    relu = {key(run): _where(run) for run in protocol.of("relu")}
    counts = []
    for name, runs in _others(protocol).items():
        unlike = [_where(run) != relu[key(run)] for run in runs if key(run) in relu]
        if any(unlike):
            counts.append(f"{name} {sum(unlike)} of {len(unlike)}")
    if not counts:
        return []
    return [
        f"Pairs whose two runs had other processors, threads or convolution kernels: {', '.join(counts)}. Weights and "
        "batches are still the same, sums are rounded differently."
    ]


def benched(config: dict[str, Any], activation: str, benchmarks: Sequence[dict[str, Any]]) -> str:
    """From records of ``proxact bench cifar10``, which have a ResNet18 of some widths; best in the runs' precision."""
    for record in sorted(benchmarks, key=lambda record: record["precision"] != config["precision"]):
        rows = record["widths"].get(str(config.get("width")), {}) if config["model"] == "resnet18" else {}
        if f"proxact, {activation}" in rows:
            # Each was timed in turn with ReLU, at another moment: the ratio is what was measured.
            ratio = rows[f"proxact, {activation}"]["ratio"]
            step = _step(ratio, rows["proxact, relu"]["images_per_second"] / ratio)
            return step if record["precision"] == config["precision"] else f"{step}, {record['precision']}"
    return ""


def step_time(runs: list[Run], base: list[Run]) -> str:
    """Of runs with the same seed on the same processor and kernels, and the pictures a second behind it."""
    speeds = {_where(run): run["metrics"].get("images_per_second") for run in base}
    own = [(run["metrics"].get("images_per_second"), speeds.get(_where(run))) for run in runs]
    known = [(speed, other) for speed, other in own if speed and other]
    if not known:
        return ""
    ratio = statistics.median(other / speed for speed, other in known)
    return _step(ratio, statistics.median(speed for speed, _ in known))


def _step(ratio: float, speed: float) -> str:
    return f"{ratio:.2f} ({speed:.0f}/s)"


def _where(run: Run) -> tuple[Any, ...]:
    machine = run["machine"]
    return run["seed"], hardware(machine), machine.get("convolutions")


def sentences(protocol: Protocol) -> list[str]:
    """What the numbers say, in sentences made from them."""
    relu = protocol.of("relu")
    if not relu:
        return []
    accuracy = mean_and_deviation([*map(score, relu)], "{:.2f}")
    said = [f"ReLU reaches {accuracy} % ({_duration(relu)})."]
    found = comparisons(protocol)
    said += [f"{name} against ReLU: {result.sentence()}." for name, result in found.items()]
    units = {name: result for name, result in found.items() if "mpu" in name and result.n > 1}
    if units and protocol.experiment == "cifar10":
        needed = [f"{pairs_needed(own.differences, CLAIM)} for {name} (of {own.n})" for name, own in units.items()]
        said.append(
            f"The paper's {CLAIM:+.2f} points (Leaky MPU over ReLU) would be seen in four of five experiments "
            f"with this many pairs, if differences scatter as here: {', '.join(needed)}. One test without correction; "
            "a scatter known from so few pairs is rough."
        )
    return [*said, *unlike_pairs(protocol), *at_the_limit(protocol)]


def _duration(runs: list[Run]) -> str:
    """How many seeds, and the minutes of those runs that had the most threads."""
    threads = max(run["machine"]["threads"] for run in runs)
    timed = [run for run in runs if run["machine"]["threads"] == threads]
    minutes = sorted({round(run["wall_seconds"] / 60) for run in timed})
    span = " to ".join(str(value) for value in dict.fromkeys((minutes[0], minutes[-1])))
    gpu = timed[0]["machine"].get("gpu", "none")
    where = gpu if gpu != "none" else "1 core" if threads == 1 else f"{threads} cores"
    seeds = f"{len(runs)} seeds" if len(runs) > 1 else "1 seed"
    which = "a run" if len(timed) == len(runs) else f"for the {len(timed)} run{'s' * (len(timed) > 1)}"
    return f"{seeds}, {span} min {which} on {where}"


def at_the_limit(protocol: Protocol) -> list[str]:
    """Layers whose angle every run drove to the largest one that can be learnt."""
    limit, said = math.pi / 4 + MPU().limit, []
    for name in protocol.activations:
        ends = [run["curve"][-1] for run in protocol.of(name)]
        if not all("angle0" in end for end in ends):
            continue
        names = layers(protocol.config, name)
        full = [layer for i, layer in enumerate(names) if all(end[f"angle{i}"] > limit - 1e-3 for end in ends)]
        if full:
            runs = f"all {len(ends)} runs" if len(ends) > 1 else "its one run"
            said.append(f"{name}: {', '.join(full)} ends at {limit:.3f} rad in {runs}, nearly a half-space.")
    return said


def describe(config: dict[str, Any]) -> str:
    named = {"fast": "Fast net", "deit_tiny": "DeiT-tiny"}
    model = named.get(config["model"], config["model"].replace("resnet", "ResNet"))
    width = f" of width {config['width']}" if "width" in config else ""
    extra = f", {config['extra_epochs']} epochs more" if config.get("extra_epochs") else ""
    return f"{model}{width}{extra}" + ("" if is_cifar10(config) else f" on {config['data']}")


def is_cifar10(config: dict[str, Any]) -> bool:
    return "width" in config and not config.get("data", "").startswith(OTHER)


def setting(protocol: Protocol) -> str:
    config = protocol.config
    if protocol.experiment == "cifar10":
        rate = f"{config['optimizer']} with peak {config['peak']:g}, {config['schedule']}"
    else:
        rate = f"learning rate {config['rate']:g}"
    return (
        f"Preset {protocol.recipe}: {describe(config)}, {config['epochs']} epochs, batch {config['batch']}, {rate}, "
        f"{config['precision']}; pictures: {config.get('data', '')}. Every activation of a seed starts from the same "
        "weights and sees the same batches."
    )


def _others(protocol: Protocol) -> dict[str, list[Run]]:
    return {name: protocol.of(name) for name in protocol.activations if name != "relu"}
