"""torchrl: MLP(activation_class=...). With dim=-1 it takes batches of any shape, as torchrl gives them."""

import torch
from torchrl.modules import MLP

import proxact

torch.manual_seed(0)
mlp = MLP(in_features=6, out_features=1, num_cells=[32, 30], activation_class=proxact.act_layer("mpu3", dim=-1))
print(mlp)

states = torch.randn(16, 20, 6)  # environments, steps, features
returns = states.norm(dim=-1, keepdim=True)
optimizer = torch.optim.Adam(mlp.parameters(), lr=1e-2)
for _ in range(50):
    optimizer.zero_grad()
    loss = torch.nn.functional.mse_loss(mlp(states), returns)
    loss.backward()
    optimizer.step()
units = [module for module in mlp.modules() if isinstance(module, proxact.MPU)]
print(f"loss {loss.item():.4f}; angles, from pi/4 = 0.7854:", ", ".join(f"{unit.alpha.item():.4f}" for unit in units))
