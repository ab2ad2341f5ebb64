"""Run a training script for ``proxact try``: ``python -m proxact.trials.run <run's folder> train.py [arguments]``.

It sets the seeds before the script makes its model, and refuses a script that never calls ``proxact.trial``.
"""

from __future__ import annotations

import os
import random
import runpy
import sys
from pathlib import Path

import torch

from .model import ACTIVATION, FOLDER, MARK, PLACE, SEED, mark, new_parameters

START = "proxact try: starting "
"""How the first line of a run begins; what an earlier attempt printed stands before it."""


def set_seeds(seed: int) -> None:
    """Seed Python, torch and, where it is installed, numpy."""
    random.seed(seed)
    torch.manual_seed(seed)
    try:
        import numpy
    except ModuleNotFoundError:
        return
    numpy.random.seed(seed)


def missing_line(script: str) -> str:
    return (
        f"{Path(script).name} never called proxact.trial, so every activation would train the same model. "
        "Add, where the model is complete and the optimizer not yet made:\n\n"
        "    import proxact\n"
        "    model = proxact.trial(model)\n"
    )


def main(folder: str, *argv: str) -> None:
    script, marks = argv[0], Path(folder) / MARK
    marks.unlink(missing_ok=True)
    os.environ[FOLDER] = folder
    os.chdir(os.environ[PLACE])
    print(f"{START}{' '.join(argv)} with {os.environ[ACTIVATION]}, seed {os.environ[SEED]}", flush=True)
    sys.argv = list(argv)
    sys.path[0] = str(Path(script).resolve().parent)  # as if it had been started itself
    set_seeds(int(os.environ[SEED]))
    try:
        runpy.run_path(script, run_name="__main__")
    except SystemExit as stop:
        if stop.code not in (None, 0):
            raise
    if not marks.exists():
        raise SystemExit(missing_line(script))
    if new_parameters:
        moved = sum(not torch.equal(now.detach().cpu(), then.cpu()) for now, then in new_parameters)
        mark({"new_parameters": len(new_parameters), "moved": moved})


if __name__ == "__main__":
    main(*sys.argv[1:])
