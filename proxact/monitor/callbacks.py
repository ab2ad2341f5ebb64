"""The monitor in other people's training loops."""

from __future__ import annotations

import importlib.util
import os
from typing import Any

from .angles import AngleMonitor


def lightning_callback(every: int = 50, path: str | os.PathLike[str] | None = None, **arguments: Any) -> Any:
    """A callback for Lightning's ``Trainer(callbacks=[...])``. Its ``monitor`` is the :class:`AngleMonitor` of the fit.

    Args:
        every: optimiser steps from one recording to the next.
        path: file for the rows, one JSON object a line.
        arguments: the others of :class:`AngleMonitor`.
    """
    base: Any = _import(("lightning.pytorch", "pytorch_lightning"), "lightning").Callback

    class AngleCallback(base):
        monitor: AngleMonitor | None = None

        def on_train_start(self, trainer: Any, pl_module: Any) -> None:
            self.steps = trainer.global_step
            self.monitor = AngleMonitor(pl_module, every, path, start=self.steps, **arguments)

        def on_train_batch_end(self, trainer: Any, *_: Any) -> None:
            if self.monitor is not None and trainer.global_step != self.steps:  # gradients may be accumulated
                self.steps = trainer.global_step
                self.monitor.step()

        def on_train_end(self, trainer: Any, pl_module: Any) -> None:
            self._close()

        def on_exception(self, trainer: Any, pl_module: Any, exception: BaseException) -> None:
            self._close()

        def _close(self) -> None:
            if self.monitor is not None:
                self.monitor.close()

    return AngleCallback()


def hf_callback(every: int = 50, path: str | os.PathLike[str] | None = None, **arguments: Any) -> Any:
    """A callback for transformers' ``Trainer(callbacks=[...])``. Its ``monitor`` is the :class:`AngleMonitor`.

    Args:
        every: optimiser steps from one recording to the next.
        path: file for the rows, one JSON object a line.
        arguments: the others of :class:`AngleMonitor`.
    """
    base: Any = _import(("transformers",), "transformers").TrainerCallback

    class AngleCallback(base):
        monitor: AngleMonitor | None = None

        def on_train_begin(self, args: Any, state: Any, control: Any, **given: Any) -> None:
            self.monitor = AngleMonitor(given["model"], every, path, start=state.global_step, **arguments)

        def on_step_end(self, args: Any, state: Any, control: Any, **given: Any) -> None:
            if self.monitor is not None:
                self.monitor.step()

        def on_train_end(self, args: Any, state: Any, control: Any, **given: Any) -> None:
            if self.monitor is not None:
                self.monitor.close()

    return AngleCallback()


def _import(names: tuple[str, ...], package: str) -> Any:
    for name in names:
        if importlib.util.find_spec(name.partition(".")[0]) is not None:
            return importlib.import_module(name)
    raise ModuleNotFoundError(f"this callback needs {package}: pip install {package}")
