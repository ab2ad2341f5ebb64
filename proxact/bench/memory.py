"""Peak memory of a training step, each activation in a process of its own: ``python -m proxact.bench.memory gelu``."""

from __future__ import annotations

import os
import re
import resource
import subprocess
import sys
from pathlib import Path

import torch
from torch import nn

from ..registry import get


def peak_megabytes(activation: str) -> float:
    """The highest resident size of a process that trains six layers with 32 MB of activations each."""
    command = [sys.executable, "-m", __name__, activation]
    # Freed tensors go back to the system at once, else what malloc keeps is counted too.
    env = {name: value for name, value in os.environ.items() if not name.startswith("MALLOC_")}
    env["MALLOC_MMAP_THRESHOLD_"] = "65536"
    return float(subprocess.run(command, check=True, capture_output=True, text=True, env=env).stdout)


def _train(activation: str) -> None:
    width, layers = 1024, 6
    net = nn.Sequential(*(part for _ in range(layers) for part in (nn.Linear(width, width), get(activation))))
    optimizer = torch.optim.SGD(net.parameters(), lr=1e-3)
    x = torch.randn(8192, width)
    for _ in range(2):
        optimizer.zero_grad()
        net(x).square().mean().backward()
        optimizer.step()


def _peak_kilobytes() -> int:
    """Of this program alone: getrusage also counts the process that started it."""
    status = Path("/proc/self/status")
    if status.exists():
        return int(re.search(r"VmHWM:\s+(\d+) kB", status.read_text())[1])  # type: ignore[index]
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


if __name__ == "__main__":
    _train(sys.argv[1])
    print(_peak_kilobytes() / 1024)
