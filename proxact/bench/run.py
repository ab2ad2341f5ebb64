"""The benchmark as a command: table on the screen, JSON and a plot on disk."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import torch
from rich.console import Console
from rich.table import Table

from ..info import origin
from .activations import cases, measure, training_steps
from .memory import peak_megabytes
from .timing import keep_freed_memory

_SHOWN = (
    "leaky_relu",
    "prelu",
    "gelu",
    "silu",
    "wta",
    "mpu2",
    "mpu3",
    "mpu4",
    "mpu8",
    "plain2",
    "plain3",
    "compiled2",
    "memcpy",
)


def run(out: Path, quick: bool, rounds: int, compiled: bool) -> None:
    keep_freed_memory()
    console = Console(width=150)
    console.print("Ratios to F.relu in the same run (median of interleaved rounds; lower is better).")
    console.print(
        "glibc keeps freed memory (MALLOC_MMAP_THRESHOLD_, MALLOC_TRIM_THRESHOLD_): page faults do not count."
    )
    table = Table("case", "relu us", *_SHOWN)
    results: list[dict[str, Any]] = []
    for case in cases(quick):
        if console.is_terminal:
            console.print(f"  {case.label} ...".ljust(80), end="\r")
        found = measure(case, rounds, seconds=2.0 if quick else 5.0, with_compile=compiled)
        results.append({"case": case.label, "elements": case.elements, "layout": case.layout, "results": found})
        shown = [f"{found[name]['ratio']:.2f}" if name in found else "" for name in _SHOWN]
        table.add_row(case.label, f"{found['relu']['microseconds']:.0f}", *shown)
    console.print(table)
    steps = training_steps(quick, rounds)
    step_table = Table("training step", "relu ms", "mpu2", "mpu3")
    for label, found in steps.items():
        shown = [f"{found[name]['ratio']:.3f}" if name in found else "" for name in ("mpu2", "mpu3")]
        step_table.add_row(label, f"{found['relu']['microseconds'] / 1000:.1f}", *shown)
    console.print(step_table)
    memory = {name: peak_megabytes(name) for name in ("relu", "gelu", "mpu2", "mpu3")}
    sizes = ", ".join(f"{name} {size:.0f} MB" for name, size in memory.items())
    console.print(f"Peak memory of a training step (six layers of 8192 x 1024): {sizes}")
    out.mkdir(parents=True, exist_ok=True)
    record = {**origin(), "activations": results, "training": steps, "peak_megabytes": memory}
    (out / "bench.json").write_text(json.dumps(record, indent=1) + "\n")
    _plot(record, out / "bench.png")
    console.print(f"Written: {out / 'bench.json'} and {out / 'bench.png'}")


def _plot(record: dict[str, Any], path: Path) -> None:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8, 4.5), layout="constrained")
    axes = figure.subplots()
    rows = [row for row in record["activations"] if row["layout"] == "last" and "float32 fwd+bwd" in row["case"]]
    for name in ("gelu", "silu", "mpu2", "mpu3", "mpu8", "plain2"):
        points = [(row["elements"], row["results"][name]["ratio"]) for row in rows if name in row["results"]]
        axes.plot(*zip(*points, strict=True), "o-", label=name, markersize=4)
    axes.axhline(1, color="black", linewidth=0.8)
    axes.set(xscale="log", yscale="log", xlabel="elements", ylabel="time / ReLU's, forward and backward")
    axes.set_title(f"last axis, float32, {torch.get_num_threads()} threads, {record['machine']['cpu']}", fontsize=9)
    axes.legend(fontsize=8)
    figure.savefig(path, dpi=140)
