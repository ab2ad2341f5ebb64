"""Docstrings as Markdown: their roles and formulas, and their sections."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable

_SECTION = re.compile(r"^(Args|Shape|Returns|Raises|Example|Examples):\s*$", re.M)
_ROLE = re.compile(r":(?:func|class|meth|mod|attr|data):`~?([^`]+)`")
_FORMULA = re.compile(r"^( *)\.\. math::[ ]*(.*(?:\n(?:\1[ ]+.*|(?=\n\1[ ]+)))*)", re.M)


def to_markdown(text: str, link: Callable[[str], str] = lambda name: f"`{name}`") -> str:
    """Formulas between dollars, names as code or as ``link`` makes them."""

    def block(found: re.Match[str]) -> str:
        return f"{found[1]}$${' '.join(found[2].split())}$$\n"

    text = _FORMULA.sub(block, text)
    text = re.sub(r":math:`([^`]+)`", lambda found: f"${' '.join(found[1].split())}$", text)
    return _ROLE.sub(lambda found: link(found[1]), text)


def sections(documented: object) -> dict[str, str]:
    """The docstring cut at its section titles; what comes before them is ``""``."""
    text = inspect.getdoc(documented) or ""
    parts = _SECTION.split(text)
    found = {"": parts[0].strip()}
    for title, body in zip(parts[1::2], parts[2::2], strict=True):
        own, rest = _own_lines(body)
        found[title] = inspect.cleandoc(own)
        found[""] += f"\n\n{rest}" if rest else ""
    return found


def _own_lines(body: str) -> tuple[str, str]:
    """The indented lines of a section, and the text that goes on after it."""
    lines = body.strip("\n").split("\n")
    end = next((i for i, line in enumerate(lines) if line and not line.startswith(" ")), len(lines))
    return "\n".join(lines[:end]), "\n".join(lines[end:]).strip()


def arguments(text: str) -> list[tuple[str, str]]:
    """Name and meaning of each argument of a section ``Args``."""
    items = re.split(r"^(?=\w[\w, ]*:)", text, flags=re.M)
    pairs = [item.split(":", 1) for item in items if ":" in item]
    return [(name.strip(), " ".join(meaning.split())) for name, meaning in pairs]
