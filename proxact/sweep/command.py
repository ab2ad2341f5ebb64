"""``proxact sweep`` and ``proxact runs``: flags to functions. They import what they need when called."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import tyro


def sweep(
    experiment: tyro.conf.Positional[Literal["fit", "cifar10", "imagenet", "ant"]],
    arguments: tyro.conf.Positional[tuple[str, ...]] = (),
    activations: str = "relu,mpu2,mpu3",
    seeds: str = "0:5",
    grid: tuple[str, ...] = (),
    jobs: int = 2,
    on: Literal["local", "ray", "slurm"] = "local",
    address: str | None = None,
    cpus: float = 1,
    gpus: float = 0,
    retries: int = 3,
    scratch: bool = False,
    slurm: tuple[str, ...] = (),
    runs: Path | None = None,
) -> None:
    """Run an experiment for every activation, seed and value of a grid, on this machine or a cluster.

    Every combination is a run folder. Finished ones are skipped: a sweep that was stopped or killed goes on when the
    same command is given again, and grows with more seeds or activations.

    Args:
        experiment: the command to run.
        arguments: its own, after --, the same in every run: proxact sweep fit -- --epochs 10
        activations: names of the library with commas between, see proxact.names().
        seeds: start:stop as in Python, stop excluded; or 1,2,3.
        grid: flags of the experiment with the values to try, such as learn_angle=true,false epochs=10,20.
        jobs: runs at a time, among which this machine's cores are divided. Under Slurm, the most at a time.
        on: this machine; a Ray cluster; Slurm, through submitit.
        address: of the Ray cluster, such as auto; without it Ray is started on this machine.
        cpus: for each run on a cluster; also its number of threads.
        gpus: for each run.
        retries: how often a run is begun again whose node was lost (Ray) or whose time was over (Slurm).
        scratch: on Ray, compute on the node's own disk even where it sees the run folder.
        slurm: what to tell Slurm, such as partition=gpu timeout_min=600.
        runs: the sweep's folder; runs/sweep-<experiment> if not given.
    """
    import shlex
    import sys

    from .._checks import check_positive_int
    from . import execute
    from .plan import parse

    folder = runs or Path("runs") / f"sweep-{experiment}"
    try:
        check_positive_int("jobs", jobs)
        options = dict(pair("slurm", text) for text in slurm)
        planned = parse(experiment, activations, seeds, grid, arguments)
        planned.write(folder)
        print(f"{len(planned.jobs(folder))} runs in {folder}", flush=True)
        outcomes = execute(
            planned.jobs(folder),
            on=on,
            workers=jobs,
            address=address,
            cpus=cpus,
            gpus=gpus,
            retries=retries,
            scratch=scratch,
            slurm=options,
        )
    except (ValueError, TypeError) as error:
        raise SystemExit(str(error)) from error
    except KeyboardInterrupt:
        raise SystemExit("Stopped. The same command goes on from there.") from None
    failed = [outcome for outcome in outcomes if outcome.state == "failed"]
    for outcome in failed:
        print(f"\n{outcome.job.name} failed. The last lines of {outcome.job.folder / 'log.txt'}:", file=sys.stderr)
        print("\n".join(f"  {line}" for line in outcome.last_lines.splitlines()), file=sys.stderr)
        print(f"To repeat it:\n  {outcome.job.repeat}", file=sys.stderr)
    counts = [f"{sum(o.state == state for o in outcomes)} {state}" for state in ("finished", "skipped", "failed")]
    print(f"{', '.join(counts)}. A page of them: proxact report {shlex.quote(str(folder))}")
    if failed:
        raise SystemExit(1)


def runs(
    folders: tyro.conf.Positional[tuple[Path, ...]] = (Path("runs"),),
    experiment: str | None = None,
    activation: str | None = None,
    where: tuple[str, ...] = (),
    compare: str | None = None,
    sort: str = "folder",
) -> None:
    """List runs, or compare a metric of them: finished, running, stopped and failed ones.

    Args:
        folders: in which to look.
        experiment: only of this one, such as fit.
        activation: only with this one.
        where: only with these, such as epochs=50 state=failed; any entry of the configuration.
        compare: a metric, such as score, best_mse or best_mse.8: its mean and deviation over the seeds, for each
            activation and each setting that differs.
        sort: by folder, state, activation, seed, score, time, or an entry of the configuration.
    """
    from ..experiments.runs import RunError
    from .compare import compared
    from .found import find, selected
    from .listing import listed

    try:
        chosen = {name: value for name, value in (("experiment", experiment), ("activation", activation)) if value}
        found = selected(find(list(folders)), {**dict(pair("where", text) for text in where), **chosen})
        shown = compared(found, compare, sort) if compare else listed(found, sort)
    except (RunError, ValueError) as error:
        raise SystemExit(str(error)) from error
    from rich.console import Console

    Console().print(shown)


def pair(name: str, text: str) -> tuple[str, str]:
    key, equals, value = text.partition("=")
    if not (key and equals):
        raise ValueError(f"{name} must be key=value, got {text!r}")
    return key, value
