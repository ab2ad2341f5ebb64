"""Every example in a docstring runs. The README and the documents have test_docs_code.py."""

import doctest
import importlib
import math
import pkgutil

import pytest
import torch

import proxact

OPTIONAL = {"proxact.kernels.cone_triton": "triton"}
MODULES = [m.name for m in pkgutil.walk_packages(proxact.__path__, "proxact.") if "__main__" not in m.name]


@pytest.mark.parametrize("name", MODULES)
def test_docstrings(name):
    if name in OPTIONAL:
        pytest.importorskip(OPTIONAL[name])
    module = importlib.import_module(name)
    names = {"torch": torch, "math": math, "proxact": proxact}
    options = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    assert doctest.testmod(module, extraglobs=names, optionflags=options).failed == 0
