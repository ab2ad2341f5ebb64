"""Activations as projections onto convex sets: experiments, tools and pictures. Also python -m proxact."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Literal

import tyro

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


def fit(
    activations: tuple[str, ...] = ("relu", "prelu", "leaky_relu", "wta", "maxout", "crelu", "mpu2"),
    targets: tuple[Literal["cone", "leaky_relu"], ...] = ("cone", "leaky_relu"),
    widths: str = "2:40",
    seeds: tuple[int, ...] = (1, 2, 3),
    epochs: int = 50,
    samples: int = 40_000,
    test_samples: int = 10_000,
    target_angle: Literal["paper", "code"] = "paper",
    learn_angle: bool = False,
    remainder: Literal["pad", "relu"] = "pad",
    grid_search: bool = False,
    runs: Path = Path("runs"),
) -> None:
    """The paper's fitting experiment: shallow networks of every width fit two functions of two variables.

    Args:
        activations: names of the library, see proxact.names().
        targets: a network activated by the projection onto the cone, or by 2-D Leaky ReLU.
        widths: hidden widths, start:stop or start:stop:step as in Python, stop excluded.
        seeds: for data, initial weights and order; all activations share them.
        epochs: of SGD with momentum 0.9 and batches of 128.
        samples: to train on.
        test_samples: to test on.
        target_angle: the cone's half-apex angle is pi/3 (paper) or has the tangent pi/3 (code).
        learn_angle: train the MPU's angle; otherwise it keeps the tangent 1.19 of the published code.
        remainder: what the MPU does with a unit that fills no group.
        grid_search: run the learning rates 1e-4, 5e-4 and 1e-3 instead of the paper's choice for each target.
        runs: where the run folders go; finished runs are not run again.
    """
    from .experiments import fit as experiment
    from .experiments.runs import RunError

    try:
        template = {
            "widths": experiment.parse_widths(widths),
            "seeds": seeds,
            "epochs": epochs,
            "samples": samples,
            "test_samples": test_samples,
            "target_angle": target_angle,
            "learn_angle": learn_angle,
            "remainder": remainder,
        }
        planned = list(experiment.plan(activations, targets, grid_search, template))
        for one in planned:
            experiment.run(one, runs / "fit" / one.label)
    except (RunError, ValueError) as error:
        raise SystemExit(str(error)) from error
    print(f"{len(planned)} runs in {runs / 'fit'}; a page of them: proxact report {runs}")


def ant(
    activations: tuple[str, ...] = ("relu", "leaky_relu", "prelu", "wta", "mpu2", "leaky_mpu2", "mpu3", "elu"),
    seeds: tuple[int, ...] = (1, 2, 3),
    model: Literal["mlp", "mlp+"] = "mlp",
    env: str = "ant",
    epochs: int = 500,
    num_envs: int = 4096,
    horizon: int = 16,
    minibatch: int = 32_768,
    mini_epochs: int = 4,
    reward_scale: float = 0.01,
    clip_observations: float = 5.0,
    runs: Path = Path("runs"),
) -> None:
    """The paper's reinforcement-learning experiment: PPO teaches an ant to run, 20 minutes a run on two cores.

    Args:
        activations: names of the library, see proxact.names().
        seeds: for initial weights, exploration and the ants' starts; all activations share them.
        model: hidden layers of 256, 128, 64 units; mlp+ has 96 in the last.
        env: ant is ours, IsaacGym's task; or any Gymnasium environment with Box spaces, such as Ant-v5.
        epochs: of playing and learning.
        num_envs: environments stepped together; Gymnasium's run in a process each, so take a few.
        horizon: steps that each plays in an epoch.
        minibatch: of the learning; must divide num_envs x horizon.
        mini_epochs: passes over what was played.
        reward_scale: of the rewards that the learner sees; the returns shown are unscaled.
        clip_observations: what the learner sees is clipped to this, up and down.
        runs: where the run folders go; finished runs are not run again, unfinished ones go on.
    """
    try:
        from .experiments import ant as experiment
    except ModuleNotFoundError as error:
        raise SystemExit(f"proxact ant needs {error.name}: pip install 'proxact[rl]'") from error
    from .experiments.runs import RunError

    settings = {
        "model": model,
        "env": env,
        "epochs": epochs,
        "num_envs": num_envs,
        "horizon": horizon,
        "minibatch": minibatch,
        "mini_epochs": mini_epochs,
        "reward_scale": reward_scale,
        "clip_observations": clip_observations,
    }
    try:
        planned = list(experiment.plan(activations, seeds, settings))
        for one in planned:
            experiment.run(one, runs / "ant" / one.label)
    except (RunError, ValueError) as error:
        raise SystemExit(str(error)) from error
    print(f"{len(planned)} runs in {runs / 'ant'}; a page of them: proxact report {runs}")


def play(run: tyro.conf.Positional[Path], out: Path | None = None, seconds: float = 10.0) -> None:
    """Film what a run of proxact ant has learnt.

    Args:
        run: the folder of a finished run.
        out: the film, a .gif or .webp; play.gif in the run's folder if not given.
        seconds: of the ant's time.
    """
    try:
        from .experiments.play import play as film
    except ModuleNotFoundError as error:
        raise SystemExit(f"proxact play needs {error.name}: pip install 'proxact[rl]'") from error
    from .experiments.runs import RunError

    out = out or run / "play.gif"
    try:
        found = film(run, out, seconds)
    except (RunError, ValueError) as error:
        raise SystemExit(str(error)) from error
    print(f"{found['steps']} steps, return {found['return']:.0f}, {found['metres']:.1f} m at {found['speed']:.1f} m/s")
    print(out)


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
