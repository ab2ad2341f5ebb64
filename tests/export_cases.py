"""Small models with every kind of unit, for the tests that export them."""

import torch
from torch import nn

from proxact import MPU, LeakyMPU


def turn(model):
    """Angles away from pi/4, another one for each unit and group."""
    generator = torch.Generator().manual_seed(0)
    for unit in model.modules():
        if isinstance(unit, MPU):
            unit.theta.data.uniform_(-0.6, 0.6, generator=generator)
    return model


CONV, LINEAR = (5, 3, 6, 6), (5, 4, 9)
MODELS = {
    "m = 2, NCHW": (lambda: nn.Sequential(nn.Conv2d(3, 8, 3), MPU()), CONV),
    "m = 3, padded": (lambda: nn.Sequential(nn.Conv2d(3, 8, 3), MPU(3)), CONV),
    "m = 3, remainder by relu": (lambda: nn.Sequential(nn.Conv2d(3, 8, 3), MPU(3, remainder="relu")), CONV),
    "an angle for each group": (lambda: nn.Sequential(nn.Conv2d(3, 9, 3), MPU(3, num_parameters=3)), CONV),
    "split groups": (lambda: nn.Sequential(nn.Conv2d(3, 8, 3), MPU(2, grouping="split", num_parameters=4)), CONV),
    "flat": (lambda: nn.Sequential(nn.Conv2d(3, 5, 3), MPU(3, dim="flat")), CONV),
    "leaky, channels last": (lambda: nn.Sequential(nn.Linear(9, 7), LeakyMPU(2, dim=-1)), LINEAR),
    "fixed angle": (lambda: nn.Sequential(nn.Linear(9, 7), MPU(4, alpha=0.5, learnable=False, dim=-1)), LINEAR),
}
