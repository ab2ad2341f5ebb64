"""Which runs ``proxact try`` makes."""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Sequence
from pathlib import Path

from ..conversion.target import Target
from ..sweep import Job
from .model import ACTIVATION, ORIGINAL, PLACE, SEED

Runs = dict[str, dict[int, Job]]
"""The jobs by activation and seed; the first activation is the baseline."""


def parse_activations(text: str) -> list[str]:
    """Names with commas between them.

    Example:
        >>> parse_activations("original,mpu2")
        ['original', 'mpu2']
    """
    names = [name.strip() for name in text.split(",") if name.strip()]
    if len(names) < 2 or len({*names}) < len(names):
        raise ValueError(
            f"activations must be a baseline and at least one other, each once, as in relu,mpu2; got {text!r}"
        )
    for name in names:
        if name != ORIGINAL:
            Target(name)  # refuses unknown names and those that change the number of channels
    return names


def parse_seeds(text: str) -> list[int]:
    """How many seeds, or a range ``start:stop`` as in Python.

    Example:
        >>> parse_seeds("3"), parse_seeds("3:5")
        ([0, 1, 2], [3, 4])
    """
    start, colon, stop = text.rpartition(":")
    try:
        seeds = list(range(int(start) if colon else 0, int(stop)))
    except ValueError:
        seeds = []
    if not seeds or seeds[0] < 0:
        raise ValueError(f"seeds must be how many, such as 5, or a range such as 5:10; got {text!r}")
    return seeds


def make_runs(
    script: Path,
    arguments: Sequence[str],
    activations: Sequence[str],
    seeds: Sequence[int],
    runs: Path,
    threads: int,
) -> tuple[Path, Runs]:
    """The folder of all runs, and a job for each activation and seed.

    The folder's name has a digest of the script and its arguments: a script that was changed is run anew. All runs have
    the same number of threads, since sums depend on it in their last digits.
    """
    if not script.is_file():
        raise ValueError(f"script must be a file, got {script}")
    digest = hashlib.sha256(script.read_bytes() + json.dumps(list(arguments)).encode()).hexdigest()[:6]
    folder = runs.resolve() / "try" / f"{script.stem}-{digest}"
    given: Runs = {}
    for activation in activations:
        given[activation] = {}
        for seed in seeds:
            name = f"{activation}/seed{seed}"
            filled = [one.replace("{seed}", str(seed)).replace("{activation}", activation) for one in arguments]
            command = (sys.executable, "-m", "proxact.trials.run", "{folder}", str(script.resolve()), *filled)
            environment = {
                ACTIVATION: activation,
                SEED: str(seed),
                PLACE: str(Path.cwd()),
                "OMP_NUM_THREADS": str(threads),
                "PYTHONHASHSEED": str(seed),  # the order of a set of words
                "PYTHONUNBUFFERED": "1",
            }
            given[activation][seed] = Job(name, folder / name, command, environment)
    return folder, given
