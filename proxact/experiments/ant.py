"""The paper's reinforcement-learning experiment: PPO in the Ant environment, 4,096 ants x 16 steps x 500 epochs.

The score is the mean episode return over the last 10 % of the epochs; the best over training is kept too. About 20
minutes a run on two cores. Any Gymnasium environment with Box observations and actions can take the ant's place.
"""

from __future__ import annotations

import math
import shutil
import time
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

import gymnasium
import torch
from gymnasium.spaces import Box
from gymnasium.vector import AutoresetMode, VectorEnv

from ..envs import AntVec
from ..models.mlp import ANT_UNITS
from ..nn import MPU
from ..registry import get
from .ppo import Ppo
from .progress import Progress
from .runs import Run

OURS = "ant"
_SECONDS_BETWEEN_CHECKPOINTS = 30.0


@dataclass(frozen=True)
class Ant:
    """One training; the defaults are IsaacGym's settings for its Ant."""

    activation: str
    seed: int = 1
    model: str = "mlp"
    env: str = OURS
    epochs: int = 500
    num_envs: int = 4096
    horizon: int = 16
    minibatch: int = 32_768
    mini_epochs: int = 4
    reward_scale: float = 0.01
    clip_observations: float = 5.0
    preset: str = "paper"

    def __post_init__(self) -> None:
        get(self.activation)
        if self.model not in ANT_UNITS:
            raise ValueError(f"model must be one of {', '.join(ANT_UNITS)}, got {self.model!r}")
        if self.num_envs * self.horizon % self.minibatch:
            raise ValueError(
                f"minibatch must divide num_envs x horizon = {self.num_envs * self.horizon}, got {self.minibatch}"
            )

    @property
    def label(self) -> str:
        where = "" if self.env == OURS else f"{self.env.replace('/', '-')}/"
        return f"{where}{self.model.replace('+', '-plus')}/{self.activation}/seed{self.seed}"


def plan(activations: Iterable[str], seeds: Iterable[int], settings: dict[str, Any]) -> Iterator[Ant]:
    """Every activation with the first seed, then with the next: a table can be drawn early."""
    defaults = {field.name: field.default for field in fields(Ant)}
    preset = "paper" if all(defaults[name] == value for name, value in settings.items() if name != "model") else "own"
    for seed in seeds:
        for activation in activations:
            yield Ant(activation, seed, preset=preset, **settings)


def run(ant: Ant, folder: Path) -> dict[str, Any]:
    """Train, or go on training, and return the summary."""
    config = asdict(ant)
    with Run(folder, "ant", ant.activation, ant.seed, config) as record:
        if record.is_finished:
            return record.summary
        env = make_env(ant.env, ant.num_envs)
        device = "cuda:0" if torch.cuda.is_available() else "cpu"
        ppo = Ppo(env, ant.activation, ant.seed, {**config, "units": ANT_UNITS[ant.model], "device": device}, folder)
        state = record.load()
        if state is not None:
            ppo.load(state)
        saved = time.monotonic()
        with Progress(f"ant {ant.label}", ant.epochs) as progress:
            while ppo.agent.epoch_num < ant.epochs:
                row = ppo.epoch()
                row |= angles(ppo.model)
                record.log({name: round(value, 6) for name, value in row.items()})
                progress.update(int(row["epoch"]), f"return {row['return']:.0f}")
                if record.stop_requested or time.monotonic() - saved > _SECONDS_BETWEEN_CHECKPOINTS:
                    record.save(ppo.state())
                    saved = time.monotonic()
        torch.save(ppo.model.state_dict(), folder / "policy.pt")
        shutil.rmtree(folder / "rl_games", ignore_errors=True)
        env.close()
        return record.finish(score(record.rows))


def make_env(name: str, num_envs: int) -> VectorEnv:
    """Our ants, or copies of a Gymnasium environment, each in a process of its own."""
    if name == OURS:
        return AntVec(num_envs)
    try:
        env = gymnasium.make_vec(name, num_envs, "async", vector_kwargs={"autoreset_mode": AutoresetMode.SAME_STEP})
    except gymnasium.error.Error as error:
        raise ValueError(f"env must be {OURS!r} or a Gymnasium environment, got {name!r}: {error}") from error
    for role, space in (("observations", env.single_observation_space), ("actions", env.single_action_space)):
        if not isinstance(space, Box) or len(space.shape) != 1:
            raise ValueError(f"env must have a Box of one axis for its {role}, got {name!r} with {space}")
    return env


def angles(model: torch.nn.Module) -> dict[str, float]:
    """The half-apex angles of the layers, by name."""
    units = [unit for unit in model.modules() if isinstance(unit, MPU)]
    return {f"angle{i}": float(math.pi / 4 + unit.theta.detach().mean()) for i, unit in enumerate(units)}


def score(rows: list[dict[str, Any]]) -> dict[str, float]:
    last = rows[-max(1, len(rows) // 10) :]
    returns = [row["return"] for row in last]
    return {
        "score": sum(returns) / len(returns),
        "best_return": max(row["return"] for row in rows),
        "last_return": rows[-1]["return"],
        "unstable": rows[-1]["unstable"],
    }
