"""Sweeps: what is planned, that each run is done once whatever is killed, and that what fails is told."""

import importlib.util
import io
import json
import shlex
import subprocess
import sys
from pathlib import Path

import psutil
import pytest
import torch
from rich.console import Console
from sweep_cases import SMALL, command, ledger, script, start_jobs, states, wait_for

from proxact.experiments import fit
from proxact.experiments.vision import command as vision
from proxact.report import build
from proxact.report.fit_runs import merged, overall
from proxact.sweep import Job, Outcome, execute
from proxact.sweep.board import Board
from proxact.sweep.local import cores, share_of
from proxact.sweep.packing import pack, unpack
from proxact.sweep.plan import parse, parse_seeds

# What is planned


def test_every_combination_is_a_job():
    sweep = parse("fit", "relu,mpu2", "0:2", ["targets=cone,leaky_relu", "learn_angle=true,false"], ["--epochs", "3"])
    jobs = sweep.jobs(Path("s"))
    assert len(jobs) == 2 * 2 * 2 * 2
    assert len({job.folder for job in jobs}) == 16
    assert [job.name for job in jobs[:3]] == [
        "targets=cone/learn_angle=true/relu/seed0",
        "targets=cone/learn_angle=true/mpu2/seed0",
        "targets=cone/learn_angle=false/relu/seed0",
    ]
    flags = "--activations mpu2 --seeds 0 --targets cone --learn-angle --epochs 3 --runs {folder}"
    assert jobs[1].command == (sys.executable, "-m", "proxact", "fit", *flags.split())
    assert "--no-learn-angle" in jobs[2].command
    assert jobs[1].command_in(Path("/x y"))[-1] == "/x y"


def test_pictures_are_decoded_once_for_all_jobs(tmp_path, monkeypatch, capsys):
    pytest.importorskip("lightning")
    from test_vision_data import write_batches

    job = parse("cifar10", "relu", "1", ["epochs=20"]).jobs(tmp_path)[0]
    filled = job.command_in(job.folder)
    assert filled[filled.index("--cache") + 1] == str(tmp_path)
    monkeypatch.setattr("proxact.experiments.cifar10.run", lambda *_: None)
    monkeypatch.setattr("proxact.bench.timing.keep_freed_memory", lambda: None)  # starts the process again
    (tmp_path / "data").mkdir()
    write_batches(tmp_path / "data")
    for name in ("a", "b"):
        vision.cifar10("cpu", ("relu",), (1,), str(tmp_path / "data"), runs=tmp_path / name, cache=tmp_path / "shared")
    assert capsys.readouterr().out.count("Decoding") == 1
    assert (tmp_path / "shared/decoded").exists()
    assert not (tmp_path / "a/decoded").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["fit", "rleu", "0:2"], "got 'rleu'; near ones: relu"),
        (["fit", "relu,", "0:2"], "activations must be values with commas between"),
        (["fit", "relu", "a"], "seeds must be start:stop, such as 0:5, or numbers"),
        (["fit", "relu", "5:2"], "seeds must not be empty"),
        (["fit", "relu", "0:5:0"], "step of 1 or more"),
        (["fit", "relu", "0", ["epoch=3"]], "fit takes epochs, grid_search, learn_angle.* got 'epoch'; did you mean"),
        (["fit", "relu", "0", ["seeds=3"]], "has a flag of the sweep"),
        (["fit", "relu", "0", ["epochs"]], "grid must be key=value"),
        (["fit", "relu", "0", ["learn_angle=maybe"]], "learn_angle must be true or false, got 'maybe'"),
        (["fit", "relu", "0", ["widths=5"]], "widths must be start:stop"),
        (["fit", "relu", "0", [], ["--seeds", "3"]], "must not contain --seeds: the sweep sets it"),
        (["fit", "relu", "0", ["epochs=3"], ["--epochs=4"]], "must not contain --epochs=4"),
        (["ant", "relu", "0", ["minibatch=7"]], "minibatch must divide"),
        (["cifar10", "relu", "0", ["width=4"]], "width must be at least 8"),
        (["imagenet", "relu", "0", ["micro_batch=7"]], "micro_batch must divide"),
    ],
)
def test_what_is_wrong_is_told_before_anything_runs(arguments, message):
    with pytest.raises(ValueError, match=message):
        parse(*arguments)


@pytest.mark.parametrize(
    ("grid", "message"), [("epochs=many", "Error parsing --epochs"), ("targets=cube", "invalid choice 'cube'")]
)
def test_wrong_values_are_told_as_the_experiment_tells_them(grid, message, capsys):
    with pytest.raises(SystemExit) as stopped:
        parse("fit", "relu", "0", [grid])
    assert stopped.value.code == 2
    captured = capsys.readouterr()
    assert message in captured.out + captured.err


def test_seeds():
    assert parse_seeds("0:5") == (0, 1, 2, 3, 4)
    assert parse_seeds("1:8:3") == (1, 4, 7)
    assert parse_seeds("3,1,3") == (3, 1)


def test_a_folder_can_be_extended_but_not_turned_into_another_sweep(tmp_path):
    parse("fit", "relu", "0:2", ["epochs=3"]).write(tmp_path)
    parse("fit", "mpu2", "1:4", ["epochs=4"]).write(tmp_path)
    about = json.loads((tmp_path / "sweep.json").read_text())
    assert about["activations"] == ["relu", "mpu2"]
    assert about["seeds"] == [0, 1, 2, 3]
    assert about["grid"] == {"epochs": ["3", "4"]}
    with pytest.raises(ValueError, match="holds a sweep of fit, not of ant; choose another folder"):
        parse("ant", "relu", "0").write(tmp_path)


# Jobs, with commands that take no time


def test_finished_jobs_are_skipped_and_failed_ones_run_again(tmp_path):
    good = script(tmp_path, "good", "print('well', os.environ['WORD'])", WORD="done")
    bad = script(tmp_path, "bad", "print('x' * 9, flush=True)\nif not (folder / 'help').exists(): sys.exit('it broke')")
    outcomes = execute([bad, good])
    assert states(outcomes) == ["failed", "finished"]
    assert outcomes[0].last_lines.endswith("xxxxxxxxx\nit broke")
    assert "well done" in (good.folder / "log.txt").read_text()
    assert json.loads((bad.folder / "failed.json").read_text())["code"] == 1
    by_hand = subprocess.run(bad.repeat, shell=True, capture_output=True, text=True)
    assert (by_hand.returncode, by_hand.stderr) == (1, "it broke\n")
    (bad.folder / "help").touch()
    assert states(execute([bad, good])) == ["finished", "skipped"]
    assert not (bad.folder / "failed.json").exists()
    assert states(execute([bad, good])) == ["skipped", "skipped"]
    missing = Job("missing", tmp_path / "missing", ("no-such-program",))
    assert "No such file or directory: 'no-such-program'" in execute([missing])[0].last_lines


def test_a_folder_of_another_command_is_refused(tmp_path):
    execute([script(tmp_path, "a", "pass"), script(tmp_path, "b", "sys.exit(1)")])
    with pytest.raises(ValueError, match=r"a holds a run of another command; choose another folder"):
        execute([script(tmp_path, "a", "print()")])
    assert states(execute([script(tmp_path, "b", "pass")])) == ["finished"]  # nothing was reached there
    with pytest.raises(ValueError, match="jobs must have different names, got twice: a"):
        execute([script(tmp_path, "a", "pass")] * 2)


def test_the_machine_is_divided_among_the_workers(tmp_path, monkeypatch):
    jobs = [script(tmp_path, name, "print('threads', os.environ['OMP_NUM_THREADS'])") for name in "abc"]
    execute(jobs, workers=2)
    for job in jobs:
        assert f"threads {max(1, cores() // 2)}\n" in (job.folder / "log.txt").read_text()
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 4)
    assert [share_of(worker, 3, 1)["CUDA_VISIBLE_DEVICES"] for worker in range(3)] == ["0", "1", "2"]
    assert [share_of(worker, 3, 2)["CUDA_VISIBLE_DEVICES"] for worker in range(3)] == ["0,1", "2,3", "0,1"]
    assert "CUDA_VISIBLE_DEVICES" not in share_of(0, 3, 0)


NAMES = [f"job{i}" for i in range(6)]


def test_two_sweeps_on_one_folder_do_each_job_once(tmp_path):
    with start_jobs(tmp_path, 0.5) as first, start_jobs(tmp_path, 0.5) as second:
        assert (first.wait(), second.wait()) == (0, 0)
    for word in ("began", "ended"):
        assert sorted(name for name, _ in ledger(tmp_path, word)) == NAMES


def test_nothing_goes_on_when_the_sweep_is_killed_and_the_next_one_does_the_rest(tmp_path):
    with start_jobs(tmp_path, 2) as sweep:
        wait_for(lambda: len(ledger(tmp_path, "began")) == 4, process=sweep)  # two jobs are finished
        pids = [int(pid) for _, pid in ledger(tmp_path, "began")]
        sweep.kill()
    wait_for(lambda: not any(map(psutil.pid_exists, pids)), seconds=10)
    assert len(list(tmp_path.rglob("done.json"))) == len(ledger(tmp_path, "ended")) == 2
    assert not list(tmp_path.rglob("failed.json"))
    with start_jobs(tmp_path, 0) as sweep:
        assert sweep.wait() == 0
    assert sorted(name for name, _ in ledger(tmp_path, "ended")) == NAMES
    assert len(ledger(tmp_path, "began")) == 6 + 2  # those that were killed began again


def test_a_folder_travels(tmp_path):
    (tmp_path / "from/deep").mkdir(parents=True)
    for name in ("done.json", "deep/summary.json", "deep/checkpoint", "deep/lock", "job.json", "x.new", "failed.json"):
        (tmp_path / "from" / name).write_text(name)

    def names(folder):
        return {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}

    (tmp_path / "from/done.json").unlink()
    unpack(pack(tmp_path / "from", whole=True), tmp_path / "to")
    assert names(tmp_path / "to") == {"deep/summary.json", "deep/checkpoint", "failed.json"}
    (tmp_path / "from/done.json").write_text("{}")
    (tmp_path / "from/failed.json").unlink()
    unpack(pack(tmp_path / "from", whole=False), tmp_path / "to")  # and what told of a failure is gone
    assert names(tmp_path / "to") == {"done.json", "deep/summary.json"}


def test_the_board_in_a_terminal_and_in_a_file(tmp_path):
    jobs = [script(tmp_path, name, "pass") for name in ("targets=leaky_relu/learn_angle=true/mpu2/seed0", "b", "c")]
    jobs[0].folder.mkdir(parents=True)
    (jobs[0].folder / "log.txt").write_text("fit leaky_relu/mpu2: 7/50 mse 1e-3, 12 s left [bold]\n" * 3)
    for terminal in (True, False):
        out = io.StringIO()
        with Board(jobs, Console(file=out, force_terminal=terminal, width=80)) as board:
            board.started(jobs[0])
            board.ended(Outcome(jobs[1], "failed", 3.0, "one\nthe [reason]"))
            assert board.summary().startswith("3 runs: 1 failed, 1 running, 1 waiting; about ")
        assert max(map(len, out.getvalue().splitlines())) < (200 if terminal else 80)  # with colours
        if terminal:
            assert "7/50" in out.getvalue()
            assert "the [reason]" in out.getvalue()
        else:
            assert out.getvalue() == "1/3 failed b in 3 s\n"


@pytest.mark.skipif(importlib.util.find_spec("submitit") is None, reason="needs submitit")
def test_slurm_by_submitits_local_executor(tmp_path):
    """The same code as under Slurm, which is not here to be tested with."""
    good, bad = script(tmp_path, "good", "print('well')"), script(tmp_path, "bad", "sys.exit('it broke')")
    code = f"""
import sys; sys.path.insert(0, {str(Path(__file__).parent)!r})
from pathlib import Path; from sweep_cases import script; from proxact.sweep import execute
jobs = [script(Path({str(tmp_path)!r}), *pair) for pair in (("good", "print('well')"), ("bad", "sys.exit('it broke')"))]
print([(one.state, one.last_lines[-8:]) for one in execute(jobs, on="slurm", slurm={{"cluster": "local"}})])
"""
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert out.splitlines()[-1] == "[('finished', ''), ('failed', 'it broke')]"
    assert states(execute([good])) == ["skipped"]
    assert not list(tmp_path.rglob("slurm.json"))
    assert not bad.is_finished


def test_a_failed_run_is_told_with_its_last_lines_and_its_command(tmp_path):
    folder = tmp_path / "a sweep"
    (folder / "relu/seed1").mkdir(parents=True)
    (folder / "relu/seed1/fit").write_text("a file where a folder has to be")
    arguments = ["--activations", "relu", "--seeds", "1", "--runs", folder, "--", *SMALL, "--epochs", "1"]
    done = subprocess.run(command("fit", *arguments), capture_output=True, text=True)
    assert done.returncode == 1
    assert "0 finished, 0 skipped, 1 failed" in done.stdout
    assert "relu/seed1 failed. The last lines of" in done.stderr
    assert "NotADirectoryError" in done.stderr
    repeat = shlex.split(done.stderr.split("To repeat it:\n")[1])
    assert repeat[:4] == [sys.executable, "-m", "proxact", "fit"]
    assert repeat[-1] == str(folder / "relu/seed1")


def test_the_report_puts_the_seeds_of_a_sweep_together(tmp_path):
    def train(activation, seeds, place):
        config = fit.Fit(activation, "cone", (2, 3), seeds, 2, samples=300, test_samples=100)
        return fit.run(config, tmp_path / place / activation / str(seeds))

    parts = [train(activation, (seed,), "sweep") for seed in (2, 0, 1) for activation in ("relu", "mpu2")]
    whole = train("mpu2", (0, 1, 2), "whole")
    _, one = merged(parts)
    assert one["activation"] == "mpu2"
    assert one["seed"] == one["config"]["seeds"] == [0, 1, 2]
    assert overall(one) == pytest.approx(overall(whole), rel=1e-4)
    _, same = merged([*parts, train("mpu2", (1, 2), "more")])  # a seed that is there twice counts once
    assert same["metrics"] == one["metrics"]
    page, findings = build([tmp_path / "sweep"], tmp_path / "page")
    assert "mpu2 is number" in findings[0]
    assert "seeds [0, 1, 2]" in page.read_text()
