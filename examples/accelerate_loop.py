"""Accelerate: a plain loop in bfloat16, gradients clipped, the state saved and loaded."""

import tempfile

import torch
from accelerate import Accelerator
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

import proxact

torch.manual_seed(0)
accelerator = Accelerator(mixed_precision="bf16", cpu=True)
x = torch.randn(512, 4)
data = DataLoader(TensorDataset(x, x.norm(dim=1, keepdim=True)), batch_size=64)
model = nn.Sequential(nn.Linear(4, 32), proxact.MPU(), nn.Linear(32, 30), proxact.LeakyMPU(3), nn.Linear(30, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
model, optimizer, data = accelerator.prepare(model, optimizer, data)

for _ in range(5):
    for inputs, targets in data:
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(inputs).float(), targets)
        accelerator.backward(loss)
        accelerator.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()

units = [module for module in accelerator.unwrap_model(model) if isinstance(module, proxact.MPU)]
angles = [unit.alpha.item() for unit in units]
with tempfile.TemporaryDirectory() as folder:
    accelerator.save_state(folder)
    for unit in units:
        nn.init.zeros_(unit.theta)
    accelerator.load_state(folder)
print(f"loss {loss.item():.4f}; angles, from pi/4 = 0.7854:", ", ".join(f"{angle:.4f}" for angle in angles))
print("after loading:", ", ".join(f"{unit.alpha.item():.4f}" for unit in units))
