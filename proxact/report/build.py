"""From run folders to a page. A section is a file in ``sections/`` with a function ``section(results, figures)``."""

from __future__ import annotations

import importlib
import pkgutil
from pathlib import Path

from . import sections
from .html import Section, page
from .results import read_results


def build(folders: list[Path], out: Path) -> tuple[Path, list[str]]:
    """Write ``out/index.html``, which needs no other file, and the figures as PNG and SVG.

    Returns the page and its findings, in sentences.
    """
    results = read_results(folders)
    figures = out / "figures"
    figures.mkdir(parents=True, exist_ok=True)
    found: list[tuple[int, Section]] = []
    for name in sorted(module.name for module in pkgutil.iter_modules(sections.__path__)):
        module = importlib.import_module(f"{sections.__name__}.{name}")
        if (section := module.section(results, figures)) is not None:  # None: nothing to show
            found.append((module.ORDER, section))
    ordered = [section for _, section in sorted(found, key=lambda pair: pair[0])]
    target = out / "index.html"
    target.write_text(page(ordered, results.runs))
    return target, [sentence for section in ordered for sentence in section.findings]
