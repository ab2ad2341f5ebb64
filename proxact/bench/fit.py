"""``proxact bench fit``: all networks of the fitting experiment together against a loop over them, in one run."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from ..experiments.fit import ACTIVATIONS, TARGETS, Fit, Trainer
from ..info import origin
from .timing import keep_freed_memory

_LOOP = Path(__file__).parents[2] / "benchmarks" / "fit_loop.py"
_SAMPLED_WIDTHS = (2, 20, 39)


def run_fit(out: Path, quick: bool) -> None:
    keep_freed_memory()
    if not _LOOP.exists():
        raise SystemExit(f"proxact bench fit needs a source checkout: {_LOOP} is missing")
    console = Console()
    fit = Fit("relu", "cone", samples=4_000 if quick else 40_000, test_samples=1_000 if quick else 10_000)
    threads = min((1, 2), key=lambda count: _loop_seconds("relu", 20, count, fit.samples))
    table = Table("activation", "together, s an epoch", "loop, s an epoch of one network", "loop / together")
    rows: dict[str, dict[str, Any]] = {}
    for name in ACTIVATIONS:
        together = _together_seconds(replace(fit, activation=name))
        widths = _SAMPLED_WIDTHS[1:2] if quick else _SAMPLED_WIDTHS
        alone = [_loop_seconds(name, width, threads, fit.samples) for width in widths]
        alone_mean = sum(alone) / len(alone)
        ratio = alone_mean * len(fit.widths) * len(fit.seeds) / together
        rows[name] = {"together_seconds": together, "loop_seconds": alone, "ratio": ratio}
        table.add_row(name, f"{together:.3f}", f"{alone_mean:.3f}", f"{ratio:.0f}")
    epochs = fit.epochs * len(TARGETS)
    whole = epochs * sum(row["together_seconds"] for row in rows.values())
    loop = epochs * sum(row["ratio"] * row["together_seconds"] for row in rows.values())
    console.print(table)
    console.print(
        f"{len(fit.widths) * len(fit.seeds)} networks an activation. The whole figure: {whole / 60:.1f} min together, "
        f"{loop / 3600:.1f} h in the loop (extrapolated; {threads} threads, its best): {loop / whole:.0f} times."
    )
    record = {
        **origin(),
        "samples": fit.samples,
        "loop_threads": threads,
        "activations": rows,
        "whole_ratio": loop / whole,
    }
    out.mkdir(parents=True, exist_ok=True)
    (out / "fit.json").write_text(json.dumps(record, indent=1) + "\n")
    console.print(f"Written: {out / 'fit.json'}")


def _together_seconds(fit: Fit) -> float:
    trainer = Trainer(fit)
    trainer.train_epoch()
    start = time.perf_counter()
    trainer.train_epoch()
    return time.perf_counter() - start


def _loop_seconds(activation: str, width: int, threads: int, samples: int) -> float:
    command = [sys.executable, str(_LOOP), activation, str(width), "--threads", str(threads), "--samples", str(samples)]
    return float(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
