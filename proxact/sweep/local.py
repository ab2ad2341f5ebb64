"""Jobs on this machine, a few at a time, which share its cores and its GPUs."""

from __future__ import annotations

import os
from collections.abc import Sequence

from .board import Board
from .job import Job, Outcome
from .process import Process, stop, wait


def run(jobs: Sequence[Job], board: Board, *, workers: int, gpus: float) -> list[Outcome]:
    """Every job once. After Ctrl-C those that run save and stop."""
    waiting = list(jobs)
    running: dict[int, Process] = {}  # by worker
    outcomes = []
    try:
        while waiting or running:
            for worker in range(workers):
                if waiting and worker not in running:
                    job = waiting.pop(0)
                    running[worker] = Process(job, share_of(worker, workers, gpus))
                    board.started(job)
            wait(list(running.values()))
            for worker, process in list(running.items()):
                if not process.is_running:
                    del running[worker]
                    outcomes.append(process.outcome())
                    board.ended(outcomes[-1])
    except BaseException:
        board.note("Stopping: the runs that are going on are saved. Ctrl-C again stops at once.")
        stop(list(running.values()))
        raise
    return outcomes


def share_of(worker: int, workers: int, gpus: float) -> dict[str, str]:
    """The variables that give a worker its part of the machine."""
    found = {"OMP_NUM_THREADS": str(max(1, cores() // workers))}
    if gpus >= 1:
        import torch

        each, there = int(gpus), max(1, torch.cuda.device_count())
        found["CUDA_VISIBLE_DEVICES"] = ",".join(str((worker * each + i) % there) for i in range(each))
    return found


def cores() -> int:
    """That this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
