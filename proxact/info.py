"""Where a number comes from: versions, machine, commit. ``proxact info`` prints them."""

from __future__ import annotations

import functools
import importlib.metadata
import os
import platform
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import torch
from rich.console import Console
from rich.table import Table

from . import __version__
from .kernels import winograd
from .kernels.cone import describe

_NAMED_PACKAGES = ("numpy", "cvxpy", "osqp", "timm", "torchvision", "lightning", "rl_games", "mujoco", "gymnasium")


def facts() -> dict[str, str]:
    return {
        "proxact": __version__,
        "python": sys.version.split()[0],
        "torch": torch.__version__,
        "cuda": torch.version.cuda or "not in this torch build",
        "machine": f"{platform.machine()}, {platform.system()}",
        "threads": str(torch.get_num_threads()),
        "backend": describe(),
        "convolutions": winograd.describe(),
    }


def versions() -> dict[str, str]:
    """Of Python, torch and those packages that experiments rest on and that are installed."""
    found = {"python": sys.version.split()[0], "proxact": __version__, "torch": torch.__version__}
    for name in _NAMED_PACKAGES:
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return found


def machine() -> dict[str, str | int]:
    cpu, cpuinfo = platform.processor() or platform.machine(), Path("/proc/cpuinfo")
    if cpuinfo.exists():
        models = [line.split(":", 1)[1].strip() for line in cpuinfo.read_text().splitlines() if "model name" in line]
        cpu = models[0] if models else cpu
    gpu = torch.cuda.get_device_name() if torch.cuda.is_available() else "none"
    return {
        "cpu": cpu,
        "cores": os.cpu_count() or 1,
        "threads": torch.get_num_threads(),
        "gpu": gpu,
        "processes": int(os.environ.get("WORLD_SIZE", "1")),  # of torchrun
        "system": f"{platform.system()} {platform.machine()}",
        "backend": describe(),
        "convolutions": winograd.describe(),
    }


@functools.cache
def commit() -> str:
    """Of the source tree this package runs from, marked where it has changes; else the version."""
    root = Path(__file__).parent.parent

    def git(*arguments: str) -> str:
        done = subprocess.run(["git", "-C", str(root), *arguments], capture_output=True, text=True, check=True)
        return done.stdout.strip()

    try:
        if Path(git("rev-parse", "--show-toplevel")).resolve() != root.resolve():
            return f"version {__version__}"
        return git("rev-parse", "HEAD") + (" with changes" if git("status", "--porcelain", "-uno") else "")
    except (OSError, subprocess.CalledProcessError):
        return f"version {__version__}"


def origin() -> dict[str, Any]:
    """Machine, versions, commit and date of a measurement made now."""
    return {"machine": machine(), "versions": versions(), "commit": commit(), "date": time.strftime("%Y-%m-%d")}


def print_info() -> None:
    table = Table(show_header=False, box=None)
    for name, value in facts().items():
        table.add_row(name, value)
    Console().print(table)
