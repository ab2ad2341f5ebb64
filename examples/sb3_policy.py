"""Stable-Baselines3: policy_kwargs={"activation_fn": proxact.MPU}, for the policy and the value network."""

import tempfile
from pathlib import Path

import torch
from stable_baselines3 import PPO

import proxact

model = PPO(
    "MlpPolicy",
    "CartPole-v1",
    policy_kwargs={"activation_fn": proxact.MPU, "net_arch": [32, 32]},
    n_steps=128,
    batch_size=64,
    n_epochs=2,
    seed=0,
    device="cpu",
)
model.learn(512)

units = [module for module in model.policy.modules() if isinstance(module, proxact.MPU)]
print("angles, from pi/4 = 0.7854:", ", ".join(f"{unit.alpha.item():.4f}" for unit in units))

with tempfile.TemporaryDirectory() as folder:
    path = Path(folder) / "policy.zip"
    model.save(path)
    loaded = PPO.load(path, device="cpu")
observation = torch.randn(5, 4).numpy()
same = (loaded.predict(observation, deterministic=True)[0] == model.predict(observation, deterministic=True)[0]).all()
print(f"saved and loaded: the same actions is {same}")
