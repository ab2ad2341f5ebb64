"""The explorer: a page on which cones, projections and proxes can be dragged, computed in the browser itself.

``index.html`` can be opened as it is, beside its scripts; :func:`write` makes one file of them.
"""

from __future__ import annotations

import html
import re
from importlib.resources import files
from pathlib import Path


def page() -> str:
    """The whole document, with its style and scripts inside: it asks for nothing else."""
    folder = files(__package__)

    def inline(name: str, tag: str) -> str:
        return f"<{tag}>\n{(folder / name).read_text(encoding='utf-8')}</{tag}>"

    source = (folder / "index.html").read_text(encoding="utf-8")
    source = re.sub(r'<link rel="stylesheet" href="([\w.]+)">', lambda found: inline(found[1], "style"), source)
    return re.sub(r'<script src="([\w.]+)"></script>', lambda found: inline(found[1], "script"), source)


def write(path: Path) -> Path:
    """Write the page to ``path``, folders included, and return it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(page(), encoding="utf-8")
    return path


def frame() -> str:
    """The page as an element for another page. It grows with its content and needs no file of its own."""
    source = html.escape(page())
    return f'<iframe title="Explorer" style="width: 100%; height: 60rem; border: 0" srcdoc="{source}"></iframe>'
