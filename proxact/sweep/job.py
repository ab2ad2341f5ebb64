"""What is run: a command with a folder of its own."""

from __future__ import annotations

import json
import os
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from ..experiments.runs import write_atomically

# The keeper, which imports nothing of ours, writes these too.
DONE, FAILED, LOG = "done.json", "failed.json", "log.txt"
ABOUT = "job.json"
FOLDER = "{folder}"
_SHOWN_LINES = 15


@dataclass(frozen=True)
class Job:
    """A command and its folder, in which it finds what an earlier attempt left.

    Args:
        name: the folder below the sweep's, such as ``mpu2/seed0``.
        folder: for ``log.txt``, ``job.json``, ``done.json`` and what the command writes.
        command: ``{folder}`` in an argument becomes the folder where it runs, which is a scratch folder on a node of a
            cluster that does not see ``folder``.
        environment: added to the variables of this process.
    """

    name: str
    folder: Path
    command: tuple[str, ...]
    environment: Mapping[str, str] = field(default_factory=dict)

    @property
    def is_finished(self) -> bool:
        """Whether it ended with exit code 0."""
        return (self.folder / DONE).exists()

    @property
    def repeat(self) -> str:
        """What to type into a shell to run it by hand."""
        variables = [f"{name}={shlex.quote(value)}" for name, value in self.environment.items()]
        return " ".join([*variables, shlex.join(self.command_in(self.folder))])

    def command_in(self, folder: Path) -> list[str]:
        return [_filled(argument, folder.absolute()) for argument in self.command]

    def describe(self, token: str) -> None:
        """Write ``job.json``. Who finds the token there sees the same disk."""
        self.folder.mkdir(parents=True, exist_ok=True)
        about = {"name": self.name, "command": self.command, "environment": dict(self.environment), "token": token}
        write_atomically(self.folder / ABOUT, json.dumps(about, indent=1) + "\n")

    def is_seen_by(self, token: str) -> bool:
        return read(self.folder / ABOUT).get("token") == token

    def check(self) -> None:
        """A folder with results of another command is refused; one in which nothing was reached is taken over."""
        command = read(self.folder / ABOUT).get("command")
        # Another Python is no other command.
        if command is None or command[1:] == list(self.command[1:]):
            return
        if self.is_finished or any(self.folder.rglob("config.json")):
            there, now = shlex.join(command[1:]), shlex.join(self.command[1:])
            raise ValueError(f"{self.folder} holds a run of another command; choose another folder\n{there}\n{now}")


@dataclass(frozen=True)
class Outcome:
    """How a job ended. ``last_lines`` of its log are there if it failed."""

    job: Job
    state: Literal["finished", "skipped", "failed"]
    seconds: float = 0.0
    last_lines: str = ""


def read(path: Path) -> dict[str, Any]:
    """A JSON file, or nothing."""
    try:
        return json.loads(path.read_text())
    except (FileNotFoundError, NotADirectoryError):
        return {}


def last_lines(folder: Path, count: int = _SHOWN_LINES) -> str:
    path = folder / LOG
    if not path.exists():
        return ""
    with path.open("rb") as file:
        file.seek(max(0, path.stat().st_size - 20_000))
        lines = file.read().decode(errors="replace").splitlines()
    return "\n".join(lines[-count:])


def _filled(argument: str, folder: Path) -> str:
    filled = argument.replace(FOLDER, str(folder))
    return os.path.normpath(filled) if argument.startswith(f"{FOLDER}/") else filled
