"""rl_games' PPO, driven epoch by epoch so that it can be saved between any two, with activations of this library."""

from __future__ import annotations

import contextlib
import copy
import io
from pathlib import Path
from typing import Any

import numpy as np
import torch
from rl_games.algos_torch import model_builder, network_builder
from rl_games.algos_torch.a2c_continuous import A2CAgent
from rl_games.common.algo_observer import AlgoObserver
from rl_games.common.ivecenv import IVecEnv
from rl_games.common.tr_helpers import DefaultRewardsShaper

from ..registry import get


class _Network(network_builder.A2CBuilder.Network):
    """rl_games' multilayer perceptron; every layer gets an activation module of its own."""

    def load(self, params: dict[str, Any]) -> None:
        super().load(params)
        name = params["mlp"]["activation"]
        self.activations_factory.register_builder(name, lambda **_: get(name, dim=-1))


class _Builder(network_builder.A2CBuilder):
    def build(self, name: str, **kwargs: Any) -> _Network:
        return _Network(self.params, **kwargs)


def register_network() -> None:
    """Let rl_games' settings say ``network: {name: proxact, mlp: {activation: mpu2}}``, with any name of ours."""
    model_builder.register_network("proxact", _Builder)


class _Env(IVecEnv):
    """A Gymnasium vector environment as rl_games wants it: one flag for both ends, cut-offs told apart in the infos."""

    def __init__(self, env: Any, seed: int, clip: float) -> None:
        self.env, self.seed_, self.clip = env, seed, clip

    def reset(self) -> np.ndarray:
        return self._seen(self.env.reset(seed=self.seed_)[0])

    def step(self, actions: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, dict[str, Any]]:
        observation, reward, terminated, truncated, _ = self.env.step(actions)
        return self._seen(observation), reward.astype(np.float32), terminated | truncated, {"time_outs": truncated}

    def get_env_info(self) -> dict[str, Any]:
        return {
            "action_space": self.env.single_action_space,
            "observation_space": self.env.single_observation_space,
            "agents": 1,
            "value_size": 1,
        }

    def _seen(self, observation: np.ndarray) -> np.ndarray:
        """No single outlier can spoil the running mean and variance of the inputs: all are finite, within +-clip."""
        clipped = np.nan_to_num(observation, nan=0.0, posinf=self.clip, neginf=-self.clip)
        return np.clip(clipped, -self.clip, self.clip).astype(np.float32)


class Ppo:
    """One training. ``epoch()`` plays and learns once; ``state()`` and ``load()`` are exact.

    Environments that cannot save themselves (Gymnasium's own) start new episodes after ``load()``.
    """

    def __init__(self, env: Any, activation: str, seed: int, config: dict[str, Any], scratch: Path) -> None:
        torch.manual_seed(seed)
        np.random.seed(seed)
        self.env = env
        wrapped = _Env(env, seed, config["clip_observations"])
        register_network()
        units = list(config["units"])
        network = {
            "name": "proxact",
            "separate": False,
            "space": {
                "continuous": {
                    "mu_activation": "None",
                    "sigma_activation": "None",
                    "mu_init": {"name": "default"},
                    "sigma_init": {"name": "const_initializer", "val": 0},
                    "fixed_sigma": True,
                }
            },
            "mlp": {"units": units, "activation": activation, "initializer": {"name": "default"}},
        }
        settings = {
            "name": "run",
            "full_experiment_name": "rl_games",
            "train_dir": str(scratch),
            "env_name": "proxact",
            "env_info": wrapped.get_env_info(),
            "vec_env": wrapped,
            "num_actors": env.num_envs,
            "device": config["device"],
            "features": {"observer": AlgoObserver()},
            "reward_shaper": DefaultRewardsShaper(scale_value=config["reward_scale"]),
            "ppo": True,
            "mixed_precision": False,
            "normalize_input": True,
            "normalize_value": True,
            "normalize_advantage": True,
            "value_bootstrap": True,
            "gamma": 0.99,
            "tau": 0.95,
            "learning_rate": 3e-4,
            "lr_schedule": "adaptive",
            "schedule_type": "legacy",
            "kl_threshold": 0.008,
            "e_clip": 0.2,
            "clip_value": True,
            "clip_actions": True,
            "truncate_grads": False,
            "grad_norm": 1.0,
            "entropy_coef": 0.0,
            "critic_coef": 2,
            "bounds_loss_coef": 1e-4,
            "horizon_length": config["horizon"],
            "minibatch_size": config["minibatch"],
            "mini_epochs": config["mini_epochs"],
            "max_epochs": config["epochs"],
            "print_stats": False,
        }
        params = {"config": settings, "network": network, "model": {"name": "continuous_a2c_logstd"}}
        with contextlib.redirect_stdout(io.StringIO()):  # rl_games tells its life story
            self.agent = A2CAgent("run", params)
            self.agent.init_tensors()
            self.agent.obs = self.agent.env_reset()

    def epoch(self) -> dict[str, float]:
        """Play, learn, and return the mean return and length of the last hundred or more episodes that ended."""
        agent = self.agent
        agent.update_epoch()
        times = agent.train_epoch()
        agent.dataset.update_values_dict(None)
        agent.frame += agent.curr_frames
        ended = agent.game_rewards.current_size > 0
        return {
            "epoch": agent.epoch_num,
            "return": agent.game_rewards.mean[0].item() if ended else 0.0,
            "length": agent.game_lengths.mean[0].item() if ended else 0.0,
            "learning_rate": agent.last_lr,
            "play_seconds": times[1],
            "learn_seconds": times[2],
            "unstable": getattr(self.env, "unstable", 0),
        }

    @property
    def model(self) -> torch.nn.Module:
        return self.agent.model

    def state(self) -> dict[str, Any]:
        agent = self.agent
        meters = (agent.game_rewards, agent.game_shaped_rewards, agent.game_lengths)
        found = {
            "agent": {**agent.get_full_state_weights(), "env_state": None},
            "last_lr": agent.last_lr,
            "obs": agent.obs["obs"],
            "dones": agent.dones,
            "sums": [agent.current_rewards, agent.current_shaped_rewards, agent.current_lengths],
            "meters": [(meter.mean, int(meter.current_size)) for meter in meters],
            "env": self.env.get_state() if _is_restorable(self.env) else None,
            "random": torch.get_rng_state(),
        }
        return copy.deepcopy(found)  # training goes on in the same tensors

    def load(self, state: dict[str, Any]) -> None:
        agent = self.agent
        agent.set_full_state_weights(state["agent"])
        agent.last_lr = state["last_lr"]
        agent.update_lr(agent.last_lr)
        agent.obs, agent.dones = {"obs": state["obs"]}, state["dones"]
        agent.current_rewards, agent.current_shaped_rewards, agent.current_lengths = state["sums"]
        meters = (agent.game_rewards, agent.game_shaped_rewards, agent.game_lengths)
        for meter, (mean, size) in zip(meters, state["meters"], strict=True):
            meter.mean, meter.current_size = mean, size
        if _is_restorable(self.env):
            self.env.set_state(state["env"])
        else:
            self._restart()
        torch.set_rng_state(state["random"])

    def _restart(self) -> None:
        agent = self.agent
        agent.obs = agent.env_reset()
        agent.dones.fill_(1)
        for sums in (agent.current_rewards, agent.current_shaped_rewards, agent.current_lengths):
            sums.zero_()


def _is_restorable(env: Any) -> bool:
    return hasattr(env, "get_state") and hasattr(env, "set_state")
