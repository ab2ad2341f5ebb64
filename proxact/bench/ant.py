"""The ant against the usual way: steps a second of the environment, of training, and of Stable-Baselines3."""

from __future__ import annotations

import json
import tempfile
import time
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from ..envs import AntVec
from ..experiments.ant import Ant
from ..experiments.ppo import Ppo
from ..info import origin
from ..models.mlp import ANT_UNITS
from .timing import interleaved, keep_freed_memory, ratios

SMALL = Ant("relu", num_envs=256, minibatch=2048, preset="small")
SB3_WORKERS = 16
_SB3: dict[str, dict[str, Any]] = {
    "its defaults": {},
    "our minibatches and passes": {"n_steps": 512, "batch_size": 4096, "n_epochs": 4},
}


def run_ant(out: Path, quick: bool) -> None:
    """Print the figures and write ``ant.json``."""
    keep_freed_memory()
    found: dict[str, Any] = {**origin(), "environment_steps_per_second": environment(10 if quick else 200)}
    print(f"environment, random actions: {found['environment_steps_per_second']:,.0f} steps/s")
    found["training"] = training(SMALL, rounds=2) if quick else training(Ant("relu"), rounds=12)
    for name, row in found["training"].items():
        print(f"training, {name}: {row['steps_per_second']:,.0f} steps/s, {row['ratio']:.3f} of the time with ReLU")
    found["stable_baselines3"] = {name: sb3(settings, quick) for name, settings in _SB3.items()}
    ours = found["training"]["relu"]["steps_per_second"]
    for name, speed in found["stable_baselines3"].items():
        times = ours / speed
        print(
            f"Stable-Baselines3, {SB3_WORKERS} workers of Ant-v5, {name}: {speed:,.0f} steps/s; ours {times:.1f} times"
        )
    out.mkdir(parents=True, exist_ok=True)
    (out / "ant.json").write_text(json.dumps(found, indent=1, default=str) + "\n")


def environment(steps: int, num_envs: int = 4096) -> float:
    """Steps a second with fresh random actions, observation, reward and resets included."""
    env, random = AntVec(num_envs), np.random.default_rng(0)
    env.reset(seed=0)
    actions = random.uniform(-1, 1, (20 + steps, num_envs, 8))
    for action in actions[:20]:
        env.step(action)
    start = time.perf_counter()
    for action in actions[20:]:
        env.step(action)
    seconds = time.perf_counter() - start
    env.close()
    return steps * num_envs / seconds


def training(ant: Ant, rounds: int) -> dict[str, dict[str, float]]:
    """Whole epochs, played and learnt, of the activations in turn; every one has ants of its own."""

    def epoch(activation: str, scratch: str) -> Callable[[], Any]:
        config = {**asdict(ant), "units": ANT_UNITS["mlp"], "device": "cpu"}
        return Ppo(AntVec(ant.num_envs), activation, ant.seed, config, Path(scratch) / activation).epoch

    with tempfile.TemporaryDirectory() as scratch:
        candidates = {name: epoch(name, scratch) for name in ("relu", "mpu2", "mpu3", "leaky_mpu2", "elu")}
        found = ratios(interleaved(candidates, rounds=rounds, seconds=3600), "relu")
    steps = ant.num_envs * ant.horizon
    return {name: {**row, "steps_per_second": 1e6 * steps / row["microseconds"]} for name, row in found.items()}


def sb3(settings: dict[str, Any], quick: bool) -> float:
    """Steps a second of Stable-Baselines3's PPO with workers in processes of their own, after one round to warm up."""
    from stable_baselines3 import PPO
    from stable_baselines3.common.env_util import make_vec_env
    from stable_baselines3.common.vec_env import SubprocVecEnv

    env = make_vec_env("Ant-v5", SB3_WORKERS, seed=0, vec_env_cls=SubprocVecEnv)
    if quick:
        settings = {**settings, "n_steps": 64}
    learner = PPO("MlpPolicy", env, device="cpu", policy_kwargs={"net_arch": [256, 128, 64]}, **settings)
    steps = learner.n_steps * SB3_WORKERS
    learner.learn(steps)
    start = time.perf_counter()
    learner.learn(steps)
    seconds = time.perf_counter() - start
    env.close()
    return steps / seconds
