"""Sweeps on a real Ray cluster on this machine, of a head and a second node, which is killed."""

import contextlib
import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path

import psutil
import pytest
from sweep_cases import SMALL, command, wait_for
from test_sweep_killed import check_against_this_process

from proxact.sweep import Job
from proxact.sweep.on_ray import scratch_folder

pytestmark = pytest.mark.skipif(importlib.util.find_spec("ray") is None, reason="needs ray")

# Ray lives in processes of its own: its warnings and its threads are none of pytest's.
CLUSTER = """
import json, sys
from ray.cluster_utils import Cluster
# A lost node is noticed in 2 seconds instead of 15.
config = {"health_check_period_ms": 400, "health_check_failure_threshold": 5, "health_check_initial_delay_ms": 0}
options = {"num_cpus": 1, "object_store_memory": 100 * 2**20, "include_dashboard": False}
cluster = Cluster(initialize_head=True, head_node_args={**options, "_system_config": config})
second = cluster.add_node(**options)
raylet = second.all_processes["raylet"][0].process.pid
print(json.dumps({"address": cluster.address, "raylet": raylet}), flush=True)
sys.stdin.read()
cluster.shutdown()
"""
ENVIRONMENT = {
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_enable_metrics_collection": "0",
}


@pytest.fixture
def cluster():
    """The address of a head and another node of one CPU each, and the process that is the second one's."""
    arguments = [sys.executable, "-c", CLUSTER]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen(arguments, **pipes, text=True, env={**os.environ, **ENVIRONMENT}) as process:
        yield json.loads(process.stdout.readline())
        process.communicate(timeout=60)


def trains_on(raylet):
    """Whether a job on this node has trained for a few epochs."""
    for process in psutil.Process(raylet).children(recursive=True):
        with contextlib.suppress(psutil.Error):
            words = process.cmdline()
            if any(word.endswith("keeper.py") for word in words) and "--runs" in words:
                folder = Path(words[words.index("--runs") + 1])
                if any(path.read_text().count("\n") > 2 for path in folder.rglob("metrics.jsonl")):
                    return True
    return False


def kill_node(raylet):
    """Ray's processes of this node. The jobs are not among them: they must die by themselves."""
    node = psutil.Process(raylet)
    for process in [node, *node.children()]:
        process.kill()


@pytest.mark.slow
@pytest.mark.parametrize("scratch", [False, True], ids=["folder seen", "scratch"])
def test_a_node_is_killed_and_all_runs_end_right(tmp_path, cluster, scratch):
    folder, epochs = tmp_path / "sweep", 100
    sweep = command("fit", "--activations", "relu,mpu2", "--seeds", "0:2", "--runs", folder, "--on", "ray")
    sweep += ["--address", cluster["address"], *["--scratch"] * scratch, "--", *SMALL, "--epochs", str(epochs)]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen(sweep, **pipes, text=True, env={**os.environ, **ENVIRONMENT}) as process:
        wait_for(lambda: trains_on(cluster["raylet"]), process=process)
        kill_node(cluster["raylet"])
        out, errors = process.communicate(timeout=600)
    assert process.returncode == 0, out + errors
    assert "4 finished, 0 skipped, 0 failed" in out
    logs = [path.read_text() for path in folder.rglob("log.txt")]
    attempts = sorted(log.count("--- ") for log in logs)
    assert attempts == [1, 1, 1, 2]  # the one that was on the lost node was begun again
    check_against_this_process(folder, tmp_path, ["relu", "mpu2"], [0, 1], epochs)
    assert not list(folder.rglob("checkpoint*"))
    assert not scratch_folder(Job("job", folder / "job", ())).parent.exists()


STARTED_HERE = """
import sys; sys.path.insert(0, {tests!r})
from pathlib import Path; from sweep_cases import script; from proxact.sweep import execute
folder = Path(sys.argv[1])
work = "(folder / 'checkpoint').write_text('half'); (folder / 'deep').mkdir(); (folder / 'deep/result').write_text('7')"
(folder / "begun").mkdir(parents=True)
(folder / "begun/checkpoint").write_text("half")
jobs = [
    script(folder, "good", work),
    script(folder, "bad", work + "; sys.exit('it broke')"),
    script(folder, "begun", "assert (folder / 'checkpoint').read_text() == 'half'"),
]
print([(outcome.state, outcome.last_lines[-8:]) for outcome in execute(jobs, on="ray", scratch=True)])
"""


def test_results_come_back_from_scratch_folders(tmp_path):
    """Without an address Ray is started here. A failed job brings its checkpoint back, one that was begun takes it."""
    code, folder = STARTED_HERE.format(tests=str(Path(__file__).parent)), tmp_path / "s"
    arguments = [sys.executable, "-c", code, str(folder)]
    done = subprocess.run(arguments, capture_output=True, text=True, env={**os.environ, **ENVIRONMENT})
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == "[('finished', ''), ('failed', 'it broke'), ('finished', '')]"
    assert (folder / "good/deep/result").read_text() == "7"
    assert (folder / "bad/deep/result").read_text() == "7"
    assert [path.parent.name for path in folder.rglob("checkpoint")] == ["bad"]
    assert not scratch_folder(Job("good", folder / "good", ())).parent.exists()
