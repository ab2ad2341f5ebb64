"""The state of a sweep: a table that changes in a terminal, a line for each job elsewhere."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Sequence
from types import TracebackType

from rich.console import Console, Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from .job import Job, Outcome, last_lines

_SHOWN_ROWS = 12


class Board:
    """Shows ``jobs``; ``started`` and ``ended`` say what became of them."""

    def __init__(self, jobs: Sequence[Job], console: Console | None = None) -> None:
        self._console = console or Console()
        self._jobs = jobs
        self._running: dict[str, tuple[Job, str, float]] = {}
        self._outcomes: list[Outcome] = []
        self._note = ""
        self._began = time.monotonic()
        self._live: Live | None = None
        if self._console.is_terminal:
            self._live = Live(
                get_renderable=self._table, console=self._console, refresh_per_second=2, vertical_overflow="crop"
            )

    def __enter__(self) -> Board:
        if self._live is not None:
            self._live.start()
        return self

    def __exit__(
        self, _kind: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        if self._live is not None:
            self._live.stop()

    def started(self, job: Job, where: str = "") -> None:
        """It runs from now on; ``where`` is the node."""
        self._running[job.name] = (job, where, time.monotonic())

    def ended(self, outcome: Outcome) -> None:
        self._running.pop(outcome.job.name, None)
        self._outcomes.append(outcome)
        if self._live is None and outcome.state != "skipped":
            done, seconds = len(self._outcomes), duration(outcome.seconds)
            self._print(f"{done}/{len(self._jobs)} {outcome.state} {outcome.job.name} in {seconds}")

    def note(self, text: str) -> None:
        self._note = text
        if self._live is None:
            self._print(text)

    def _print(self, text: str) -> None:
        self._console.print(text, markup=False, highlight=False, soft_wrap=True)

    def summary(self) -> str:
        """``12 runs: 5 finished, 2 running, 5 waiting; about 3 min left``"""
        counts = Counter(outcome.state for outcome in self._outcomes)
        waiting = len(self._jobs) - len(self._outcomes) - len(self._running)
        told = [(counts["skipped"], "finished before"), (counts["finished"], "finished"), (counts["failed"], "failed")]
        told += [(len(self._running), "running"), (waiting, "waiting")]
        words = ", ".join(f"{count} {word}" for count, word in told if count)
        worked = counts["finished"] + counts["failed"]
        left = ""
        if worked and (todo := len(self._running) + waiting):
            left = f"; about {duration((time.monotonic() - self._began) / worked * todo)} left"
        return f"{len(self._jobs)} runs: {words}{left}"

    def _table(self) -> Group:
        table = Table(box=None, pad_edge=False, expand=True)
        table.add_column("run", no_wrap=True, ratio=2)
        table.add_column("state", no_wrap=True)
        table.add_column("time", no_wrap=True, justify="right")
        table.add_column("last line", no_wrap=True, ratio=3)
        for outcome in [outcome for outcome in self._outcomes if outcome.state == "failed"][-_SHOWN_ROWS:]:
            said = outcome.last_lines.splitlines()[-1:] or [""]
            self._row(table, outcome.job.name, "failed", outcome.seconds, said[0])
        for job, where, began in list(self._running.values())[:_SHOWN_ROWS]:
            said = [f"on {where}"] if where else last_lines(job.folder, 1).splitlines() or [""]
            self._row(table, job.name, "running", time.monotonic() - began, said[-1])
        return Group(Text(self.summary()), table, Text(self._note))

    def _row(self, table: Table, name: str, state: str, seconds: float, said: str) -> None:
        style = "red" if state == "failed" else ""
        table.add_row(Text(name), Text(state, style), duration(seconds), Text(said))


def duration(seconds: float) -> str:
    """``42 s``, ``3 min``, ``2.5 h``"""
    if seconds < 100:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 6000 else f"{seconds / 3600:.1f} h"
