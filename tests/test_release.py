"""What is published: an archive of sources and a wheel, which run the README with no compiler about."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

import proxact

ROOT = Path(__file__).parent.parent
COMPILED = {".c", ".h"}
pytestmark = pytest.mark.slow  # make test-all gives a file to one worker: one archive for all of them
pytest.importorskip("build")


def run(*command, folder, **environment):
    done = subprocess.run(command, cwd=folder, env={**os.environ, **environment}, capture_output=True, text=True)
    assert done.returncode == 0, f"{command}\n{done.stdout[-3000:]}\n{done.stderr[-3000:]}"
    return done.stdout


def listed():
    """Files of the package, as far as they are under version control."""
    return [Path(line) for line in run("git", "ls-files", "proxact", folder=ROOT).splitlines()]


@pytest.fixture(scope="module")
def sources(tmp_path_factory):
    """The archive of sources, made from a copy so that nothing is left in the tree."""
    out = tmp_path_factory.mktemp("sources")
    copy = tmp_path_factory.mktemp("copy")
    tracked = run("git", "ls-files", "-z", "proxact", "*.md", "*.toml", "*.py", "*.in", "LICENSE", "*.cff", folder=ROOT)
    for name in tracked.rstrip("\0").split("\0"):
        if (ROOT / name).exists():
            (copy / name).parent.mkdir(parents=True, exist_ok=True)
            (copy / name).write_bytes((ROOT / name).read_bytes())
    run(sys.executable, "-m", "build", "--no-isolation", "--sdist", "--outdir", str(out), folder=copy)
    (archive,) = out.glob("*.tar.gz")
    return archive


def unpacked(archive, out):
    with tarfile.open(archive) as file:
        file.extractall(out, filter="data")
    return out / archive.name.removesuffix(".tar.gz")


def wheel_of(sources, out, **environment):
    """A wheel from the archive of sources, unpacked, as an installer does."""
    build = (sys.executable, "-m", "build", "--no-isolation", "--wheel", "--outdir", str(out))
    run(*build, folder=unpacked(sources, out), **environment)
    (wheel,) = out.glob("*.whl")
    with zipfile.ZipFile(wheel) as file:
        file.extractall(out / "site")
    return wheel, out / "site"


def readme(site, folder):
    """Run the README's Python with this installation and no program on the path; returns its backend."""
    blocks = re.findall(r"^```python\n(.*?)^```$", (ROOT / "README.md").read_text(), re.DOTALL | re.MULTILINE)
    assert len(blocks) >= 3
    show = "import proxact, proxact.info\nprint(proxact.__file__, proxact.info.facts()['backend'], sep='\\n')\n"
    (folder / "readme.py").write_text("\n".join([*blocks, show]))
    empty = folder / "no-programs"
    empty.mkdir()
    printed = run(sys.executable, "readme.py", folder=folder, PYTHONPATH=str(site), PATH=str(empty), CC="", CXX="")
    file, backend = printed.splitlines()[-2:]
    assert Path(file).is_relative_to(site)
    return backend


def test_sources_are_whole(sources, tmp_path):
    folder = unpacked(sources, tmp_path)
    found = {path.relative_to(folder) for path in folder.rglob("*") if path.is_file()}
    missing = {*listed(), Path("README.md"), Path("CHANGELOG.md"), Path("CITATION.cff"), Path("LICENSE")} - found
    assert not missing
    assert not [path for path in found if path.parts[0] == "tests"]


def test_wheel(sources, tmp_path):
    wheel, site = wheel_of(sources, tmp_path)
    assert wheel.name.startswith(f"proxact-{proxact.__version__}-cp310-abi3-")
    missing = [path for path in listed() if path.suffix not in COMPILED and not (site / path).exists()]
    assert not missing
    assert (site / "proxact" / "py.typed").exists()
    assert readme(site, tmp_path).startswith("c ")


def test_sources_without_a_compiler(sources, tmp_path):
    """The install succeeds, without the kernel."""
    nothing = str(tmp_path / "no-compiler")
    _, site = wheel_of(sources, tmp_path / "out", CC=nothing, CXX=nothing)
    assert not list(site.rglob("*.so"))
    assert not readme(site, tmp_path).startswith("c ")


def test_versions_agree():
    assert f"version: {proxact.__version__}\n" in (ROOT / "CITATION.cff").read_text()
