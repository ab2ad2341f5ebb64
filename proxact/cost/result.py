"""What :func:`proxact.cost` returns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

PARTS = ("matmul", "norm", "activation")


@dataclass(frozen=True)
class Row:
    """One module: what its own ``forward`` does, without that of the modules inside it."""

    name: str
    kind: str
    calls: int
    matmul: int
    norm: int
    activation: int

    @property
    def total(self) -> int:
        return self.matmul + self.norm + self.activation


@dataclass(frozen=True)
class Cost:
    """MACs by part and by module. ``str(cost)`` is a table of the modules."""

    rule: str
    matmul: int
    norm: int
    activation: int
    rows: tuple[Row, ...]
    notes: tuple[str, ...] = ()

    @property
    def total(self) -> int:
        return self.matmul + self.norm + self.activation

    def by_kind(self) -> tuple[Row, ...]:
        """The rows of each class of module, added up."""
        kinds = dict.fromkeys(row.kind for row in self.rows)
        return tuple(_added("*", kind, [row for row in self.rows if row.kind == kind]) for kind in kinds)

    def table(self, rows: Sequence[Row] | None = None) -> str:
        """These rows (all unless given), their sum, and the notes."""
        shown = [*(self.rows if rows is None else rows), _added("all", "", self.rows)]
        cells = [["module", "kind", "calls", *PARTS, "total"]]
        cells += [[row.name, row.kind, *(f"{getattr(row, key):,}" for key in cells[0][2:])] for row in shown]
        widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
        cells.insert(-1, ["-" * width for width in widths])
        return "\n".join([*(_line(row, widths) for row in cells), *self.notes])

    def __str__(self) -> str:
        return f"MACs by rule {self.rule!r}\n{self.table()}"


def _line(cells: list[str], widths: list[int]) -> str:
    padded = [f"{cell:<{width}}" for cell, width in zip(cells[:2], widths, strict=False)]
    padded += [f"{cell:>{width}}" for cell, width in zip(cells[2:], widths[2:], strict=True)]
    return "  ".join(padded).rstrip()


def _added(name: str, kind: str, rows: Sequence[Row]) -> Row:
    return Row(name, kind, *(sum(getattr(row, key) for row in rows) for key in ("calls", *PARTS)))
