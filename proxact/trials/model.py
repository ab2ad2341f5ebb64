"""The line that a training script needs for ``proxact try``."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from ..conversion import convert

ACTIVATION, SEED, FOLDER = (f"PROXACT_TRIAL_{name}" for name in ("ACTIVATION", "SEED", "FOLDER"))
"""Variables of the environment by which ``proxact try`` speaks to the script."""

PLACE = "PROXACT_TRIAL_PLACE"
"""The folder in which ``proxact try`` was started, where relative paths of the script begin; nodes start elsewhere."""

ORIGINAL = "original"
"""The activation that leaves a model as it is."""

MARK = "trial.jsonl"
"""In a run's folder: one line for each call of :func:`trial`, one at the end for what became of the new parameters."""

new_parameters: list[tuple[Tensor, Tensor]] = []
"""The parameters that :func:`trial` brought in, each with a copy of how it began."""


def trial(model: nn.Module, example_input: Any = None, **options: Any) -> nn.Module:
    """The model with the activation that ``proxact try`` is trying; without ``proxact try``, the model as it is.

    The line can therefore stay in a script. It belongs where the model is complete and the optimiser not yet made.

    Args:
        model: its activations are exchanged in place by :func:`proxact.convert`.
        example_input: as for :func:`proxact.convert`; it helps to find channel axes.
        options: further arguments of :func:`proxact.convert`, such as ``exclude="head.*"``.

    Example:
        >>> model = trial(nn.Sequential(nn.Linear(4, 4), nn.ReLU()))
        >>> model[1]
        ReLU()
    """
    activation = os.environ.get(ACTIVATION)
    if activation is None:
        return model
    if not isinstance(model, nn.Module):
        raise TypeError(f"model must be an nn.Module, got {model!r}")
    before = set(model.parameters())
    is_kept = activation == ORIGINAL
    with torch.random.fork_rng(devices=[]):  # what is drawn later must be the same for every activation
        to = "relu" if is_kept else activation
        model, report = convert(model, to, example_input=example_input, dry_run=is_kept, **options)
    if not report.replaced:
        name = type(model).__name__
        raise ValueError(f"model must have an activation that can be exchanged, but {name} has none:\n{report}")
    print(f"proxact try: the model is left as it is; {report}" if is_kept else f"proxact try: {report}", flush=True)
    new_parameters.extend((p, p.detach().clone()) for p in model.parameters() if p not in before)
    kinds = sorted({site.was for site in report.replaced})
    skipped = len(report.skipped)
    mark({"sites": len(report.replaced), "kinds": kinds, "skipped": skipped, "torch_seed": torch.initial_seed()})
    return model


def mark(row: dict[str, Any]) -> None:
    """Leave a row for ``proxact try`` in the run's folder."""
    if FOLDER in os.environ:
        with (Path(os.environ[FOLDER]) / MARK).open("a") as file:
            file.write(json.dumps(row) + "\n")


def read_marks(folder: Path) -> list[dict[str, Any]]:
    """The rows left in a run's folder."""
    path = folder / MARK
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
