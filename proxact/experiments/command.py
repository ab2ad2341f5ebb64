"""The commands proxact fit, ant and play."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import tyro


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
    from . import fit as experiment
    from .runs import RunError

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
        from . import ant as experiment
    except ModuleNotFoundError as error:
        raise SystemExit(f"proxact ant needs {error.name}: pip install 'proxact[rl]'") from error
    from .runs import RunError

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
        from .play import play as film
    except ModuleNotFoundError as error:
        raise SystemExit(f"proxact play needs {error.name}: pip install 'proxact[rl]'") from error
    from .runs import RunError

    out = out or run / "play.gif"
    try:
        found = film(run, out, seconds)
    except (RunError, ValueError) as error:
        raise SystemExit(str(error)) from error
    print(f"{found['steps']} steps, return {found['return']:.0f}, {found['metres']:.1f} m at {found['speed']:.1f} m/s")
    print(out)
