"""Pictures and commands that several tests on pictures share."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np

LAUNCHER = (
    "import sys, tyro\nfrom proxact.experiments.vision import command\ntyro.cli(getattr(command, sys.argv.pop(1)))\n"
)
SHARED = Path(__file__).parents[2] / "shared" / "data"
VARYING = ("images_per_second", "wall_seconds")


def make_folders(folder, classes=4, train=16, val=5):
    """train/<class>/*.JPEG and val/<class>/*.JPEG, each class with its colour."""
    from PIL import Image

    random = np.random.default_rng(0)
    for split, count in (("train", train), ("val", val)):
        for label in range(classes):
            place = folder / split / f"class{label}"
            place.mkdir(parents=True)
            for i in range(count):
                pixels = random.integers(0, 120, (40, 48, 3)) + np.array([40 * label, 120 - 30 * label, 60])
                Image.fromarray(pixels.clip(0, 255).astype(np.uint8)).save(place / f"{i}.JPEG")
    return folder


def launcher(folder):
    path = folder / "launch.py"
    path.write_text(LAUNCHER)
    return str(path)


def alone(folder, *arguments):
    return [sys.executable, launcher(folder), *map(str, arguments)]


def with_torchrun(folder, *arguments, restarts=0):
    options = ["--nproc-per-node", "2", "--max-restarts", str(restarts), "--standalone"]
    return [sys.executable, "-m", "torch.distributed.run", *options, launcher(folder), *map(str, arguments)]


def environment():
    """One thread; malloc's settings, else the command would start itself again as ``proxact``."""
    malloc = {"MALLOC_MMAP_THRESHOLD_": "4294967296", "MALLOC_TRIM_THRESHOLD_": "17179869184"}
    store = {"TORCH_DISABLE_SHARE_RDZV_TCP_STORE": "1"}  # with a shared store a restart hangs now and then
    return {**os.environ, **malloc, **store, "OMP_NUM_THREADS": "1"}


def finished(process, seconds=200):
    """What the process printed; it is killed if it does not end in time."""
    try:
        return process.communicate(timeout=seconds)[0]
    except subprocess.TimeoutExpired:
        for pid in (process.pid, *workers_of(process.pid)):
            os.kill(pid, signal.SIGKILL)
        raise AssertionError(f"still running after {seconds} s: {process.communicate()[0]}") from None


def workers_of(pid):
    """The processes that torchrun started."""
    listed = subprocess.run(["ps", "-o", "pid=", "--ppid", str(pid)], capture_output=True, text=True, check=False)
    return [int(child) for child in listed.stdout.split()]


def only(folder, name):
    """The one file of this name below the folder, or None."""
    found = list(Path(folder).rglob(name))
    assert len(found) <= 1
    return found[0] if found else None


def results(folder):
    """The summary without what depends on the clock."""
    summary = json.loads(only(folder, "summary.json").read_text())
    curve = [{k: v for k, v in row.items() if k not in VARYING} for row in summary["curve"]]
    metrics = {k: v for k, v in summary["metrics"].items() if k not in VARYING}
    return {**summary, "curve": curve, "metrics": metrics, "wall_seconds": None, "date": None, "commit": None}
