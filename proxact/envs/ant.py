"""IsaacGym's Ant task on MuJoCo: thousands of ants stepped together on a thread pool."""

from __future__ import annotations

import json
import math
import os
from typing import Any

import gymnasium
import mujoco
import numpy as np
import torch
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space
from mujoco import rollout

from .ant_model import CONTROL_SECONDS, SUBSTEPS, joint_limits, mjcf

Array = np.ndarray

EPISODE_STEPS = 1000
TARGET = np.array([1000.0, 0.0, 0.0])
START_HEIGHT, FALLEN_HEIGHT, FALLEN_REWARD = 0.44, 0.31, -2.0
FASTEST = 50.0
"""m/s and, ten times as much, rad/s: no ant moves so fast. A simulation that does has become unstable."""

_STATE = ("_state", "_sensors", "_actions", "_steps", "_potential", "_observation")
_CHUNK = 64  # ants a thread takes at a time; 64 to 128 were fastest


class AntVec(VectorEnv):
    """``num_envs`` ants that shall run along x, with the Gymnasium vector interface.

    Observations (60): height; velocity and angular velocity in the torso's frame; yaw, roll, angle to the target; how
    upright, how well headed; joint positions scaled to [-1, 1]; joint velocities x 0.2; force and torque at the four
    feet x 0.1; the last action. Actions (8): torques, hip and ankle of each leg, in [-1, 1].

    An episode ends when the torso is below 0.31 m, is cut off after 1,000 steps, and starts anew in the same step: the
    observation returned is the new episode's, the last one of the old is in ``info["final_obs"]``.

    A simulation that becomes unstable (not finite, or faster than any ant) ends its episode there. Its state never gets
    into an observation; ``unstable`` counts such ends.

    The same seed gives the same trajectories whatever the number of threads.

    Differences to the original: MuJoCo's contacts are soft and solved by Newton's method, PhysX's are rigid; foot
    sensors measure the force between foot and leg at the tip, before the last substep; IsaacGym resets one step later
    and clips observations to +-5. Rewards are therefore not comparable with those of IsaacGym, only with each other.

    Args:
        num_envs: number of ants.
        threads: of the pool; by default one for each core.
    """

    metadata = {"autoreset_mode": AutoresetMode.SAME_STEP, "render_modes": []}  # noqa: RUF012

    def __init__(self, num_envs: int = 4096, *, threads: int | None = None) -> None:
        if isinstance(num_envs, bool) or not isinstance(num_envs, int) or num_envs < 1:
            raise ValueError(f"num_envs must be an int >= 1, got {num_envs!r}")
        self.num_envs = num_envs
        self.single_observation_space = gymnasium.spaces.Box(-np.inf, np.inf, (60,), np.float32)
        self.single_action_space = gymnasium.spaces.Box(-1.0, 1.0, (8,), np.float32)
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        mujoco.set_mju_user_warning(_ignore)  # else MuJoCo writes a log into the current folder
        self.model = mujoco.MjModel.from_xml_string(mjcf())
        threads = threads or mujoco_threads()
        self._pool = rollout.Rollout(nthread=threads)
        self._data = [mujoco.MjData(self.model) for _ in range(threads)]
        size = mujoco.mj_stateSize(self.model, mujoco.mjtState.mjSTATE_FULLPHYSICS)
        self._states = np.zeros((num_envs, SUBSTEPS, size))
        self._sensors = np.zeros((num_envs, SUBSTEPS, self.model.nsensordata))
        self._state = np.zeros((num_envs, size))
        self._low, self._high = joint_limits()
        self._rest = np.clip(0.0, self._low, self._high)
        self._actions = np.zeros((num_envs, 8))
        self._steps = np.zeros(num_envs, dtype=np.int64)
        self._potential = np.zeros(num_envs)
        self._observation = np.zeros((num_envs, 60), dtype=np.float32)
        self._rng = np.random.default_rng()
        self.unstable = 0

    # The state is time, position (3), orientation (4, w first), joints (8), velocity (3, world), turning (3, torso's
    # frame), joint velocities (8).
    @property
    def physics(self) -> Array:
        """MuJoCo's states (n, 30), as mj_setState with mjSTATE_FULLPHYSICS takes them; a copy."""
        return self._state.copy()

    @property
    def _position(self) -> Array:
        return self._state[:, 1:4]

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Array, dict[str, Any]]:
        if seed is not None:
            self._rng = np.random.default_rng(seed)
        self._sensors[:] = 0
        self._start_episodes(np.ones(self.num_envs, dtype=bool))
        self._observation = self._observe(slice(None))
        return self._observation.copy(), {}

    def step(self, actions: Array) -> tuple[Array, Array, Array, Array, dict[str, Any]]:
        actions = np.asarray(actions, dtype=np.float64)
        if actions.shape != (self.num_envs, 8):
            raise ValueError(f"actions must have shape {(self.num_envs, 8)}, got {actions.shape}")
        self._actions = np.clip(np.nan_to_num(actions), -1.0, 1.0)
        control = np.repeat(self._actions[:, None], SUBSTEPS, axis=1)
        # Contiguous float64 arrays of the right shapes: the pool's own checks would copy them.
        self._pool.rollout(
            self.model,
            self._data,
            self._state,
            control,
            nstep=SUBSTEPS,
            state=self._states,
            sensordata=self._sensors,
            chunk_size=_CHUNK,
        )
        self._steps += 1
        before, self._state = self._state, self._states[:, -1].copy()
        unstable = is_unstable(self._state)
        self.unstable += int(unstable.sum())
        self._state[unstable] = before[unstable]  # a finite stand-in, replaced below
        self._sensors[unstable] = 0
        observation = self._observe(slice(None))
        observation[unstable] = self._observation[unstable]
        potential = potential_of(self._position)
        rewards = reward_of(observation, potential - self._potential, self._position[:, 2])
        rewards[unstable] = FALLEN_REWARD
        self._potential = potential
        terminated = (self._position[:, 2] < FALLEN_HEIGHT) | unstable
        truncated = (self._steps >= EPISODE_STEPS) & ~terminated
        done, info = terminated | truncated, {}
        if done.any():
            info = {"final_obs": observation.copy(), "_final_obs": done}
            self._start_episodes(done)
            observation[done] = self._observe(done)
        self._observation = observation
        return observation.copy(), rewards.astype(np.float32), terminated, truncated, info

    def get_state(self) -> dict[str, Any]:
        """Everything that the future depends on, as tensors and numbers for a checkpoint."""
        arrays = {name: torch.from_numpy(getattr(self, name).copy()) for name in _STATE}
        return {**arrays, "random": json.dumps(self._rng.bit_generator.state), "unstable": self.unstable}

    def set_state(self, state: dict[str, Any]) -> None:
        for name in _STATE:
            setattr(self, name, state[name].numpy().copy())
        self._rng.bit_generator.state = json.loads(state["random"])
        self.unstable = state["unstable"]

    def close_extras(self, **_: Any) -> None:
        self._pool.close()

    def _start_episodes(self, which: Array) -> None:
        count = int(which.sum())
        start = np.zeros((count, self._state.shape[1]))
        start[:, 3], start[:, 4] = START_HEIGHT, 1.0
        joints = self._rest + self._rng.uniform(-0.2, 0.2, (count, 8))
        start[:, 8:16] = np.clip(joints, self._low, self._high)
        start[:, 22:30] = self._rng.uniform(-0.1, 0.1, (count, 8))
        self._state[which] = start
        self._steps[which] = 0
        self._actions[which] = 0
        self._sensors[which] = 0
        self._potential[which] = potential_of(self._position[which])

    def _observe(self, which: Array | slice) -> Array:
        state = self._state[which]
        scaled = (2 * state[:, 8:16] - self._high - self._low) / (self._high - self._low)
        return observe(state, scaled, self._sensors[which, -1], self._actions[which])


def _ignore(_message: str) -> None:
    """Unstable simulations are seen to by step()."""


def mujoco_threads() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def is_unstable(state: Array) -> Array:
    """Of states (n, 30): not finite, or too fast."""
    with np.errstate(invalid="ignore"):
        too_fast = (np.abs(state[:, 16:19]) > FASTEST).any(1) | (np.abs(state[:, 19:]) > 10 * FASTEST).any(1)
    return too_fast | ~np.isfinite(state).all(1) | (np.abs(state[:, 3]) > FASTEST)


def potential_of(position: Array) -> Array:
    """Minus the distance to the target on the floor, over the time of a step: its change is the speed towards it."""
    away = TARGET - position
    return -np.hypot(away[:, 0], away[:, 1]) / CONTROL_SECONDS


def observe(state: Array, joints: Array, sensors: Array, actions: Array) -> Array:
    """The observation of states (n, 30) with scaled joint positions, foot sensors (n, 24) and actions."""
    position, quaternion = state[:, 1:4], state[:, 4:8]
    rotation = rotation_matrix(quaternion)  # torso's frame to the world's
    w, x, y, z = quaternion.T
    roll = np.arctan2(2 * (w * x + y * z), w * w - x * x - y * y + z * z) % (2 * math.pi)
    yaw = np.arctan2(2 * (w * z + x * y), w * w + x * x - y * y - z * z) % (2 * math.pi)
    away = TARGET - position
    # As IsaacGym has it, with the height difference in place of y.
    angle = np.arctan2(away[:, 2], away[:, 0]) - yaw
    direction = away[:, :2] / np.linalg.norm(away[:, :2], axis=1, keepdims=True)
    heading = (rotation[:, :2, 0] * direction).sum(1)
    parts = [
        position[:, 2],
        np.einsum("nji,nj->ni", rotation, state[:, 16:19]),
        state[:, 19:22],
        yaw,
        roll,
        angle,
        rotation[:, 2, 2],
        heading,
        joints,
        0.2 * state[:, 22:30],
        0.1 * sensors,
        actions,
    ]
    return np.column_stack(parts).astype(np.float32)


def reward_of(observation: Array, progress: Array, height: Array) -> Array:
    """Progress, being alive, upright and headed for the target, less the cost of effort; -2 for a fallen ant."""
    upright, heading = observation[:, 10], observation[:, 11].astype(np.float64)
    joints, speeds, actions = observation[:, 12:20], observation[:, 20:28], observation[:, 52:60].astype(np.float64)
    reward = (
        progress
        + 0.5
        + np.where(upright > 0.93, 0.1, 0.0)
        + np.where(heading > 0.8, 0.5, 0.5 * heading / 0.8)
        - 0.005 * (actions**2).sum(1)
        - 0.05 * np.abs(actions * speeds).sum(1)
        - 0.1 * (joints > 0.99).sum(1)
    )
    return np.where(height < FALLEN_HEIGHT, FALLEN_REWARD, reward)


def rotation_matrix(quaternion: Array) -> Array:
    w, x, y, z = quaternion.T
    rows = [
        [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
        [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
        [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
    ]
    return np.moveaxis(np.array(rows), -1, 0)
