"""A small model and its training, for the tests of the monitor."""

import torch
from torch import nn

import proxact


def small(**arguments):
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(8, 12), proxact.MPU(**arguments), nn.Linear(12, 9), proxact.MPU(3))


def train(model, monitor, steps, batch=16):
    optimiser = torch.optim.SGD(model.parameters(), 0.01)
    generator = torch.Generator().manual_seed(1)
    for _ in range(steps):
        optimiser.zero_grad()
        model(torch.randn(batch, 8, generator=generator)).square().mean().backward()
        optimiser.step()
        monitor.step()
