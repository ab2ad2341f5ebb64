"""The C files' own tests under AddressSanitizer and UndefinedBehaviorSanitizer."""

import shutil
import subprocess
from pathlib import Path

import pytest

SOURCES = sorted((Path(__file__).parent / "c").glob("*_check.c"))
FLAGS = ["-O1", "-g", "-fno-omit-frame-pointer", "-fsanitize=address,undefined", "-fno-sanitize-recover", "-Wno-psabi"]


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("gcc") is None, reason="needs gcc")
@pytest.mark.parametrize("source", SOURCES, ids=[source.stem for source in SOURCES])
def test_sanitizers(source, tmp_path):
    program = tmp_path / source.stem
    subprocess.run(["gcc", *FLAGS, str(source), "-o", str(program), "-lm"], check=True, capture_output=True)
    result = subprocess.run([str(program)], capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stdout + result.stderr
    assert ", 0 failures" in result.stdout
