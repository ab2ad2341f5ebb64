"""A job that runs on this machine."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path

from .job import LOG, Job, Outcome, last_lines

_KEEPER = Path(__file__).with_name("keeper.py")
_SECONDS_BETWEEN_LOOKS = 0.05


class Process:
    """The job's command, started. It does not outlive the thread that started it.

    Args:
        job: to run.
        environment: on top of this process's variables; the job's own come last.
        folder: to run in, if not the job's own.
    """

    def __init__(self, job: Job, environment: Mapping[str, str], folder: Path | None = None) -> None:
        self.job, self.folder = job, (folder or job.folder).absolute()
        self.folder.mkdir(parents=True, exist_ok=True)
        self._started = time.monotonic()
        keeper = [sys.executable, "-I", "-S", str(_KEEPER), str(os.getpid()), str(self.folder)]
        with (self.folder / LOG).open("ab") as log:
            self._child = subprocess.Popen(
                [*keeper, *job.command_in(self.folder)],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env={**os.environ, "PYTHONUNBUFFERED": "1", **environment, **job.environment},
            )

    @property
    def is_running(self) -> bool:
        return self._child.poll() is None

    def outcome(self) -> Outcome:
        """How it ended; waits for the end."""
        seconds = time.monotonic() - self._started
        if self._child.wait() == 0:
            return Outcome(self.job, "finished", seconds)
        return Outcome(self.job, "failed", seconds, last_lines(self.folder))

    def interrupt(self) -> None:
        """Ctrl-C: the experiments save and stop."""
        self._signal(signal.SIGINT)

    def kill(self) -> None:
        self._signal(signal.SIGKILL)

    def _signal(self, number: int) -> None:
        try:
            os.killpg(self._child.pid, number)
        except ProcessLookupError:  # it has ended, or is too young for a group
            self._child.send_signal(number)


def run_here(job: Job, environment: Mapping[str, str], folder: Path | None = None) -> Outcome:
    """Run the job and wait. Looks now and then, since Ray's cancellation does not wake a sleeping system call."""
    process = Process(job, environment, folder)
    try:
        wait([process])
    except BaseException:
        stop([process])
        raise
    return process.outcome()


def wait(processes: list[Process]) -> None:
    """Until one of them has ended."""
    while all(process.is_running for process in processes):
        time.sleep(_SECONDS_BETWEEN_LOOKS)


def stop(processes: list[Process]) -> None:
    """Let them save and stop; a second Ctrl-C ends them at once."""
    for process in processes:
        process.interrupt()
    try:
        for process in processes:
            wait([process])
    except BaseException:
        for process in processes:
            process.kill()
        raise
