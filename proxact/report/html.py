"""The page's building blocks: plain HTML that needs no network and reads well on a phone."""

from __future__ import annotations

import base64
import html
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .. import __version__

_STYLE = """
:root { color-scheme: light dark; --line: #8884; --soft: #8881; }
body { font: 16px/1.55 system-ui, sans-serif; max-width: 62rem; margin: 0 auto; padding: 1rem; }
h1, h2, h3 { line-height: 1.25; }
h2 { margin-top: 2.5rem; border-top: 1px solid var(--line); padding-top: 1.5rem; }
nav a { margin-right: 1rem; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; font-size: .9rem; font-variant-numeric: tabular-nums; }
th, td { padding: .3rem .7rem; text-align: left; border-bottom: 1px solid var(--line); white-space: nowrap; }
th { background: var(--soft); }
td.missing { opacity: .6; font-style: italic; }
.side-by-side { display: flex; flex-wrap: wrap; gap: 1rem; }
.side-by-side figure { flex: 1 1 20rem; }
figure { margin: 1.5rem 0; }
figure img { max-width: 100%; height: auto; background: white; border-radius: 4px; }
figcaption, .note { font-size: .9rem; opacity: .8; }
code { background: var(--soft); padding: .1rem .3rem; border-radius: 3px; overflow-wrap: anywhere; }
"""

MISSING = "not run"


@dataclass(frozen=True)
class Section:
    anchor: str
    title: str
    body: str
    findings: tuple[str, ...] = ()  # in sentences, for the terminal too


def text(value: object) -> str:
    return html.escape(str(value))


def paragraph(value: str) -> str:
    return f"<p>{text(value)}</p>"


def bullets(values: Sequence[str]) -> str:
    return "<ul>" + "".join(f"<li>{text(value)}</li>" for value in values) + "</ul>"


def table(headers: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """Cells that say ``not run`` are set apart."""
    head = "".join(f"<th>{text(name)}</th>" for name in headers)
    body = "".join("<tr>" + "".join(_cell(value) for value in row) + "</tr>" for row in rows)
    return f'<div class="wide"><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>'


def _cell(value: object) -> str:
    kind = ' class="missing"' if value == MISSING else ""
    return f"<td{kind}>{text(value)}</td>"


def picture(path: Path, caption: str) -> str:
    """An .svg or .gif, inside the page."""
    kind = {".svg": "svg+xml", ".gif": "gif"}[path.suffix]
    source = f"data:image/{kind};base64,{base64.b64encode(path.read_bytes()).decode()}"
    return f'<figure><img src="{source}" alt="{text(caption)}"><figcaption>{text(caption)}</figcaption></figure>'


def page(sections: Sequence[Section], summaries: Sequence[dict[str, Any]]) -> str:
    """The whole document."""
    links = "".join(f'<a href="#{section.anchor}">{text(section.title)}</a>' for section in sections)
    bodies = "".join(
        f'<section id="{section.anchor}"><h2>{text(section.title)}</h2>{section.body}</section>' for section in sections
    )
    made = f"proxact {__version__}, {len(summaries)} runs, page made on {time.strftime('%Y-%m-%d')}"
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<link rel="icon" href="data:,"><title>proxact: results</title>'
        f"<style>{_STYLE}</style></head><body><h1>Activations as projections: results</h1>"
        "<p>An activation is a projection onto a convex set. Here is what the experiments of "
        "<em>Generalized Activation via Multivariate Projection</em> give when they are run again, beside what the "
        "paper prints. Every number of ours comes from a run folder; what was not run is said to be not run.</p>"
        f'<nav>{links}</nav>{bodies}<p class="note">{text(made)}</p></body></html>\n'
    )
