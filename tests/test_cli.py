"""The command line, as a user starts it."""

import subprocess
import sys

import proxact


def run(*arguments):
    return subprocess.run(
        [sys.executable, "-m", "proxact", *arguments], capture_output=True, text=True, check=True, timeout=120
    ).stdout


def test_info():
    out = run("info")
    assert proxact.__version__ in out
    assert "backend" in out
    assert "threads" in out


def test_plot(tmp_path):
    out = run("plot", "--out", str(tmp_path))
    for name in ("field.png", "cone.png"):
        assert name in out
        assert (tmp_path / name).stat().st_size > 10_000


def test_core_needs_only_torch():
    """Importing the library loads neither the command line nor the plots."""
    code = "import sys, proxact; print([m for m in ('tyro', 'rich', 'matplotlib') if m in sys.modules])"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert out.strip() == "[]"


def test_cost():
    assert "The paper prints 71.54G." in run("cost", "resnet18", "--activation", "mpu3", "--batch", "128")


def test_explore(tmp_path):
    run("explore", "--out", str(tmp_path / "explorer.html"))
    assert "<html" in (tmp_path / "explorer.html").read_text()


def test_verify():
    assert "51 of 51 hold" in run("verify")


def test_verify_exits_1_when_a_claim_fails():
    code = (
        "import dataclasses, sys; from proxact import theory; from proxact.__main__ import main\n"
        "broken = dataclasses.replace(theory.CLAIMS[0], residual=lambda **_: 1.0)\n"
        "theory.verify_all.__defaults__ = ([broken], [])\n"
        "sys.argv = ['proxact', 'verify']; main()"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True).returncode == 1


def test_fit_tells_what_is_wrong():
    for arguments, message in (
        (["--activations", "rleu"], "got 'rleu'; near ones: relu"),
        (["--widths", "5"], "widths must be start:stop"),
    ):
        done = subprocess.run([sys.executable, "-m", "proxact", "fit", *arguments], capture_output=True, text=True)
        assert done.returncode == 1
        assert message in done.stderr
        assert "Traceback" not in done.stderr


def test_fit_and_report(tmp_path):
    small = ["--widths", "2:5", "--epochs", "1", "--samples", "300", "--test-samples", "100"]
    run("fit", "--activations", "relu", "mpu2", *small, "--runs", str(tmp_path / "runs"))
    out = run("report", str(tmp_path / "runs"), "--out", str(tmp_path / "page"))
    assert "mpu2 is number" in out
    assert (tmp_path / "page/index.html").exists()
