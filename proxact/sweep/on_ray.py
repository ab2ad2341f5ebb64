"""Jobs on a Ray cluster.

A node that sees a job's folder runs the job there; another one in a scratch folder of its own, from which everything
comes back. A job whose node is lost is begun again elsewhere, and goes on where the folder is seen.
"""

from __future__ import annotations

import contextlib
import hashlib
import logging
import os
import shutil
import socket
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from .board import Board
from .job import Job, Outcome
from .packing import pack, unpack
from .process import run_here

_SECONDS_BETWEEN_LOOKS = 1.0
_SECONDS_TO_SAVE = 60.0


@dataclass(frozen=True)
class Order:
    """What a node is told."""

    job: Job
    token: str
    python: str
    place: str
    threads: int
    scratch: bool
    left: bytes | None


@dataclass(frozen=True)
class Answer:
    """What comes back; ``packed`` unless the job's own folder was used."""

    outcome: Outcome
    packed: bytes | None


def run(
    jobs: Sequence[Job],
    board: Board,
    *,
    address: str | None,
    cpus: float,
    gpus: float,
    retries: int,
    scratch: bool,
    token: str,
) -> list[Outcome]:
    """Every job once, unless its node is lost."""
    ray = _import()
    outcomes = []
    with _connected(ray, address):
        _warn_if_too_large(ray, board, cpus, gpus)
        whereabouts = ray.remote(num_cpus=0, max_restarts=-1)(Whereabouts).remote()
        task = ray.remote(num_cpus=cpus, num_gpus=gpus, max_retries=retries)(work)
        waiting = {}
        for job in jobs:
            left = pack(job.folder, whole=True) if any(job.folder.rglob("checkpoint")) else None
            order = Order(job, token, sys.executable, os.getcwd(), max(1, int(cpus)), scratch, left)
            waiting[task.remote(order, whereabouts)] = job
        try:
            while waiting:
                ready, _ = ray.wait(list(waiting), timeout=_SECONDS_BETWEEN_LOOKS)
                for reference in ready:
                    outcomes.append(_ended(ray, reference, waiting.pop(reference)))
                    board.ended(outcomes[-1])
                _show(ray, board, whereabouts, {job.name: job for job in waiting.values()})
        except BaseException:
            board.note("Stopping: the runs that are going on are saved.")
            for reference in waiting:
                ray.cancel(reference)
            ray.wait(list(waiting), num_returns=len(waiting), timeout=_SECONDS_TO_SAVE)
            raise
    return outcomes


def work(order: Order, whereabouts: Any) -> Answer:
    """On a node: run one job."""
    job = order.job
    whereabouts.tell.remote(job.name, socket.gethostname())
    if job.command[0] == order.python:
        job = replace(job, command=(sys.executable, *job.command[1:]))
    if os.path.isdir(order.place):
        os.chdir(order.place)  # names of files in the command mean what they meant to who wrote it
    environment = {"OMP_NUM_THREADS": str(order.threads)}
    if job.is_seen_by(order.token) and not order.scratch:
        return Answer(replace(run_here(job, environment), job=order.job), None)
    folder = scratch_folder(job)
    if order.left is not None and not folder.exists():
        unpack(order.left, folder)
    outcome = run_here(job, environment, folder)
    packed = pack(folder, whole=outcome.state == "failed")
    shutil.rmtree(folder)
    with contextlib.suppress(OSError):  # other jobs of the sweep, or what they share
        os.removedirs(folder.parent)
    return Answer(replace(outcome, job=order.job), packed)


def scratch_folder(job: Job) -> Path:
    """The same for every attempt of a job on this node. Jobs of one sweep lie in one folder, as in the sweep's own."""
    sweep, command = (
        hashlib.sha256(text.encode()).hexdigest()[:12]
        for text in (str(job.folder).removesuffix(job.name), repr(job.command[1:]))
    )
    return Path(tempfile.gettempdir()) / f"proxact-{os.getuid()}" / sweep / f"{job.name}-{command}"


class Whereabouts:
    """An actor that knows on which node a job was begun last."""

    def __init__(self) -> None:
        self._hosts: dict[str, str] = {}
        self._news: dict[str, str] = {}

    def tell(self, name: str, host: str) -> None:
        self._news[name] = f"{host}, begun again" if name in self._hosts else host
        self._hosts[name] = host

    def news(self) -> dict[str, str]:
        news, self._news = self._news, {}
        return news


def _show(ray: Any, board: Board, whereabouts: Any, waiting: dict[str, Job]) -> None:
    # The actor may be on the node that was lost: it only informs, so nothing depends on its answer.
    with contextlib.suppress(ray.exceptions.RayError):
        for name, host in ray.get(whereabouts.news.remote(), timeout=_SECONDS_BETWEEN_LOOKS).items():
            if name in waiting:
                board.started(waiting[name], host)


def _ended(ray: Any, reference: Any, job: Job) -> Outcome:
    try:
        answer: Answer = ray.get(reference)
    except ray.exceptions.RayError as error:  # lost too often, or the node could not even begin
        return Outcome(job, "failed", 0.0, str(error).strip())
    if answer.packed is not None:
        unpack(answer.packed, job.folder)
    return answer.outcome


def _import() -> Any:
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")  # Ray's own future default
    try:
        import ray
    except ModuleNotFoundError as error:
        raise ValueError(f"on='ray' needs {error.name}: pip install 'proxact[cluster]'") from error
    return ray


@contextlib.contextmanager
def _connected(ray: Any, address: str | None) -> Iterator[None]:
    """Joined to the cluster, or to one that lasts as long as this; a connection that is there is used as it is."""
    if ray.is_initialized():
        yield
        return
    options: dict[str, Any] = {"log_to_driver": False, "logging_level": logging.ERROR}
    if address is None:
        options["include_dashboard"] = False
    try:
        ray.init(address or "local", **options)
    except Exception as error:  # a bare one where a node does not start
        wanted = "Ray did not start on this machine" if address is None else f"no Ray cluster at address {address!r}"
        raise ValueError(f"{wanted}: {error}") from error
    try:
        yield
    finally:
        ray.shutdown()


def _warn_if_too_large(ray: Any, board: Board, cpus: float, gpus: float) -> None:
    nodes = [node["Resources"] for node in ray.nodes() if node["Alive"]]
    if not any(node.get("CPU", 0) >= cpus and node.get("GPU", 0) >= gpus for node in nodes):
        there = "; ".join(f"{node.get('CPU', 0):g} and {node.get('GPU', 0):g}" for node in nodes)
        board.note(f"No node has {cpus:g} CPUs and {gpus:g} GPUs (there are {there}): waiting for one.")
