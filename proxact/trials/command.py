"""``proxact try``: run a training script with every activation and seed, and judge."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import tyro

from .metric import Better, MetricError, Take, choose, guess_better, read_metric

if TYPE_CHECKING:
    from ..sweep import Outcome
    from .plan import Runs


def try_(
    script: tyro.conf.Positional[Path],
    arguments: tyro.conf.Positional[tuple[str, ...]] = (),
    *,
    metric: str,
    activations: str = "relu,mpu2,mpu3",
    seeds: str = "5",
    take: Take = "last",
    better: Better | None = None,
    on: Literal["local", "ray", "slurm"] = "local",
    jobs: int = 2,
    address: str | None = None,
    cpus: float = 1,
    gpus: float = 0,
    slurm: tuple[str, ...] = (),
    runs: Path = Path("runs"),
) -> None:
    """Does another activation help in your own training script? Add one line to it, model = proxact.trial(model).

    Each activation is run with each seed. Runs that are finished are not run again, until the script changes.

    Args:
        script: a Python file that trains a model and prints or logs a metric.
        arguments: for the script, after a --; {seed}, {activation} and {folder}, the run's own, are filled in.
        metric: its name in what the script prints, as in val_acc: 0.91 or {"val_acc": 0.91}; or in CSV, JSON lines or
            TensorBoard files that it writes below {folder}.
        activations: the baseline, then those to compare with it; see proxact.names(). original is the model as it is.
        seeds: how many, or start:stop as in Python.
        take: the last value that a run gives, or its best.
        better: guessed from the metric's name if not given; the answer says which.
        on: this machine; a Ray cluster; Slurm. Their nodes must see the script under the same path.
        jobs: runs at a time, among which this machine's cores are divided. Under Slurm, the most at a time.
        address: of the Ray cluster, such as auto; without it Ray is started on this machine.
        cpus: for each run on a cluster; also its number of threads.
        gpus: for each run.
        slurm: what to tell Slurm, such as partition=gpu timeout_min=600.
        runs: where the run folders go.
    """
    from .._checks import check_positive_int
    from ..sweep import execute
    from ..sweep.command import pair
    from ..sweep.local import cores
    from .plan import make_runs, parse_activations, parse_seeds

    better = better or guess_better(metric)
    try:
        check_positive_int("jobs", jobs)
        threads = max(1, cores() // jobs) if on == "local" else max(1, int(cpus))
        names, numbers = parse_activations(activations), parse_seeds(seeds)
        folder, planned = make_runs(script, arguments, names, numbers, runs, threads)
    except ValueError as error:
        raise SystemExit(str(error)) from error
    every = [job for some in planned.values() for job in some.values()]
    done = sum(job.is_finished for job in every)
    there = f", {done} of them finished before" if done else ""
    print(f"{script.name}: {len(every)} runs ({', '.join(names)}; {len(numbers)} seeds{there}) in {folder}", flush=True)
    if "proxact" not in script.read_text():
        print(f"note: {script.name} does not mention proxact; does what it imports call proxact.trial?", flush=True)
    options: dict[str, Any] = {"on": on, "workers": jobs, "address": address, "cpus": cpus, "gpus": gpus}
    try:
        options["slurm"] = dict(pair("slurm", text) for text in slurm)
        _check_first(execute(every[:1], **options), metric)
        outcomes = execute(every, **options)
    except ValueError as error:
        raise SystemExit(str(error)) from error
    except KeyboardInterrupt:
        raise SystemExit("Stopped. The same command goes on with the runs that are missing.") from None
    print(_answer(script, arguments, folder, planned, outcomes, metric, take, better))
    if any(outcome.state == "failed" for outcome in outcomes):
        raise SystemExit(1)


def _check_first(outcomes: Sequence[Outcome], metric: str) -> None:
    """A script without the line or the metric is found out by one run, not by all."""
    (outcome,) = outcomes
    if outcome.state == "failed":
        raise SystemExit(f"The first run failed, so no other was started. {_ending(outcome)}")
    try:
        read_metric(outcome.job.folder, metric)
    except MetricError as error:
        raise SystemExit(f"The first run is finished, but its {error}") from error


def _answer(
    script: Path,
    arguments: Sequence[str],
    folder: Path,
    planned: Runs,
    outcomes: Sequence[Outcome],
    metric: str,
    take: Take,
    better: Better,
) -> str:
    from .model import read_marks
    from .show import notes, show
    from .verdict import judge

    failed = {outcome.job.name: outcome for outcome in outcomes if outcome.state == "failed"}
    values: dict[str, list[float | None]] = {name: [] for name in planned}
    try:
        for name, jobs in planned.items():
            for job in jobs.values():
                found = None if job.name in failed else choose(read_metric(job.folder, metric), take, better)
                values[name].append(found)
    except MetricError as error:
        raise SystemExit(str(error)) from error
    seeds = list(next(iter(planned.values())))
    verdicts = judge(values, better, metric)
    record: dict[str, Any] = {
        "script": str(script),
        "arguments": list(arguments),
        "metric": metric,
        "take": take,
        "better": better,
    }
    record |= {"seeds": seeds, "values": values, "verdicts": [asdict(verdict) for verdict in verdicts]}
    (folder / "verdict.json").write_text(json.dumps(record, indent=1) + "\n")
    marks = {name: [read_marks(job.folder) for job in jobs.values()] for name, jobs in planned.items()}
    parts = [show(values, verdicts, seeds, metric, take, better), *notes(marks, script.name)]
    for name in planned:
        ends = [outcome for outcome in failed.values() if outcome.job.name.startswith(f"{name}/")]
        if ends:
            parts.append(f"{name}: {len(ends)} of {len(seeds)} runs failed; the first with\n{_ending(ends[0])}")
    if failed:
        parts.append("The same command runs the failed ones again.")
    return "\n".join(["", *parts])


def _ending(outcome: Outcome) -> str:
    lines = "\n".join(f"    {line}" for line in outcome.last_lines.splitlines())
    return f"It ended with\n\n{lines}\n\nAll that it printed is in {outcome.job.folder / 'log.txt'}"
