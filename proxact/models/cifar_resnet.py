"""ResNets for 32 x 32 pictures: 3 x 3 stem, no pooling after it, and every activation a module of its own."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from .._checks import check_choice, check_positive_int
from ..registry import get
from .conv import Conv2d

CIFAR_RESNETS = {
    "resnet18": ("basic", (2, 2, 2, 2)),
    "resnet18+": ("basic", (2, 2, 2, 3)),
    "resnet34": ("basic", (3, 4, 6, 3)),
    "resnet50": ("bottleneck", (3, 4, 6, 3)),
    "resnet101": ("bottleneck", (3, 4, 23, 3)),
}


def cifar_resnet(
    name: str = "resnet18", activation: str = "relu", classes: int = 10, *, width: int = 64, **arguments: Any
) -> CifarResNet:
    """A network by name with an activation by name.

    Args:
        name: one of ``CIFAR_RESNETS``; ``resnet18+`` has one block more than ``resnet18``, as in the paper.
        activation: a name of :func:`proxact.names`; every site gets a module of its own.
        classes: size of the output.
        width: channels of the stem and the first stage; each further stage has twice as many.
        arguments: passed to each activation; ``dim`` is 1, the channels, unless given.

    Example:
        >>> net = cifar_resnet("resnet18", "mpu2")
        >>> sum(isinstance(module, proxact.MPU) for module in net.modules())
        17
    """
    check_choice("name", name, tuple(CIFAR_RESNETS))
    check_positive_int("width", width)
    kind, blocks = CIFAR_RESNETS[name]
    return CifarResNet(kind, blocks, activation, classes, {"dim": 1, **arguments}, width)


class CifarResNet(nn.Module):
    def __init__(
        self,
        kind: str,
        blocks: tuple[int, ...],
        activation: str,
        classes: int,
        arguments: dict[str, Any],
        base: int = 64,
    ) -> None:
        super().__init__()
        expansion = 4 if kind == "bottleneck" else 1
        self.stem = nn.Sequential(Conv2d(3, base, 3), nn.BatchNorm2d(base), get(activation, **arguments))
        stages: list[nn.Module] = []
        channels = base
        for stage, count in enumerate(blocks):
            width = base * 2**stage
            for block in range(count):
                stride = 2 if stage > 0 and block == 0 else 1
                stages.append(_Block(kind, channels, width, expansion, stride, activation, arguments))
                channels = width * expansion
        self.blocks = nn.Sequential(*stages)
        self.head = nn.Linear(channels, classes)

    def forward(self, x: Tensor) -> Tensor:
        return self.head(self.blocks(self.stem(x)).mean((2, 3)))


class _Block(nn.Module):
    def __init__(
        self,
        kind: str,
        channels: int,
        width: int,
        expansion: int,
        stride: int,
        activation: str,
        arguments: dict[str, Any],
    ) -> None:
        super().__init__()
        out = width * expansion
        plan = [(channels, width, 3, stride), (width, out, 3, 1)]
        if kind == "bottleneck":
            plan = [(channels, width, 1, 1), (width, width, 3, stride), (width, out, 1, 1)]
        layers: list[nn.Module] = []
        for i, (inputs, outputs, size, step) in enumerate(plan):
            layers += [Conv2d(inputs, outputs, size, step), nn.BatchNorm2d(outputs)]
            if i < len(plan) - 1:
                layers.append(get(activation, **arguments))
        self.body = nn.Sequential(*layers)
        self.skip: nn.Module = nn.Identity()
        if stride != 1 or channels != out:
            self.skip = nn.Sequential(Conv2d(channels, out, 1, stride), nn.BatchNorm2d(out))
        self.activation = get(activation, **arguments)

    def forward(self, x: Tensor) -> Tensor:
        return self.activation(torch.add(self.body(x), self.skip(x)))
