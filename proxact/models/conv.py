"""The convolutions of the models."""

from __future__ import annotations

from torch import Tensor, nn

from ..kernels import winograd


class Conv2d(nn.Conv2d):
    """``nn.Conv2d`` without bias, its output of the same size but for ``stride``.

    3 x 3 filters are computed by the C kernel where it applies. Unlike ``nn.Conv2d`` it is no leaf of ``torch.fx``,
    which therefore does not fuse it with batch norms.
    """

    def __init__(self, inputs: int, outputs: int, size: int, stride: int = 1) -> None:
        super().__init__(inputs, outputs, size, stride, padding=size // 2, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        if winograd.suits(self) and winograd.applies(x, self.weight):
            return winograd.convolve(x, self.weight)
        return super().forward(x)
