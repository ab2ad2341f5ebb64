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
