"""Jobs under Slurm, through submitit, on a disk that all nodes share.

What was submitted goes on without the sweep, and the same command later finds it again.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ..experiments.runs import write_atomically
from .board import Board
from .job import Job, Outcome, last_lines, read
from .process import Process, stop, wait

_SUBMITTED = "slurm.json"
_SECONDS_BETWEEN_LOOKS = 2.0
_A_DAY = "1440"
_NUMBERS = ("timeout_min", "mem_gb", "nodes", "tasks_per_node", "cpus_per_task", "gpus_per_node")


def run(
    jobs: Sequence[Job],
    board: Board,
    *,
    workers: int,
    cpus: float,
    gpus: float,
    retries: int,
    options: Mapping[str, str],
) -> list[Outcome]:
    """Submit the jobs that Slurm does not have yet, and wait for all.

    ``options`` go to submitit; ``cluster`` among them is its name for the scheduler (``local`` runs without one).
    """
    submitit = _import()
    options = dict(options)
    cluster = options.pop("cluster", "slurm")
    folder = Path(os.path.commonpath([job.folder.absolute() for job in jobs])) / "slurm"
    executor = _executor(submitit, folder, cluster, workers, cpus, gpus, retries, options)
    known = {job.name: found for job in jobs if (found := _submitted(submitit, cluster, job)) is not None}
    new = [job for job in jobs if job.name not in known]
    with executor.batch():
        fresh = [executor.submit(Task(job, max(1, int(cpus)))) for job in new]
    for job, ticket in zip(new, fresh, strict=True):
        about = {"id": ticket.job_id, "folder": str(folder)}
        write_atomically(job.folder / _SUBMITTED, json.dumps(about) + "\n")
        known[job.name] = ticket
    board.note(f"{len(new)} jobs submitted, {len(known) - len(new)} found again. They go on without this command.")
    return _wait({job.name: job for job in jobs}, known, board)


class Task:
    """What a node does. It can be asked to save before its time is over, and is then queued again."""

    def __init__(self, job: Job, threads: int) -> None:
        self.job, self.threads = job, threads
        self._process: Process | None = None

    def __call__(self) -> str:
        if self.job.is_finished:
            return "finished"
        self._process = Process(self.job, {"OMP_NUM_THREADS": str(self.threads)})
        wait([self._process])
        return self._process.outcome().state

    def checkpoint(self) -> Any:
        """Called by submitit in the last seconds."""
        from submitit.helpers import DelayedSubmission

        if self._process is not None:
            stop([self._process])
        return DelayedSubmission(Task(self.job, self.threads))


def _wait(jobs: dict[str, Job], tickets: dict[str, Any], board: Board) -> list[Outcome]:
    outcomes = []
    shown: set[str] = set()
    while tickets:
        for name, ticket in list(tickets.items()):
            if ticket.done():
                del tickets[name]
                outcomes.append(_ended(jobs[name], ticket))
                board.ended(outcomes[-1])
            elif ticket.state == "RUNNING" and name not in shown:
                shown.add(name)
                board.started(jobs[name])
        time.sleep(_SECONDS_BETWEEN_LOOKS if tickets else 0)
    return outcomes


def _ended(job: Job, ticket: Any) -> Outcome:
    (job.folder / _SUBMITTED).unlink(missing_ok=True)
    if job.is_finished:
        return Outcome(job, "finished", float(read(job.folder / "done.json").get("seconds", 0.0)))
    said = last_lines(job.folder)
    if not (job.folder / "failed.json").exists():  # the job had no part in it: say what Slurm says
        said = "\n".join([said, f"job {ticket.job_id}: {ticket.state}", (ticket.stderr() or "").strip()[-2000:]])
    return Outcome(job, "failed", 0.0, said.strip())


def _submitted(submitit: Any, cluster: str, job: Job) -> Any:
    """The job in Slurm from an earlier start of this sweep, while it is queued or runs."""
    found = read(job.folder / _SUBMITTED)
    if not found:
        return None
    ticket = submitit.core.plugins.get_executors()[cluster].job_class(found["folder"], found["id"])
    # Unknown to Slurm: if it runs after all, the folder's lock keeps the next one waiting.
    return None if ticket.done(force_check=True) or ticket.state.upper() == "UNKNOWN" else ticket


def _executor(
    submitit: Any,
    folder: Path,
    cluster: str,
    workers: int,
    cpus: float,
    gpus: float,
    retries: int,
    options: Mapping[str, str],
) -> Any:
    known = {"timeout_min": _A_DAY, "cpus_per_task": str(max(1, int(cpus))), "gpus_per_node": str(int(gpus)), **options}
    parameters: dict[str, Any] = {}
    for name, value in known.items():
        general = name in (*_NUMBERS, "name")
        parameters[name if general else f"slurm_{name}"] = int(value) if name in _NUMBERS else value
    try:
        executor = submitit.AutoExecutor(folder, cluster=cluster, slurm_max_num_timeout=retries)
        executor.update_parameters(name="proxact", slurm_array_parallelism=workers, **parameters)
    except (NameError, RuntimeError, ValueError) as error:
        raise ValueError(f"slurm: {error}") from error
    return executor


def _import() -> Any:
    try:
        import submitit
    except ModuleNotFoundError as error:
        raise ValueError(f"on='slurm' needs {error.name}: pip install 'proxact[cluster]'") from error
    return submitit
