"""Activations as projections onto convex sets: experiments, tools and pictures. Also python -m proxact."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Literal

import tyro

from .experiments.command import ant, fit, play
from .experiments.vision.command import cifar10, imagenet
from .sweep.command import runs, sweep
from .trials.command import try_


def info() -> None:
    """Print versions, threads and the active backend."""
    from .info import print_info

    print_info()


def plot(
    names: tyro.conf.Positional[tuple[str, ...]] = (),
    out: Path = Path("figures"),
    suffix: Literal["png", "svg", "pdf"] = "png",
) -> None:
    """Draw the figures of the paper, and two more, from the library's own functions.

    Args:
        names: of figures, such as method or proof; all if none is given.
        out: folder for the pictures.
        suffix: the kind of file.
    """
    try:
        from .plot import draw_all
    except ModuleNotFoundError as error:
        raise SystemExit(f"proxact plot needs {error.name}: pip install 'proxact[experiments]'") from error

    try:
        drawn = draw_all(out, names, suffix)
    except ValueError as error:
        raise SystemExit(str(error)) from error
    print("Each picture shows a projection onto the cone C_alpha^(m), the activation of this library.")
    for path, caption in drawn:
        print(f"  {path}  {caption}")


def bench(
    what: tyro.conf.Positional[Literal["activations", "fit", "unroll", "ant", "cifar10"]] = "activations",
    out: Path = Path("bench-output"),
    quick: bool = False,
    rounds: int = 25,
    compiled: bool = True,
) -> None:
    """Time activations against ReLU, or an experiment or the solvers against how it is usually done.

    Args:
        what: ant needs stable-baselines3, unroll cvxpy, cifar10 the extra vision.
        out: folder for the results.
        quick: fewer cases.
        rounds: interleaved rounds for each case.
        compiled: also the plain function under torch.compile; needs a C++ compiler, and minutes to compile.
    """
    if what == "fit":
        from .bench.fit import run_fit

        run_fit(out, quick)
    elif what == "unroll":
        from .bench.unroll import run_unroll

        run_unroll(out, quick)
    elif what == "ant":
        from .bench.ant import run_ant

        run_ant(out, quick)
    elif what == "cifar10":
        from .bench.cifar10 import run_cifar10

        run_cifar10(out, quick)
    else:
        from .bench.run import run

        run(out, quick, rounds, compiled)


def report(runs: tyro.conf.Positional[tuple[Path, ...]], out: Path = Path("report")) -> None:
    """Write one page with every experiment's results beside the paper's.

    Args:
        runs: folders in which to look for finished runs.
        out: folder for index.html and the figures.
    """
    try:
        from .report import build
    except ModuleNotFoundError as error:
        raise SystemExit(f"proxact report needs {error.name}: pip install 'proxact[experiments]'") from error
    from .experiments.runs import RunError

    try:
        page, findings = build(list(runs), out)
    except RunError as error:
        raise SystemExit(str(error)) from error
    print("\n".join(findings) or "Too few finished runs to say anything: the page shows what there is.")
    print(f"\nThe page, for any browser and without a network: {page.resolve()}")


def explore(out: Path = Path("explorer.html")) -> None:
    """Write the explorer: a page on which cones, projections and proxes can be dragged.

    Args:
        out: the page, one file that needs no network.
    """
    from .explorer import write

    print(f"For any browser and without a network: {write(out).resolve()}")


def cost(
    network: tyro.conf.Positional[str],
    activation: str | None = None,
    batch: int | None = None,
    rule: Literal["paper", "exact"] = "paper",
    modules: bool = False,
) -> None:
    """Count the multiply-adds of a network, and show what the paper prints for it.

    Args:
        network: resnet18, resnet18+, resnet34, resnet50, resnet101, ant-mlp, ant-mlp+, timm/<name>, torchvision/<name>.
        activation: a name of the library, see proxact.names(); ReLU, or what the network comes with, if not given.
        batch: samples; the paper's if not given, 1 for the networks of libraries.
        rule: as the paper counts, or the multiplications that are done.
        modules: a row for each module, not for each class of modules.
    """
    from .cost.command import describe

    try:
        print(describe(network, activation, batch, rule, modules))
    except ValueError as error:
        raise SystemExit(str(error)) from error


def verify() -> None:
    """Check every result of the paper by what it constructs, and every correction to its text; exit 1 if one fails."""
    from .theory import verify_all

    if not verify_all():
        raise SystemExit(1)


def main() -> None:
    listed: tuple[Callable[..., None], ...] = (
        info,
        fit,
        ant,
        play,
        cifar10,
        imagenet,
        sweep,
        runs,
        try_,
        report,
        explore,
        cost,
        verify,
        bench,
        plot,
    )
    commands = {command.__name__.rstrip("_"): command for command in listed}
    tyro.extras.subcommand_cli_from_dict(commands, prog="proxact", description=__doc__)


if __name__ == "__main__":
    main()
