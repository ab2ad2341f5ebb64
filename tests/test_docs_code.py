"""The README and the documents are true: Python blocks run and print what they say, commands are accepted.

The blocks of a page share their names, in order, in an empty folder. A ``text`` block right after one is its output,
up to spaces, ``...`` and two percent of a number.
"""

from __future__ import annotations

import contextlib
import doctest
import functools
import io
import re
import shlex
import sys
import types
from pathlib import Path

import pytest
import torch
import tyro

import proxact
from proxact import __main__ as cli
from proxact.bench import timing
from proxact.experiments.vision.presets import RECIPES

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted(ROOT.glob("docs/**/*.md"))]
FENCE = re.compile(r"^```(\w*)[^\n]*\n(.*?)^```$", re.DOTALL | re.MULTILINE)
NUMBER = re.compile(r"\d+\.\d+(?:e[+-]?\d+)?")
LOOSELY = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


def is_same(said, printed):
    """Numbers may differ a little where processors do."""
    text = [NUMBER.sub("0.0", value) for value in (said, printed)]
    ours, theirs = ([float(value) for value in NUMBER.findall(value)] for value in (said, printed))
    checked = doctest.OutputChecker().check_output(*text, LOOSELY)
    return checked and ("..." in said or theirs == pytest.approx(ours, 0.02))


def each_page(pages):
    return pytest.mark.parametrize("page", list(pages), ids=lambda page: str(page.relative_to(ROOT)))


@contextlib.contextmanager
def default_dtype_kept():
    dtype = torch.get_default_dtype()
    try:
        yield
    finally:
        torch.set_default_dtype(dtype)


@each_page(page for page in PAGES if "```python" in page.read_text())
@pytest.mark.filterwarnings("ignore::proxact.monitor.CollapseWarning")  # a toy may collapse
def test_python_blocks(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    module = types.ModuleType("page")  # dataclasses and pickle look their module up
    monkeypatch.setitem(sys.modules, "page", module)
    text, printed, end = page.read_text(), "", -1
    with torch.random.fork_rng(), default_dtype_kept():
        for fence in FENCE.finditer(text):
            if fence[1] == "python":
                out = io.StringIO()
                code = "\n" * text.count("\n", 0, fence.start(2)) + fence[2]  # so that errors name the page's line
                with contextlib.redirect_stdout(out):
                    exec(compile(code, str(page), "exec"), vars(module))
                printed, end = out.getvalue(), fence.end()
            elif fence[1] == "text" and not text[end : fence.start()].strip() and end >= 0:
                assert is_same(fence[2], printed), f"printed:\n{printed}"


def test_outputs_are_compared():
    assert is_same("alpha  0.79\n", "alpha 0.7899\n")
    assert not is_same("alpha 0.79\n", "alpha 0.7\n")
    assert not is_same("alpha 0.79\n", "angle 0.79\n")


def commands(text):
    """What starts with proxact or make, in blocks and within the text, as words without comments."""
    for fence in FENCE.finditer(text):
        if fence[1] in ("", "console", "bash", "sh", "shell"):
            for line in fence[2].replace("\\\n", " ").splitlines():
                words = shlex.split(line.removeprefix("$ "), comments=True)
                if words[:1] == ["torchrun"]:
                    words = words[words.index("-m") + 1 :]
                if words[:1] in (["proxact"], ["make"]):
                    yield words
    for code in re.findall(r"`((?:proxact|make) [^`\n]+)`", FENCE.sub("", text)):
        if not re.search(r"[<>\[…|]|\.\.\.", code):  # a pattern, not a command
            yield shlex.split(code)


@pytest.fixture
def accept(monkeypatch):
    """What the command line would call: its commands with the bodies taken out."""
    original = tyro.extras.subcommand_cli_from_dict
    called = []

    def emptied(function):
        @functools.wraps(function)
        def record(*args, **kwargs):
            called.append(kwargs)

        return record

    def parse(table, **options):
        return original({name: emptied(function) for name, function in table.items()}, **options)

    monkeypatch.setattr(tyro.extras, "subcommand_cli_from_dict", parse)

    def accept(words):
        monkeypatch.setattr(sys, "argv", words)
        cli.main()
        return called.pop()

    return accept


@each_page(page for page in PAGES if any(commands(page.read_text())))
def test_commands(page, accept):
    targets = re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE)
    for words in commands(page.read_text()):
        if words[0] == "make":
            assert words[1] in targets
            continue
        if len(words) == 2:  # may be only the name of a command
            with contextlib.suppress(SystemExit), contextlib.redirect_stderr(io.StringIO()) as said:
                accept(words)
            assert "nrecognized" not in said.getvalue(), words
            assert "invalid choice" not in said.getvalue(), words
            continue
        try:
            given = accept(words)
        except SystemExit as error:
            pytest.fail(f"{page.name}: {shlex.join(words)} is not accepted ({error.code})")
        names = given.get("activations") or ()
        for name in names.split(",") if isinstance(names, str) else names:
            assert name == "original" or proxact.get(name)


@pytest.mark.parametrize(
    "words", ["proxact fit --wdths 2:40", "proxact train", "proxact cost", "proxact fit --targets x"]
)
def test_wrong_commands_are_seen(words, accept):
    with pytest.raises(SystemExit), contextlib.redirect_stderr(io.StringIO()):
        accept(words.split())


def planned(text):
    """Those that need neither GPUs nor a finished run."""
    found = [words for words in commands(text) if words[1] in ("cifar10", "imagenet")]
    return [words for words in found if not {"--sync-bn", "--from"} & {*words}]


@pytest.mark.parametrize("words", planned((ROOT / "docs/reproduce.md").read_text()), ids=shlex.join)
def test_commands_of_the_tables_are_the_papers(words, monkeypatch, capsys):
    """Not only accepted: a dry run shows that what they plan counts as the paper's; a variant says so."""
    monkeypatch.setattr(timing, "keep_freed_memory", lambda: None)  # it starts the process anew
    monkeypatch.setattr(sys, "argv", [*words, *["--dry-run"] * ("--dry-run" not in words)])
    cli.main()
    recipe = next((word for word in words if word in RECIPES), "paper")
    variant = r"-\S+" if {"--learn-angle", "--alpha", "--grouping", "--epochs"} & {*words} else ""
    assert re.search(rf"^  preset +{recipe}{variant}$", capsys.readouterr().out, re.MULTILINE)
