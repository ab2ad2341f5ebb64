"""The convolutions of the models."""

from __future__ import annotations

from torch import Tensor, nn

from ..kernels import winograd


class Conv2d(nn.Conv2d):
    """``nn.Conv2d`` without bias and with an output of the same size but for ``stride``; the weights are the same.

    3 x 3 filters are computed by the C kernel where it applies: float32 pictures on a CPU whose channels lie last.
    """

    def __init__(self, inputs: int, outputs: int, size: int, stride: int = 1) -> None:
        super().__init__(inputs, outputs, size, stride, padding=size // 2, bias=False)
        self.suits_winograd = winograd.suits(self)

    def forward(self, x: Tensor) -> Tensor:
        if self.suits_winograd and winograd.applies(x, self.weight):
            return winograd.convolve(x, self.weight)
        return super().forward(x)
