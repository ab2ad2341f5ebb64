"""The claims and the errata as tables."""

from __future__ import annotations

import time
from collections.abc import Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from .claim import Claim, Erratum, Verdict


def show(claims: Sequence[Claim], errata: Sequence[Erratum]) -> bool:
    """Run all of them, print what was measured, and return whether all hold."""
    console, start = Console(), time.perf_counter()
    verdicts = [claim.verdict() for claim in claims]
    console.print(_claims_table(claims, verdicts))
    corrections = [erratum.verdict() for erratum in errata]
    console.print(_errata_table(errata, corrections))
    holding = [verdict.holds for verdict in (*verdicts, *corrections)]
    console.print(f"{sum(holding)} of {len(holding)} hold; {time.perf_counter() - start:.0f} s")
    return all(holding)


def _claims_table(claims: Sequence[Claim], verdicts: Sequence[Verdict]) -> Table:
    table = Table("claim", "residual", "allowed", "verdict", title="The paper's claims", show_lines=True)
    for claim, verdict in zip(claims, verdicts, strict=True):
        name = Text(claim.name).append(f"\n{claim.where} ({claim.kind})", "dim")
        if verdict.reading:
            name.append(f"\n{verdict.reading}", "italic")
        table.add_row(name, f"{verdict.residual:.1e}", f"{claim.tolerance:.0e}", _word(verdict.holds))
    return table


def _errata_table(errata: Sequence[Erratum], verdicts: Sequence[Verdict]) -> Table:
    table = Table("printed", "residual", "what holds", "residual", "verdict", title="Its errata", show_lines=True)
    for erratum, verdict in zip(errata, verdicts, strict=True):
        printed = "" if verdict.printed_residual is None else f"{verdict.printed_residual:.1e}"
        says = Text(erratum.says).append(f"\n{erratum.where}", "dim")
        table.add_row(says, printed, Text(erratum.name), f"{verdict.residual:.1e}", _word(verdict.holds))
    return table


def _word(holds: bool) -> Text:
    return Text("holds", "green") if holds else Text("FAILS", "bold red")
