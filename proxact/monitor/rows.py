"""Rows as JSON lines."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any


def read_rows(path: str | os.PathLike[str]) -> list[dict[str, Any]]:
    """The rows of a file that an :class:`AngleMonitor` wrote. A last line that was cut off is left out."""
    rows = []
    for line in Path(path).read_text().splitlines():
        try:
            rows.append(json.loads(line))
        except json.JSONDecodeError:
            break
    return rows


def write_rows(rows: list[dict[str, Any]], path: Path, mode: str = "w") -> None:
    with path.open(mode) as file:
        file.writelines(json.dumps(row) + "\n" for row in rows)


def drop_rows_after(step: int, path: Path) -> None:
    """Make the file if there is none."""
    path.parent.mkdir(parents=True, exist_ok=True)
    rows = read_rows(path) if path.exists() else []
    write_rows([row for row in rows if row["step"] <= step], path)
