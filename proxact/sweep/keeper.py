"""The parent of one job's command: ``python keeper.py <pid of the starter> <folder> <command ...>``.

It holds the folder's lock, so that no two attempts run at a time, and says with ``done.json`` or ``failed.json`` how
the command ended, before it lets the lock go. When the starter is killed, the system kills the keeper, and then the
command: nothing of a killed sweep goes on beside the next one.

A script that imports the standard library alone: it starts in milliseconds, where the package takes seconds.
"""

from __future__ import annotations

import ctypes
import fcntl
import json
import os
import signal
import socket
import subprocess
import sys
import time
from types import FrameType

_PR_SET_PDEATHSIG = 1
_interrupted = False


def main(starter: int, folder: str, command: list[str]) -> int:
    die_with_parent()
    if os.getppid() != starter:
        return 1  # it was killed before we could ask to be told
    os.setpgid(0, 0)  # Ctrl-C in a terminal reaches the sweep alone, which passes it on
    lock = os.open(os.path.join(folder, "job.lock"), os.O_RDWR | os.O_CREAT)
    fcntl.flock(lock, fcntl.LOCK_EX)
    done, failed = (os.path.join(folder, name) for name in ("done.json", "failed.json"))
    if os.path.exists(done):
        return 0  # by the attempt we waited for
    signal.signal(signal.SIGINT, _note)
    if os.path.exists(failed):
        os.remove(failed)
    started = time.time()
    print(f"--- {time.strftime('%Y-%m-%d %H:%M:%S')} on {socket.gethostname()}", flush=True)
    try:
        code = subprocess.Popen(command, pass_fds=[lock], preexec_fn=die_with_parent).wait()
    except OSError as error:
        print(error, flush=True)
        code = 127
    about = {"seconds": round(time.time() - started, 2), "host": socket.gethostname(), "code": code}
    if code == 0 or not _interrupted:
        write(failed if code else done, about)
    return code if code >= 0 else 128 - code  # as a shell says that a signal ended it


def die_with_parent() -> None:
    if sys.platform == "linux":  # elsewhere the lock alone keeps attempts apart
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def write(path: str, about: dict[str, object]) -> None:
    with open(path + ".new", "w") as file:
        json.dump(about, file)
        file.flush()
        os.fsync(file.fileno())
    os.replace(path + ".new", path)


def _note(_signal: int, _frame: FrameType | None) -> None:
    """Ctrl-C: the command gets it too, and saves. It has not failed then."""
    global _interrupted
    _interrupted = True


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]), sys.argv[2], sys.argv[3:]))
