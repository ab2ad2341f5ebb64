"""The explorer, inside the page."""

from __future__ import annotations

from pathlib import Path

from ... import explorer
from ..html import Section
from ..results import Results

ORDER = 95


def section(results: Results, figures: Path) -> Section:
    return Section("explorer", "Explorer", explorer.frame())
