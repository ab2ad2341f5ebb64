"""What an activation costs: multiply-adds by the library's count, operations of torch, and the measured time."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import torch
from catalogue import IN_SPACE, Thing
from torch.utils._python_dispatch import TorchDispatchMode

import proxact

BENCH = Path(__file__).parents[2] / "results" / "bench" / "bench.json"
_CASES = {
    "nchw 128x64x32x32 float32 fwd+bwd": "images, 8.4 million numbers",
    "last 8192x1024 float32 fwd+bwd": "vectors of 1,024, 8.4 million numbers",
    "last 12x128 float32 fwd+bwd": "12 vectors of 128",
}


class _Operations(TorchDispatchMode):
    """Counts what reaches torch's kernels, without mere views."""

    count = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.count += not func.is_view
        return func(*args, **(kwargs or {}))


def cost(thing: Thing) -> str:
    """The section ``Cost`` of a page."""
    said = [_counted(thing), _measured(thing)]
    return "\n\n".join(part for part in said if part)


def _counted(thing: Thing) -> str:
    if thing.folder == "activations" or thing.is_scalar:
        rows = [row for name in thing.names if name not in ("mpu", "leaky_mpu") for row in [_macs(name)] if row]
        if rows:
            head = (
                "| name | multiply-adds by the paper's rule | multiplications, roots, exponentials |\n|---|---|---|\n"
            )
            return f"For each number that goes in ([`proxact.cost`](../api/cost.md)):\n\n{head}" + "\n".join(rows)
    function = thing.function()
    x = torch.randn(4, 3 if thing.name in IN_SPACE else 2)
    with torch.no_grad(), _Operations() as operations:
        function(x)
    if thing.name == "cone":
        return (
            "On the CPU a compiled kernel projects all groups in one pass; measured times are on the page of "
            f"[`mpu`](../activations/mpu.md). As plain operations of torch, for other devices: {operations.count}."
        )
    return f"Operations of torch in the forward pass: {operations.count}, counted when this page was made."


def _macs(name: str) -> str | None:
    """A row, or None where neither rule has a count."""
    x, cells = torch.zeros(1, 120), []
    for rule in ("paper", "exact"):
        found = proxact.cost(proxact.get(name), x, rule)
        cells.append("no count" if found.notes else f"{found.total / x.numel():.3g}")
    return None if cells == ["no count"] * 2 else f"| `{name}` | {cells[0]} | {cells[1]} |"


def _measured(thing: Thing) -> str:
    if not BENCH.exists():
        return ""
    record = json.loads(BENCH.read_text())
    cases = {case["case"]: case["results"] for case in record["activations"]}
    rows = []
    for name in thing.names:
        for case, label in _CASES.items():
            if name != "relu" and (found := cases.get(case, {}).get(name)):
                low, high = found["ratio_low"], found["ratio_high"]
                spread = f"{low:.2f} to {high:.2f}" if math.isfinite(low + high) else ""
                rows.append(f"| `{name}` | {label} | {found['ratio']:.2f} | {spread} |")
    if not rows:
        return ""
    where = f"{record['machine']['cpu']}, {record['date']}, by `proxact bench`"
    head = "| name | input | times ReLU | spread |\n|---|---|---|---|\n"
    return f"Time of forward and backward pass against ReLU ({where}):\n\n{head}" + "\n".join(rows)
