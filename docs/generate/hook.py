"""What mkdocs runs to make the pages that are not written by hand. Nothing is written into ``docs/``."""

from __future__ import annotations

import functools
import re
import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
sys.path[:0] = [path for path in (str(HERE), str(HERE.parent)) if path not in sys.path]

import api  # noqa: E402
import made  # noqa: E402
import mathml  # noqa: E402
import pages  # noqa: E402
import paper_figures  # noqa: E402
from catalogue import things  # noqa: E402
from mkdocs.structure.files import File, Files  # noqa: E402
from pictures import pictures, saved, thumbnail  # noqa: E402

from proxact import explorer  # noqa: E402

EXPLORER = "<!-- explorer -->"
_REMOTE_SCRIPT = re.compile(r"<script(?:(?!</script>).)*?(?:mathjax|mermaid)(?:(?!</script>).)*</script>", re.I | re.S)


@functools.cache
def generated() -> dict[str, str | bytes]:
    """Every generated file: its path in ``docs/`` and its content."""
    found: dict[str, str | bytes] = {}
    for thing in things():
        found[thing.path] = pages.page(thing)
        for i, (name, draw, _) in enumerate(pictures(thing)):
            figure, suffix = draw(), pages.suffix(name)
            found[f"{thing.folder}/{thing.name}-{name}.{suffix}"] = saved(figure, suffix)
            if i == 0:
                found[f"{thing.folder}/{thing.name}-small.{suffix}"] = saved(thumbnail(figure), suffix)
    for folder in pages.GALLERIES:
        found[f"{folder}/index.md"] = pages.gallery(folder)
    for module in api.MODULES:
        found[api.file(module)] = api.page(module)
    found["figures.md"] = paper_figures.page()
    found |= paper_figures.files()
    found["explore.md"] = (
        "# Explorer\n\nDrag the point, the half-apex angle and the leak; switch to any scalar prox. Everything is "
        f"computed in this page. Also [for itself](explorer.html), or by `proxact explore`.\n\n{EXPLORER}\n"
    )
    found["explorer.html"] = explorer.page()
    found["changelog.md"] = (HERE.parents[1] / "CHANGELOG.md").read_text()
    return found


def on_files(files: Files, config: Any) -> Files:
    for path, content in generated().items():
        files.append(File.generated(config, path, content=content))
    return files


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Tables made from results, see ``made.py``."""
    return made.fill(markdown)


def on_page_content(content: str, page: Any, **_: Any) -> str:
    """Formulas as MathML, the explorer in its page, and no scripts from elsewhere in notebooks."""
    if page.file.src_uri.endswith(".ipynb"):
        content = _REMOTE_SCRIPT.sub("", content)
    return mathml.convert(content).replace(EXPLORER, explorer.frame())
