"""What ``proxact info`` prints."""

from __future__ import annotations

import platform
import sys

import torch
from rich.console import Console
from rich.table import Table

from . import __version__
from .kernels.cone import describe


def facts() -> dict[str, str]:
    return {
        "proxact": __version__,
        "python": sys.version.split()[0],
        "torch": torch.__version__,
        "cuda": torch.version.cuda or "not in this torch build",
        "machine": f"{platform.machine()}, {platform.system()}",
        "threads": str(torch.get_num_threads()),
        "backend": describe(),
    }


def print_info() -> None:
    table = Table(show_header=False, box=None)
    for name, value in facts().items():
        table.add_row(name, value)
    Console().print(table)
