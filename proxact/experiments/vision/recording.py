"""A training and its run folder: checkpoints, the curve, the summary."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from ..progress import Progress
from ..runs import Run, RunError
from .training import Trainer, on_cpu

if TYPE_CHECKING:
    from lightning.fabric import Fabric

    from ..cifar10 import Cifar10
    from ..imagenet import Imagenet


def recorded(
    fabric: Fabric,
    folder: Path,
    experiment: str,
    run: Cifar10 | Imagenet,
    config: dict[str, Any],
    make: Callable[[], Trainer],
    save_seconds: float,
) -> dict[str, Any]:
    """Train, or go on training, in a run folder; the first process returns the summary, which may be there already.

    Args:
        fabric: the processes.
        folder: of the run.
        experiment: its name.
        run: what to train.
        config: ``run`` as a dict, and all else that the result depends on.
        make: called if there is something left to train.
        save_seconds: from one checkpoint to the next.
    """
    with contextlib.ExitStack() as stack:
        record, problem = None, ""
        if fabric.is_global_zero:
            try:
                record = stack.enter_context(Run(folder, experiment, run.activation, run.seed, config))
            except RunError as error:
                problem = str(error)
        # The other processes would wait for a first one that has given up.
        problem, is_finished = fabric.broadcast((problem, record is not None and record.is_finished))
        if problem:
            raise RunError(problem)
        if is_finished:
            return record.summary if record else {}
        trainer = make()
        complete(trainer, record, f"{experiment} {run.label}", save_seconds)
        if record is None:
            return {}
        torch.save(on_cpu(trainer.net.state_dict()), folder / "model.pt")
        return record.finish(metrics(record.rows))


def complete(trainer: Trainer, record: Run | None, title: str, save_seconds: float) -> None:
    """Train to the end, from the last checkpoint if there is one. Only the first process has a record, and writes.

    A checkpoint is saved between any two steps, as often as ``save_seconds`` says and on Ctrl-C.
    """
    state = trainer.fabric.broadcast(record.load() if record else None)
    steps = trainer.source.steps
    if state is not None:
        trainer.load(state)
        if record is not None:
            done = trainer.epoch * steps + trainer.step
            print(f"{title}: goes on after step {done} of {trainer.epochs * steps}", flush=True)
    saved = time.monotonic()

    def save_if_due() -> None:
        nonlocal saved
        if record is not None and (record.stop_requested or time.monotonic() - saved >= save_seconds):
            record.save(trainer.state())
            saved = time.monotonic()

    with Progress(title, trainer.epochs * steps) if record else contextlib.nullcontext() as progress:
        while trainer.epoch < trainer.epochs:
            started, before = time.monotonic(), trainer.count
            for step in trainer.train():
                if progress is not None:
                    progress.update(trainer.epoch * steps + step, f"best {trainer.best:.2f} %")
                save_if_due()
            seconds, count = time.monotonic() - started, trainer.count - before
            row = trainer.finish_epoch()
            if record is not None:
                pace = {"images_per_second": round(count / seconds, 1)} if count else {}
                record.log({**{name: _rounded(value) for name, value in row.items()}, **pace})
                save_if_due()


def metrics(rows: list[dict[str, Any]]) -> dict[str, float]:
    """The score is the last epoch's accuracy; the paper prints the best epoch's, which is kept beside it."""
    best = max(rows, key=lambda row: row["accuracy"])
    speeds = sorted(row["images_per_second"] for row in rows if "images_per_second" in row)
    return {
        "score": rows[-1]["accuracy"],
        "last_accuracy": rows[-1]["accuracy"],
        "best_accuracy": best["accuracy"],
        "best_epoch": best["epoch"],
        "train_loss": rows[-1]["train_loss"],
        # Not known where a run was stopped after the last step of its only epoch.
        **({"images_per_second": speeds[len(speeds) // 2]} if speeds else {}),
    }


def _rounded(value: Any) -> Any:
    return round(value, 6) if isinstance(value, float) else value
