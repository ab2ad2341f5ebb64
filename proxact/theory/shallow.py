"""The paper's shallow network."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn.functional import linear

from ..project import cone
from .measure import normal


class ShallowNet(NamedTuple):
    """x -> W2 activation(W1 x + b1) + b2."""

    W1: Tensor
    b1: Tensor
    W2: Tensor
    b2: Tensor

    def relu(self, x: Tensor) -> Tensor:
        return self.activated_by(torch.relu, x)

    def mpu(self, x: Tensor, m: int, alpha: float) -> Tensor:
        return self.activated_by(lambda z: cone(z, alpha, m), x)

    def activated_by(self, activation: Callable[[Tensor], Tensor], x: Tensor) -> Tensor:
        return linear(activation(linear(x, self.W1, self.b1)), self.W2, self.b2)


def random_net(inputs: int, width: int, outputs: int, seed: int = 0) -> ShallowNet:
    shapes = ((width, inputs), (width,), (outputs, width), (outputs,))
    return ShallowNet(*[normal(*shape, seed=10 * seed + i) for i, shape in enumerate(shapes)])
