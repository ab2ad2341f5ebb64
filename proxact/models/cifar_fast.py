"""A small network for 32 x 32 pictures in the style of the CIFAR speed records: whitened patches, few convolutions."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from ..registry import get
from .conv import Conv2d

WIDTHS = (32, 128, 128)
_PATCH = 2
_SCALE = 1 / 9  # of the outputs: without it the first losses are large


class CifarFast(nn.Module):
    """A frozen layer that whitens patches of 2 x 2 pixels, three stages of two convolutions with a pooling, a head.

    Args:
        activation: a name of :func:`proxact.names`; each of the 7 sites gets a module of its own.
        classes: size of the output.
        widths: channels of the stages.
        arguments: passed to each activation; ``dim`` is 1, the channels, unless given.

    Call :meth:`whiten` with pictures before training; until then the first layer is random.

    Example:
        >>> CifarFast("mpu2")(torch.randn(2, 3, 32, 32)).shape
        torch.Size([2, 10])
    """

    def __init__(
        self, activation: str = "relu", classes: int = 10, *, widths: tuple[int, ...] = WIDTHS, **arguments: Any
    ) -> None:
        super().__init__()
        arguments = {"dim": 1, **arguments}
        channels = 2 * 3 * _PATCH**2
        self.patches = nn.Conv2d(3, channels, _PATCH, bias=False)
        self.patches.weight.requires_grad_(False)
        self.stem = get(activation, **arguments)
        layers: list[nn.Module] = []
        for width in widths:
            layers += [Conv2d(channels, width, 3), nn.MaxPool2d(2), nn.BatchNorm2d(width), get(activation, **arguments)]
            layers += [Conv2d(width, width, 3), nn.BatchNorm2d(width), get(activation, **arguments)]
            channels = width
        self.stages = nn.Sequential(*layers)
        self.head = nn.Linear(channels, classes)

    def forward(self, x: Tensor) -> Tensor:
        return self.head(self.stages(self.stem(self.patches(x))).amax((2, 3))) * _SCALE

    @torch.no_grad()
    def whiten(self, x: Tensor) -> None:
        """Let the first layer take patches of pictures like ``x`` to uncorrelated values of variance 1, and their
        negatives, so that no activation loses half of them."""
        patches = nn.functional.unfold(x, _PATCH).transpose(1, 2).flatten(0, 1).double()
        values, vectors = torch.linalg.eigh(torch.cov(patches.T))
        filters = (vectors / (values + 5e-4).sqrt()).T
        filters = torch.cat([filters, -filters]).view(-1, 3, _PATCH, _PATCH)
        self.patches.weight.copy_(filters)
