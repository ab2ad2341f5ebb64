"""The explorer, inside the page."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ... import explorer
from ..html import Section

ORDER = 95


def section(summaries: Sequence[dict[str, Any]], figures: Path) -> Section:
    return Section("explorer", "Explorer", explorer.frame())
