"""What the tests of sweeps share: the command as a user types it, and jobs that take no time."""

import subprocess
import sys
import textwrap
import time
from pathlib import Path

from proxact.sweep import Job

PROGRAM = (
    "import tyro; from proxact.sweep.command import runs, sweep\n"
    "tyro.extras.subcommand_cli_from_dict({'sweep': sweep, 'runs': runs}, prog='proxact')"
)
SMALL = ["--widths", "2:4", "--targets", "cone", "--samples", "2000", "--test-samples", "200"]


def command(*arguments):
    return [sys.executable, "-c", PROGRAM, "sweep", *map(str, arguments)]


def script(folder, name, text, **environment):
    """A job that runs a few lines of Python, without torch. ``folder`` is in ``sys.argv[1]``."""
    code = "import os, pathlib, sys, time; folder = pathlib.Path(sys.argv[1])\n" + textwrap.dedent(text)
    return Job(name, folder / name, (sys.executable, "-I", "-S", "-c", code, "{folder}"), environment)


def states(outcomes):
    return [outcome.state for outcome in outcomes]


def wait_for(condition, seconds=180, process=None):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "waited too long"
        assert process is None or process.poll() is None, process.communicate()
        time.sleep(0.01)


STARTED_BY_A_PROCESS = """
import sys; from pathlib import Path; sys.path.insert(0, {tests!r})
from sweep_cases import LEDGER, script; from proxact.sweep import execute
folder = Path(sys.argv[1])
execute([script(folder, f"job{{i}}", LEDGER, SECONDS=sys.argv[2]) for i in range(6)], workers=2)
"""
LEDGER = """
def note(word):
    with (folder.parent / "ledger").open("a") as file:
        file.write(f"{word} {folder.name} {os.getpid()}\\n")
note("began")
time.sleep(float(os.environ["SECONDS"]))
note("ended")
"""


def start_jobs(folder, seconds):
    code = STARTED_BY_A_PROCESS.format(tests=str(Path(__file__).parent))
    return subprocess.Popen([sys.executable, "-c", code, str(folder), str(seconds)], stdout=subprocess.DEVNULL)


def ledger(folder, word):
    path = folder / "ledger"
    lines = path.read_text().splitlines() if path.exists() else []
    return [line.split()[1:] for line in lines if line.startswith(word)]
