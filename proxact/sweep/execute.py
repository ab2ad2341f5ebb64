"""Run jobs somewhere: each once, those that are finished not again."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from typing import Literal, get_args

from .._checks import check_choice, check_positive_int
from . import local
from .board import Board
from .job import Job, Outcome

Place = Literal["local", "ray", "slurm"]


def execute(
    jobs: Sequence[Job],
    *,
    on: Place = "local",
    workers: int = 2,
    address: str | None = None,
    cpus: float = 1,
    gpus: float = 0,
    retries: int = 3,
    scratch: bool = False,
    slurm: Mapping[str, str] | None = None,
) -> list[Outcome]:
    """Run every job that is not finished, and say how each ended, in the order of ``jobs``.

    It can be killed at any time: called again it goes on. After Ctrl-C it raises KeyboardInterrupt, once the jobs had
    time to save.

    Args:
        jobs: with different names and folders.
        on: this machine, a Ray cluster or Slurm.
        workers: jobs at a time; this machine's cores are divided among them. Ray goes by its resources instead.
        address: of a Ray cluster, such as ``auto``; without it one is started on this machine.
        cpus: of a job on a cluster; also its number of threads.
        gpus: of a job. On this machine each worker gets that many of its own.
        retries: how often a job is begun again whose node was lost (Ray) or that ran out of time (Slurm).
        scratch: on Ray, compute on the node's own disk even where it sees the job's folder.
        slurm: what submitit passes to Slurm, such as ``{"partition": "gpu", "timeout_min": "600"}``.
    """
    check_choice("on", on, get_args(Place))
    check_positive_int("workers", workers)
    names = [job.name for job in jobs]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise ValueError(f"jobs must have different names, got twice: {', '.join(twice)}")
    for job in jobs:
        job.check()
    token = uuid.uuid4().hex
    waiting = [job for job in jobs if not job.is_finished]
    found = {job.name: Outcome(job, "skipped") for job in jobs if job.is_finished}
    for job in waiting:
        job.describe(token)
    with Board(jobs) as board:
        for outcome in found.values():
            board.ended(outcome)
        if waiting and on == "local":
            ended = local.run(waiting, board, workers=min(workers, len(jobs)), gpus=gpus)
        elif waiting and on == "ray":
            from . import on_ray

            resources: dict[str, float] = {"cpus": cpus, "gpus": gpus}
            ended = on_ray.run(
                waiting, board, address=address, **resources, retries=retries, scratch=scratch, token=token
            )
        elif waiting:
            from . import on_slurm

            ended = on_slurm.run(
                waiting, board, workers=workers, cpus=cpus, gpus=gpus, retries=retries, options=slurm or {}
            )
        else:
            ended = []
    found |= {outcome.job.name: outcome for outcome in ended}
    return [found[name] for name in names]
