"""What the angles did: the runs whose folder has an ``angles.jsonl`` or whose curve has columns angle0, angle1, ..."""

from __future__ import annotations

import json
import re
import statistics
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ...monitor.figure import PANELS, draw_panel, value
from ...monitor.rows import read_rows
from ..html import Section, bullets, paragraph, picture, table, text
from ..results import Results
from ..statistics import mean_and_deviation

ORDER = 80
FILE = "angles.jsonl"
Rows = list[dict[str, Any]]


def section(results: Results, figures: Path) -> Section | None:
    """None where no run recorded an angle."""
    found = by_setting(results.runs)
    if not found:
        return None
    parts = [
        paragraph(
            "Each unit's half-apex angle starts where it was set (pi/4, the dotted line, unless said otherwise) and is "
            "learnt. Where the groups were watched too: the share inside the cone, which passes unchanged, and the "
            "share projected to 0. A dead group of channels is 0 for every sample of the last recordings. One line for "
            "each run and unit."
        )
    ]
    said = []
    for i, (label, runs) in enumerate(found.items()):
        shown = [kind for kind in PANELS if any(value(row, kind) is not None for rows in runs for row in rows)]
        pictures = [
            picture(draw_panel(runs, kind, figures / f"angles-{i}-{kind}.svg", label), f"{label}: {PANELS[kind]}")
            for kind in shown
        ]
        said.append(finding(label, runs))
        parts.append(f'<h3>{text(label)}</h3><div class="side-by-side">{"".join(pictures)}</div>{numbers(runs)}')
    parts.insert(1, bullets(said))
    alarming = tuple(sentence for sentence in said if "collapsed" in sentence)
    return Section("angles", "Angles", "".join(parts), alarming)


def by_setting(summaries: Sequence[dict[str, Any]]) -> dict[str, list[Rows]]:
    """The rows of the runs that differ in nothing but the seed, by a name for them."""
    groups: dict[str, list[tuple[dict[str, Any], Rows]]] = {}
    for run in summaries:
        if rows := rows_of(run):
            setting = {name: entry for name, entry in run["config"].items() if not name.startswith(("seed", "start"))}
            setting["preset"] = _preset(run)
            key = json.dumps([run["experiment"], run["activation"], setting], sort_keys=True)
            groups.setdefault(key, []).append((run, rows))
    plain = Counter(_label(members[0][0]) for members in groups.values())
    named: dict[str, list[Rows]] = {}
    for members in groups.values():
        run = members[0][0]
        label = _label(run)
        if plain[label] > 1 and _preset(run):
            label += f", {_preset(run)}"
        same = sum(known == label or known.startswith(f"{label} (") for known in named)
        named[f"{label} ({same + 1})" if same else label] = [rows for _, rows in members]
    return named


def _label(run: dict[str, Any]) -> str:
    words = [run["experiment"], str(run["config"].get("model", "")), run["activation"]]
    return ", ".join(filter(None, words))


def _preset(run: dict[str, Any]) -> str:
    """Without the seed of the network that the run started from."""
    return re.sub(r"(-from-\w+)-seed\d+$", r"\1", run["config"].get("preset", ""))


def rows_of(run: dict[str, Any]) -> Rows:
    """What an AngleMonitor wrote into the run's folder, else the angles in its curve."""
    path = Path(run["folder"]) / FILE if "folder" in run else None
    if path is not None and path.exists():
        return read_rows(path)
    return [
        {"step": row.get("epoch", i + 1), "site": name, "angle": angle}
        for i, row in enumerate(run.get("curve", []))
        for name, angle in row.items()
        if re.fullmatch(r"angle\d+", name)
    ]


def numbers(runs: Sequence[Rows]) -> str:
    """First and last of every unit, over the runs."""
    cells = []
    for site in dict.fromkeys(row["site"] for rows in runs for row in rows):
        own = [[row for row in rows if row["site"] == site] for rows in runs]
        first, last = [rows[0] for rows in own if rows], [rows[-1] for rows in own if rows]
        shares = [_mean([value(row, kind) for row in last], "{:.1%}") for kind in ("inside", "surface", "zero", "dead")]
        ends = [mean_and_deviation([row["angle"] for row in rows], "{:.4f}") for rows in (first, last)]
        seen = sorted({row["collapse"] for rows in own for row in rows if row.get("collapse")})
        cells.append([site, last[0].get("m", ""), *ends, *shares, ", ".join(seen), len(last)])
    headers = ["unit", "m", "angle at first", "angle at last", "inside", "surface", "zero", "dead", "collapse", "n"]
    return table(headers, cells)


def finding(label: str, runs: Sequence[Rows]) -> str:
    """One sentence."""
    sites = dict.fromkeys(row["site"] for rows in runs for row in rows)
    last = [[row for row in rows if row["site"] == site][-1] for rows in runs for site in sites]
    collapsed = sorted({row["site"] for rows in runs for row in rows if row.get("collapse")})
    angles = [row["angle"] for row in last]
    return (
        f"Angles of {label}: {len(sites)} units end between {min(angles):.3f} and {max(angles):.3f} rad "
        f"({len(runs)} runs)" + (f"; collapsed: {', '.join(collapsed)}." if collapsed else ".")
    )


def _mean(values: Sequence[float | None], pattern: str) -> str:
    known = [entry for entry in values if entry is not None]
    return pattern.format(statistics.fmean(known)) if known else ""
