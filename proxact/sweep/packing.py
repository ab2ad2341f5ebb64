"""A job's folder as bytes, to send from one machine to another."""

from __future__ import annotations

import io
import tarfile
from pathlib import Path

from ..experiments.runs import write_atomically
from .job import ABOUT, DONE, FAILED

_NOT_SENT = ("job.lock", "lock", ABOUT)


def pack(folder: Path, *, whole: bool) -> bytes:
    """Everything but what belongs to one machine and half-written files; checkpoints only if ``whole``."""
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w:gz", compresslevel=1) as archive:
        for path in sorted(folder.rglob("*")):
            left_out = path.name in _NOT_SENT or path.suffix == ".new"
            if path.is_file() and not left_out and (whole or not path.name.startswith("checkpoint")):
                archive.add(path, str(path.relative_to(folder)), recursive=False)
    return content.getvalue()


def unpack(packed: bytes, folder: Path) -> None:
    """``done.json`` appears when everything else is there, and nothing that tells of a stop is left."""
    folder.mkdir(parents=True, exist_ok=True)
    with tarfile.open(fileobj=io.BytesIO(packed)) as archive:
        members = {member.name: member for member in archive.getmembers()}
        done = members.pop(DONE, None)
        archive.extractall(folder, members.values(), filter="data")
        if done is not None:
            for name in ("checkpoint", "checkpoint-before", FAILED):
                for path in folder.rglob(name):
                    path.unlink()
            file = archive.extractfile(done)
            assert file is not None
            write_atomically(folder / DONE, file.read())
