"""The C file's own test under AddressSanitizer and UndefinedBehaviorSanitizer."""

import shutil
import subprocess
from pathlib import Path

import pytest

SOURCE = Path(__file__).parent / "c" / "cone_check.c"
FLAGS = ["-O1", "-g", "-fno-omit-frame-pointer", "-fsanitize=address,undefined", "-fno-sanitize-recover", "-Wno-psabi"]


@pytest.mark.skipif(shutil.which("gcc") is None, reason="needs gcc")
def test_sanitizers(tmp_path):
    program = tmp_path / "cone_check"
    subprocess.run(["gcc", *FLAGS, str(SOURCE), "-o", str(program), "-lm"], check=True, capture_output=True)
    result = subprocess.run([str(program)], capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stdout + result.stderr
    assert "0 failures" in result.stdout
