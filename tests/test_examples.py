"""Every example in a docstring, the README and the documents runs."""

import doctest
import importlib
import math
import pkgutil
import re
from pathlib import Path

import pytest
import torch

import proxact

ROOT = Path(__file__).parent.parent
OPTIONAL = {"proxact.kernels.cone_triton": "triton"}
MODULES = [m.name for m in pkgutil.walk_packages(proxact.__path__, "proxact.") if "__main__" not in m.name]
PAGES = sorted(p for p in [ROOT / "README.md", *ROOT.glob("docs/**/*.md")] if "```python" in p.read_text())


@pytest.mark.parametrize("name", MODULES)
def test_docstrings(name):
    if name in OPTIONAL:
        pytest.importorskip(OPTIONAL[name])
    module = importlib.import_module(name)
    names = {"torch": torch, "math": math, "proxact": proxact}
    options = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    assert doctest.testmod(module, extraglobs=names, optionflags=options).failed == 0


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)
def test_code_blocks(page):
    blocks = re.findall(r"```python\n(.*?)```", page.read_text(), re.DOTALL)
    assert blocks
    names: dict = {}
    for block in blocks:
        exec(compile(block, str(page), "exec"), names)
