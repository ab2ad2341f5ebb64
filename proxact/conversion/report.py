"""What a conversion did, as data and as a table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

ROOT = "(root)"
"""The name of the model itself."""


@dataclass(frozen=True)
class Replaced:
    """A site that has a new activation: where, what was there, what is there, its channels, and a remark."""

    name: str
    was: str
    now: str
    axis: int | None
    channels: int | None
    note: str = ""


@dataclass(frozen=True)
class Untied:
    """A shared activation and the sites that have one each instead of it."""

    shared: str
    sites: tuple[str, ...]


@dataclass(frozen=True)
class Skipped:
    """An activation that stays: where, what it is, why."""

    name: str
    what: str
    reason: str


@dataclass
class Report:
    """What :func:`proxact.convert` did, or would do; ``print`` shows it as a table.

    Args:
        to: what was asked for.
        replaced: one entry for each new activation.
        untied: shared activations that became one for each site.
        tied: names of new activations that still serve several calls.
        skipped: activations of the kinds asked for that stay, with the reason.
        left: how many activation modules of other kinds there are, by class.
        verified: outputs compared and equal (True), or not compared (None). Outputs that differ raise.
        verification: the same in words.
        dry_run: nothing was changed.
    """

    to: str
    replaced: list[Replaced] = field(default_factory=list)
    untied: list[Untied] = field(default_factory=list)
    tied: list[str] = field(default_factory=list)
    skipped: list[Skipped] = field(default_factory=list)
    left: dict[str, int] = field(default_factory=dict)
    verified: bool | None = None
    verification: str = ""
    dry_run: bool = False

    def __str__(self) -> str:
        kinds = sorted({site.was for site in self.replaced})
        sites = "1 site" if len(self.replaced) == 1 else f"{len(self.replaced)} sites"
        parts = [f"{'would replace' if self.dry_run else 'replaced'} {sites}"]
        parts[0] += f" ({', '.join(kinds)}) by {self.to}" if kinds else ""
        if self.replaced:
            rows = [(s.name, s.was, s.now, s.axis, s.channels, s.note) for s in self.replaced]
            parts.append(table(("site", "was", "now", "axis", "channels", "note"), rows))
        if self.untied:
            parts.append("untied: each site has an activation of its own")
            parts.append(table(("shared", "sites"), [(u.shared, ", ".join(u.sites)) for u in self.untied]))
        if self.tied:
            parts.append(f"tied: one activation serves several calls at {', '.join(self.tied)}")
        if self.skipped:
            parts.append(f"skipped {len(self.skipped)}")
            parts.append(table(("name", "what", "why"), [(s.name, s.what, s.reason) for s in self.skipped]))
        if self.left:
            counts = ", ".join(f"{name} ({count})" for name, count in sorted(self.left.items()))
            parts.append(f"left alone, their kinds are not in which: {counts}")
        parts.append(f"outputs: {self.verification}")
        return "\n".join(parts)


def table(header: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """Columns of plain text; None is a dash, empty columns at the end are left out."""
    cells = [list(header), *([("-" if value is None else str(value)) for value in row] for row in rows)]
    while len(cells[0]) > 1 and all(not row[-1] for row in cells[1:]):
        cells = [row[:-1] for row in cells]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in cells]
    return "\n".join(f"  {line}" for line in lines)
