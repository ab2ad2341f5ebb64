"""Run folders: what every experiment writes, and how a killed one goes on.

A run is a folder with ``config.json``, ``metrics.jsonl`` (one row per epoch or evaluation) and, once it is finished,
``env.json`` and ``summary.json``. While it goes on there are also two checkpoints, the last and the one before.
"""

from __future__ import annotations

import fcntl
import hashlib
import importlib.util
import io
import json
import os
import signal
import time
import uuid
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import torch

from ..info import origin

_DIGEST_BYTES = hashlib.sha256().digest_size


class RunError(RuntimeError):
    """A run folder cannot be used as asked."""


class Interrupted(SystemExit):
    """Ctrl-C, after everything was saved."""


class Run:
    """One run folder, held by this process as long as the ``with`` block lasts.

    Example::

        with Run(folder, "fit", "mpu2", seed=1, config={"epochs": 50}) as run:
            if not run.is_finished:
                state = run.load() or {"epoch": 0, ...}
                while state["epoch"] < 50:
                    ...
                    run.log({"epoch": state["epoch"], "mse": mse})
                    run.save(state)
                run.finish({"mse": mse})
    """

    def __init__(self, folder: Path, experiment: str, activation: str, seed: int | list[int], config: dict) -> None:
        self.folder = Path(folder)
        self.rows: list[dict[str, Any]] = []
        self._identity = {"experiment": experiment, "activation": activation, "seed": seed, "config": as_json(config)}
        self._seconds_before = 0.0
        self._started = time.time()
        self._stop = False
        self._tensorboard: Any = None

    def __enter__(self) -> Run:
        self.folder.mkdir(parents=True, exist_ok=True)
        self._lock = _take_lock(self.folder)
        for torso in self.folder.glob("checkpoint.*.new"):  # of a process that was killed while it wrote
            torso.unlink()
        try:
            self._check_config()
        except RunError:
            _release_lock(self._lock)
            raise
        self._old_handler = _on_interrupt(self._request_stop)
        self._origin = origin()  # of the code that runs: the tree may change under a long run
        return self

    def __exit__(self, *_: object) -> None:
        if self._old_handler is not None:
            signal.signal(signal.SIGINT, self._old_handler)
        if self._tensorboard is not None:
            self._tensorboard.close()
        _release_lock(self._lock)

    @property
    def is_finished(self) -> bool:
        return (self.folder / "summary.json").exists()

    @property
    def summary(self) -> dict[str, Any]:
        return json.loads((self.folder / "summary.json").read_text())

    def load(self) -> dict[str, Any] | None:
        """The state of the last good checkpoint, or None. Rows logged after it are forgotten."""
        for name in ("checkpoint", "checkpoint-before"):
            found = _read_checkpoint(self.folder / name)
            if found is not None:
                self.rows = json.loads(found["rows"])
                self._seconds_before = found["seconds"]
                break
        else:
            self.rows, found = [], {"state": None}
        write_atomically(self.folder / "metrics.jsonl", "".join(json.dumps(row) + "\n" for row in self.rows))
        self._open_tensorboard()
        return found["state"]

    def log(self, row: dict[str, Any]) -> None:
        """One more row of the curve."""
        row = as_json(row)
        self.rows.append(row)
        with (self.folder / "metrics.jsonl").open("a") as file:
            file.write(json.dumps(row) + "\n")
        if self._tensorboard is not None:
            for name, value in row.items():
                if isinstance(value, (int, float)):
                    self._tensorboard.add_scalar(name, value, len(self.rows))

    def save(self, state: dict[str, Any]) -> None:
        """A checkpoint: tensors, numbers, strings, lists and dicts. After Ctrl-C this is where the run stops."""
        content = io.BytesIO()
        torch.save({"state": state, "rows": json.dumps(self.rows), "seconds": self.wall_seconds}, content)
        payload = content.getvalue()
        path = self.folder / "checkpoint"
        if path.exists():
            os.replace(path, self.folder / "checkpoint-before")
        write_atomically(path, hashlib.sha256(payload).digest() + payload)
        if self._stop:
            raise Interrupted(f"Stopped and saved in {self.folder}. The same command goes on from there.")

    def finish(self, metrics: dict[str, Any]) -> dict[str, Any]:
        """Write the summary; from now on the run counts as done."""
        place = {**self._origin, "wall_seconds": round(self.wall_seconds, 2)}
        write_atomically(self.folder / "env.json", json.dumps(place, indent=1) + "\n")
        summary = {**self._identity, "metrics": as_json(metrics), "curve": self.rows, **place}
        write_atomically(self.folder / "summary.json", json.dumps(summary, indent=1) + "\n")
        for name in ("checkpoint", "checkpoint-before"):
            (self.folder / name).unlink(missing_ok=True)
        return summary

    @property
    def wall_seconds(self) -> float:
        """Of this process and the ones before it, up to their last checkpoint."""
        return self._seconds_before + time.time() - self._started

    @property
    def stop_requested(self) -> bool:
        """After Ctrl-C: save soon."""
        return self._stop

    def _request_stop(self, _signal: int, _frame: FrameType | None) -> None:
        if self._stop:
            raise KeyboardInterrupt  # asked twice: at once, without saving
        self._stop = True
        print("\nStopping at the next checkpoint; Ctrl-C again stops at once.", flush=True)

    def _check_config(self) -> None:
        path = self.folder / "config.json"
        if not path.exists():
            write_atomically(path, json.dumps(self._identity, indent=1) + "\n")
            return
        found = json.loads(path.read_text())
        ours, theirs = ({**value, **value["config"], "config": None} for value in (self._identity, found))
        differing = sorted(key for key in {*ours, *theirs} if ours.get(key) != theirs.get(key))
        if differing:
            shown = ", ".join(f"{key}: {theirs.get(key)!r} there, {ours.get(key)!r} now" for key in differing)
            raise RunError(f"{self.folder} holds a run with another configuration ({shown}); choose another folder")

    def _open_tensorboard(self) -> None:
        if importlib.util.find_spec("tensorboard") is not None:
            from torch.utils.tensorboard import SummaryWriter

            self._tensorboard = SummaryWriter(self.folder / "tensorboard", purge_step=len(self.rows) + 1)


def as_json(value: Any) -> Any:
    """The value as it comes back from a JSON file."""
    return json.loads(json.dumps(value, default=str))


def write_atomically(path: Path, content: str | bytes) -> None:
    """The file has its old or its new content, whatever happens in between and whoever else writes it."""
    temporary = path.with_name(f"{path.name}.{uuid.uuid4().hex}.new")
    with temporary.open("wb") as file:
        file.write(content.encode() if isinstance(content, str) else content)
        file.flush()
        os.fsync(file.fileno())
    os.replace(temporary, path)


def read_summaries(folders: list[Path]) -> list[dict[str, Any]]:
    """The summaries of all finished runs in and below these folders, each with its ``folder``, in order.

    The same run in two places, say a folder and a copy of its summary, counts once.
    """
    missing = [str(folder) for folder in folders if not folder.exists()]
    if missing:
        raise RunError(f"no such folder: {', '.join(missing)}")
    paths = sorted({path for folder in folders for path in folder.rglob("summary.json")})
    found: dict[str, dict[str, Any]] = {}
    for path in paths:
        summary = json.loads(path.read_text())
        identity = json.dumps([summary[key] for key in ("experiment", "activation", "seed", "config")], sort_keys=True)
        found.setdefault(identity, {**summary, "folder": path.parent})
    return list(found.values())


def _read_checkpoint(path: Path) -> dict[str, Any] | None:
    if not path.exists():
        return None
    content = path.read_bytes()
    digest, payload = content[:_DIGEST_BYTES], content[_DIGEST_BYTES:]
    if hashlib.sha256(payload).digest() != digest:
        print(f"{path} is damaged; using the checkpoint before it.", flush=True)
        return None
    return torch.load(io.BytesIO(payload), weights_only=True)


def _take_lock(folder: Path) -> int:
    """Held until the process ends, however it ends."""
    handle = os.open(folder / "lock", os.O_RDWR | os.O_CREAT)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        owner = os.read(handle, 32).decode() or "unknown"
        os.close(handle)
        raise RunError(f"{folder} is in use by process {owner}; wait for it or choose another folder") from None
    os.ftruncate(handle, 0)
    os.write(handle, str(os.getpid()).encode())
    _held.add(handle)
    return handle


def _release_lock(handle: int) -> None:
    _held.discard(handle)
    os.close(handle)


def _forget_locks() -> None:
    """In a process forked from this one, such as a reader of pictures: it would hold the lock longer than its owner."""
    while _held:
        os.close(_held.pop())


_held: set[int] = set()
os.register_at_fork(after_in_child=_forget_locks)


def _on_interrupt(handler: Callable[[int, FrameType | None], None]) -> Any:
    try:
        return signal.signal(signal.SIGINT, handler)
    except ValueError:  # not the main thread: leave the signal alone
        return None
