"""Film a trained ant: its policy without exploration, rendered offscreen."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import torch
from gymnasium.vector import SyncVectorEnv
from PIL import Image

from ..envs import AntVec
from ..envs.ant_model import CONTROL_SECONDS
from ..models.mlp import ANT_UNITS
from .ant import OURS, Ant
from .ppo import Ppo
from .runs import RunError

WIDTH, HEIGHT = 480, 270


def play(folder: Path, out: Path, seconds: float = 10.0, frames_per_second: int = 20) -> dict[str, float]:
    """Write the film and return how the ant did: the return, the steps, metres along x and m/s of what is shown."""
    if out.suffix not in (".gif", ".webp"):
        raise ValueError(f"out must end in .gif or .webp, got {out.name!r}")
    ant, weights = _read(folder)
    env, picture, step_seconds, place = _stage(ant.env)
    policy = _policy(ant, env, weights)
    observation, _ = env.reset(seed=ant.seed)
    start = end = place()
    total, images = 0.0, [picture()]
    every = max(1, round(1 / frames_per_second / step_seconds))
    taken, steps = 0, max(1, round(seconds / step_seconds))
    while taken < steps:
        taken += 1
        observation, reward, terminated, truncated, _ = env.step(policy(observation))
        total += float(reward[0])
        if terminated[0] or truncated[0]:
            break
        end = place()
        if taken % every == 0:
            images.append(picture())
    _write(images, out, step_seconds * every)
    env.close()
    return {"return": total, "steps": taken, "metres": end - start, "speed": (end - start) / (taken * step_seconds)}


def _read(folder: Path) -> tuple[Ant, dict[str, Any]]:
    config, policy = folder / "config.json", folder / "policy.pt"
    for path in (config, policy):
        if not path.exists():
            raise RunError(f"run must be the folder of a finished run of proxact ant, got {folder}: no {path.name}")
    return Ant(**json.loads(config.read_text())["config"]), torch.load(policy, weights_only=True, map_location="cpu")


def _stage(name: str) -> tuple[Any, Callable[[], Any], float, Callable[[], float]]:
    """One environment, its camera, the seconds of a step and where along x the body is (nan if it has no place)."""
    if name != OURS:
        env = SyncVectorEnv([lambda: gymnasium.make(name, render_mode="rgb_array")])
        inner: Any = env.envs[0].unwrapped
        seconds = float(getattr(inner, "dt", 1 / env.envs[0].metadata.get("render_fps", 30)))
        return env, env.envs[0].render, seconds, lambda: float(inner.data.qpos[0]) if hasattr(inner, "data") else np.nan
    import mujoco  # not before proxact.envs, which chooses how it renders

    ours = AntVec(1, threads=1)
    data = mujoco.MjData(ours.model)
    renderer = mujoco.Renderer(ours.model, HEIGHT, WIDTH)
    renderer.scene.flags[mujoco.mjtRndFlag.mjRND_REFLECTION] = 0

    def picture() -> np.ndarray:
        mujoco.mj_setState(ours.model, data, ours.physics[0], mujoco.mjtState.mjSTATE_FULLPHYSICS)
        mujoco.mj_forward(ours.model, data)
        renderer.update_scene(data, camera="follow")
        return renderer.render()

    return ours, picture, CONTROL_SECONDS, lambda: float(ours.physics[0, 1])


def _policy(ant: Ant, env: Any, weights: dict[str, Any]) -> Callable[[np.ndarray], np.ndarray]:
    """From observations to the mean action, as the learner sees and scales them."""
    config = {**vars(ant), "units": ANT_UNITS[ant.model], "device": "cpu", "horizon": 16, "minibatch": 16}
    with tempfile.TemporaryDirectory() as scratch:
        ppo = Ppo(env, ant.activation, ant.seed, config, Path(scratch))
    ppo.model.load_state_dict(weights)
    ppo.model.eval()

    @torch.no_grad()
    def act(observation: np.ndarray) -> np.ndarray:
        seen = torch.from_numpy(ppo.agent.vec_env._seen(observation))
        found = ppo.model({"is_train": False, "prev_actions": None, "obs": seen})["mus"]
        return ppo.agent.preprocess_actions(found)

    return act


def _write(images: list[np.ndarray], out: Path, frame_seconds: float) -> None:
    out.parent.mkdir(parents=True, exist_ok=True)
    first, *rest = _shrunk(images, out.suffix)
    first.save(out, save_all=True, append_images=rest, duration=round(1000 * frame_seconds), loop=0)


def _shrunk(images: list[np.ndarray], suffix: str) -> Iterator[Image.Image]:
    """A film of one palette is half as large."""
    palette = Image.fromarray(images[-1]).quantize(128)
    for image in map(Image.fromarray, images):
        yield image.quantize(palette=palette, dither=Image.Dither.NONE) if suffix == ".gif" else image
