"""The answer of ``proxact try`` in plain text."""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from typing import Any

from ..conversion.report import table
from .metric import Better, Take
from .verdict import Verdict

Values = Mapping[str, Sequence[float | None]]


def show(
    values: Values, verdicts: Sequence[Verdict], seeds: Sequence[int], metric: str, take: Take, better: Better
) -> str:
    """A table with a row for each activation, then a sentence for each."""
    baseline = next(iter(values))
    number = _pattern(values)
    by_name = {verdict.activation: verdict for verdict in verdicts}
    rows = [_row(name, one, by_name.get(name), number) for name, one in values.items()]
    header = ("activation", f"{metric} (mean ± deviation)", f"minus {baseline}", "95 % interval", "p (Holm)", "verdict")
    listed = f"seed {seeds[0]}" if len(seeds) == 1 else f"seeds {seeds[0]} to {seeds[-1]}"
    return "\n".join(
        [
            f"{metric}: {better} is better, the {take} value of each run, {listed}; differences are between runs of "
            "the same seed.",
            "",
            table(header, rows),
            "",
            *(f"{verdict.sentence}." for verdict in verdicts),
        ]
    )


def notes(marks: Mapping[str, Sequence[Sequence[dict[str, Any]]]], script: str) -> list[str]:
    """What the runs say about themselves and a reader of the verdict should know.

    Args:
        marks: for each activation and seed the rows that the run left.
        script: its name.
    """
    found = []
    calls = {name: [[row for row in one if "sites" in row] for one in runs if one] for name, runs in marks.items()}
    first = next((run for runs in calls.values() for run in runs), [])
    sites = sum(row["sites"] for row in first)
    kinds = ", ".join(sorted({kind for row in first for kind in row["kinds"]}))
    skipped = sum(row["skipped"] for row in first)
    left = f"; {skipped} could not be, the runs' log.txt says why" if skipped else ""
    were = "activation of the model was" if sites == 1 else "activations of the model were"
    found.append(f"{sites} {were} exchanged ({kinds}){left}.")
    drawn = [run[0]["torch_seed"] for runs in calls.values() for run in runs]
    if any(len(runs) > 1 for runs in calls.values()) and len({*drawn}) == 1:
        found.append(
            f"{script} sets torch's seed to {drawn[0]} itself, so the runs of one activation differ little or not at "
            "all. Remove that, or let it take the seed: proxact try ... -- --seed {seed}"
        )
    for name, runs in marks.items():
        ends = [row for run in runs for row in run if "moved" in row]
        if ends and not any(row["moved"] for row in ends):
            found.append(
                f"The parameters that {name} brought in did not move in any run. The line model = proxact.trial(model) "
                "must stand before the optimizer is made."
            )
    return found


def _row(name: str, values: Sequence[float | None], verdict: Verdict | None, number: str) -> tuple[str, ...]:
    known = [value for value in values if value is not None and math.isfinite(value)]
    mean = f"{statistics.fmean(known):{number}}" if known else "-"
    if len(known) > 1:
        mean += f" ± {statistics.stdev(known):{number}}"
    if len(known) < len(values):
        mean += f" ({len(known)} of {len(values)} runs)"
    if verdict is None:
        return name, mean, "", "", "", "baseline"
    difference = "-" if verdict.difference is None else f"{verdict.difference:+{number}}"
    interval = " to ".join(f"{end:+{number}}" for end in verdict.interval) if verdict.interval else "-"
    p = "-" if verdict.p is None else "< 0.001" if verdict.p < 0.001 else f"{verdict.p:.3f}"
    return name, mean, difference, interval, p, verdict.word


def _pattern(values: Values) -> str:
    """Two digits of the smallest spread; as many for every number, so that they can be compared by eye."""
    known = [[v for v in one if v is not None and math.isfinite(v)] for one in values.values()]
    spreads = [s for one in known if len(one) > 1 and (s := statistics.stdev(one)) > 0]
    largest = max((abs(v) for one in known for v in one), default=1.0)
    smallest = min(spreads, default=largest / 1000) or 1.0
    if smallest < 1e-6 or largest >= 1e7:
        return ".4g"
    return f".{max(0, 1 - math.floor(math.log10(smallest)))}f"
