"""Progress of long work: a bar with the time left in a terminal, a line now and then elsewhere."""

from __future__ import annotations

import time
from types import TracebackType

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.progress import Progress as Bar

_SECONDS_BETWEEN_LINES = 15.0


class Progress:
    """``with Progress("fit mpu2", total=50) as progress: progress.update(3, "mse 1e-3")``"""

    def __init__(self, title: str, total: int) -> None:
        self._title, self._total = title, total
        self._started, self._last_line = time.monotonic(), 0.0
        self._first: int | None = None
        self._bar: Bar | None = None
        if Console().is_terminal:
            columns = (
                TextColumn("{task.description}"),
                BarColumn(),
                MofNCompleteColumn(),
                TimeElapsedColumn(),
                TextColumn("left"),
                TimeRemainingColumn(),
            )
            self._bar = Bar(*columns)
            self._task = self._bar.add_task(title, total=total)

    def __enter__(self) -> Progress:
        if self._bar is not None:
            self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.stop()
        elif kind is None:
            print(f"{self._title}: done in {time.monotonic() - self._started:.0f} s", flush=True)

    def update(self, done: int, text: str = "") -> None:
        """``done`` of the total, counted from the very start of the work."""
        if self._bar is not None:
            self._bar.update(self._task, completed=done, description=f"{self._title} {text}")
            return
        now = time.monotonic()
        if self._first is None:
            self._first = done - 1
        if now - self._last_line >= _SECONDS_BETWEEN_LINES and done < self._total:
            self._last_line = now
            pace = (now - self._started) / max(1, done - self._first)
            left = pace * (self._total - done)
            print(f"{self._title}: {done}/{self._total} {text}, {left:.0f} s left", flush=True)
