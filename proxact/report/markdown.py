"""Results as tables in Markdown, for the documentation: the paper's tables with ours beside, claims and errata."""

from __future__ import annotations

import html
import re
from collections.abc import Sequence
from itertools import chain
from typing import Any

from ..theory.claim import Claim, Erratum
from . import fit_runs
from .pairs import compare, score
from .sections import ant, fit, vision
from .sections.paper_tables import PAPER, matching
from .statistics import mean_and_deviation, place
from .vision.protocol import comparisons
from .vision.runs import by_recipe, protocols
from .vision.units import by_variant

NOT_RUN = "*not run here*"
Summaries = Sequence[dict[str, Any]]


def table(headers: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    lines = [headers, ["---"] * len(headers), *rows]
    return "\n".join("| " + " | ".join(_cell(value) for value in line) + " |" for line in lines)


def literal(value: str) -> str:
    """Plain text as Markdown that shows it."""
    return re.sub(r"([\\*_`\[\]])", r"\\\1", html.escape(value, quote=False))


def state(summaries: Summaries) -> str:
    """Which rows of the paper's tables have runs of ours."""
    rows = []
    for entry in PAPER["tables"].values():
        counts = [len(matching(row, entry, summaries)) for row in entry["rows"]]
        rows.append([entry["title"], len(counts), sum(map(bool, counts)) or "none", sum(counts)])
    return table(["table", "rows", "rows we have run", "runs"], rows)


def paper_table(name: str, summaries: Summaries) -> str:
    """A table of the paper, our mean, deviation, number of seeds and date beside its own numbers."""
    entry, used, rows = PAPER["tables"][name], [], []
    has_max, has_macs = (any(key in row for row in entry["rows"]) for key in ("max", "macs"))
    for row in entry["rows"]:
        runs = matching(row, entry, summaries)
        used += runs
        extra = f" (+{row['extra_epochs']} epochs)" if "extra_epochs" in row else ""
        printed = f"{row['mean']:.2f}" + (f" ± {row['std']:.2f}" if "std" in row else "")
        cells = [row["network"], f"`{row['activation']}`{extra}", printed]
        cells += [f"{row['max']:.2f}"] if has_max else []
        cells += [row["macs"]] if has_macs else []
        ours = mean_and_deviation(_scores(runs), "{:.2f}") if runs else NOT_RUN
        rows.append([*cells, ours, len(runs), place(runs)[1] if runs else ""])
    headers = ["network", "activation", "paper", *["paper, max"] * has_max, *["paper, MACs"] * has_macs]
    notes = [f"{row['network']}, `{row['activation']}`: {row['note']}." for row in entry["rows"] if "note" in row]
    caption = f"*{entry['title']}: {entry['metric']} (`{name}`).*"
    return _paragraphs(caption, table([*headers, "ours", "n", "date"], rows), *notes, _hardware(used))


def fitting(target: str, summaries: Summaries) -> str:
    """Errors for one target of the fitting experiment, for which the paper prints no numbers."""
    found = fit_runs.by_activation(fit_runs.main_runs(_of(summaries, "fit")), target)
    rows: list[list[object]] = []
    for name in [*fit.ACTIVATIONS, *sorted(set(found) - set(fit.ACTIVATIONS))]:
        if name not in found:
            rows.append([f"`{name}`", *[NOT_RUN] * 3, 0])
            continue
        errors = found[name]["metrics"]["best_mse"]
        cells = [mean_and_deviation(errors[width], "{:.2e}") if width in errors else "" for width in ("8", "39")]
        total = mean_and_deviation(fit_runs.overall(found[name]), "{:.2e}")
        rows.append([f"`{name}`", *cells, total, len(found[name]["seed"])])
    shown = table(["activation", "width 8", "width 39", "all widths", "n"], rows)
    return _paragraphs(shown, _hardware([part for run in found.values() for part in run["parts"]]))


def findings(experiment: str, summaries: Summaries) -> str:
    """The sentences that the report makes from the numbers, of the paper's own settings and activations."""
    runs = _of(summaries, experiment)
    if experiment == "fit":
        said = fit.findings([run for run in fit_runs.main_runs(runs) if run["activation"] in fit.ACTIVATIONS])
    elif experiment == "cifar10":
        said = vision.findings(runs)
    else:
        said = ant.findings([run for run in runs if run["config"]["preset"] == "paper"])
    return "\n".join(f"- {literal(sentence)}" for sentence in said) or "Too few finished runs to say anything yet."


def protocol(summaries: Summaries) -> str:
    """Every activation of CIFAR10's protocol for a CPU, seed by seed against ReLU; the units that differ below."""
    rows: list[list[object]] = []
    for own in [found for found in protocols(summaries) if found.recipe == "cpu"][:1]:
        found = comparisons(own)
        for name in own.activations:
            against = found[name].cells() if name in found else [""] * 3
            rows.append([f"`{name}`", _last(own.of(name)), *against])
        for name in own.activations:
            for label, runs in by_variant(own, name).items():
                pairs = compare({label: runs}, own.of("relu"))
                against = pairs[label].cells() if label in pairs else [""] * 3
                rows.append([f"`{name}`, {label}", _last(runs), against[0], "", against[2]])
    return table(["activation", "last epoch, %", "against ReLU, points (95 % interval)", "Holm's p", "pairs"], rows)


def others(experiment: str, summaries: Summaries) -> str:
    """Runs with a recipe other than the paper's."""
    groups = by_recipe(run for run in _of(summaries, experiment) if run["config"]["preset"] != "paper")
    if not groups:
        return "There are no other runs of this experiment here yet."
    rows = [
        [recipe, network, f"`{activation}`", mean_and_deviation(_scores(runs), "{:.2f}"), len(runs)]
        for (recipe, network, activation), runs in groups.items()
    ]
    shown = table(["recipe", "network", "activation", "ours", "n"], rows)
    return _paragraphs(shown, _hardware([*chain(*groups.values())]))


def errata(listed: Sequence[Erratum]) -> str:
    """Each correction with its residual, and that of what is printed where it can be built."""
    rows = []
    for erratum in listed:
        verdict = erratum.verdict()
        printed = None if verdict.printed_residual is None else f"residual {verdict.printed_residual:.1e}"
        measured = f"residual {verdict.residual:.1e}: {_word(verdict.holds)}"
        rows.append([literal(erratum.where), _with(erratum.says, printed), _with(erratum.name, measured)])
    return table(["where", "printed", "what holds"], rows)


def claims(listed: Sequence[Claim]) -> str:
    rows = []
    for claim in listed:
        verdict = claim.verdict()
        said = _with(claim.name, literal(verdict.reading) or None)
        measured = f"{verdict.residual:.1e}: {_word(verdict.holds)}<br><small>allowed: {claim.tolerance:.0e}</small>"
        rows.append([said, f"{literal(claim.where)} ({claim.kind})", measured])
    return table(["claim", "where", "residual"], rows)


def _with(text: str, remark: str | None) -> str:
    return literal(text) + (f"<br><small>{remark}</small>" if remark else "")


def _of(summaries: Summaries, experiment: str) -> list[dict[str, Any]]:
    return [run for run in summaries if run["experiment"] == experiment]


def _last(runs: Summaries) -> str:
    return mean_and_deviation([*map(score, runs)], "{:.2f}")


def _scores(runs: Summaries) -> list[float]:
    return [run["metrics"]["score"] for run in runs]


def _hardware(runs: Summaries) -> str:
    return "Ours: {}; {}.".format(*place(runs)) if runs else ""


def _paragraphs(*parts: str) -> str:
    return "\n\n".join(part for part in parts if part)


def _cell(value: object) -> str:
    return str(value).replace("|", "\\|").replace("\n", " ")


def _word(holds: bool) -> str:
    return "holds" if holds else "**FAILS**"
