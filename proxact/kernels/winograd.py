"""The C kernel of 3 x 3 convolutions by Winograd's method: when it applies, its place in autograd.

Two thirds of a ResNet18's training step on a CPU without bf16 are such convolutions. In training they take half the
time of oneDNN's, which multiplies directly, and are rounded about eight times as coarsely: root mean squares of 1e-6
(16 channels) to 5e-6 (512) of the outputs' standard deviation, single ones to 1e-4. An infinite input makes the outputs
of its whole patch nan. Under bf16 autocast pictures are read and written in bf16; filters and all between are float32.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from .eager import is_batched, is_plain_eager, parallel_address

try:
    from . import _winograd  # type: ignore[attr-defined]
except ImportError:  # no compiler when the package was installed
    _winograd = None

# A filter's values at the points 0, 1, -1, 2, -2 and infinity, divided as the patches' numbers ask for.
_POINTS = [
    [1 / 4, 0, 0],
    [-1 / 6, -1 / 6, -1 / 6],
    [-1 / 6, 1 / 6, -1 / 6],
    [1 / 24, 1 / 12, 1 / 6],
    [1 / 24, -1 / 12, 1 / 6],
    [0, 0, 1],
]
_LEAST_WORK = 65_536  # numbers of an input; of fewer, torch's convolution is as fast or faster
# In bf16 oneDNN multiplies twice as fast, with tiles (AMX) faster still: only layers of 32 to 128 channels gain by the
# kernel, a tenth to a third of their time (measured on Zen 4).
_HAS_TILES = torch.cpu._is_amx_tile_supported()
_PANEL = 16  # outputs that the kernel takes at a time
_ONE_AXIS = torch.tensor(_POINTS, dtype=torch.float64, device="cpu")
_TO_NUMBERS = torch.kron(_ONE_AXIS, _ONE_AXIS).float()


def describe() -> str:
    """What there is for float32 pictures whose channels lie last; one line for ``proxact info``."""
    if _winograd is None:
        return "torch (the C kernel was not built: no C compiler)"
    return "c, by Winograd's method" if _winograd.runs_here else "torch (the C kernel needs AVX2)"


def suits(conv: nn.Conv2d) -> bool:
    """Whether the kernel can compute this layer: 3 x 3, stride 1, zeros around, whole vectors of channels, no bias."""
    return (
        _winograd is not None
        and bool(_winograd.runs_here)
        and conv.kernel_size == (3, 3)
        and (conv.stride, conv.padding, conv.dilation) == ((1, 1),) * 3
        and (conv.groups, conv.bias, conv.padding_mode) == (1, None, "zeros")
        and conv.in_channels % _PANEL == 0
        and conv.out_channels % _PANEL == 0
    )


def applies(x: Tensor, weight: Tensor) -> bool:
    """To float32 pictures on a CPU whose channels lie last, in eager mode; to bfloat16 ones under autocast."""
    return (
        is_plain_eager(x, weight)
        and x.device.type == "cpu"
        and weight.dtype is torch.float32
        and x.dtype is _dtype()
        and x.is_contiguous(memory_format=torch.channels_last)
        and weight.shape[1:] == (x.shape[1], 3, 3)
        and is_worthwhile(x, weight)
    )


def _dtype() -> torch.dtype | None:
    """Of the pictures that the kernel takes now."""
    if not torch.is_autocast_enabled("cpu"):
        return torch.float32
    return torch.bfloat16 if torch.get_autocast_dtype("cpu") is torch.bfloat16 else None


def is_worthwhile(x: Tensor, weight: Tensor) -> bool:
    """Whether there are enough patches to pay for the filters' numbers, and enough work to pay for Python's."""
    if x.dtype is torch.bfloat16 and (_HAS_TILES or not all(32 <= channels <= 128 for channels in weight.shape[:2])):
        return False
    patches = len(x) * -(-x.shape[2] // 4) * -(-x.shape[3] // 4)
    return x.numel() >= _LEAST_WORK and 8 * patches >= max(weight.shape[:2])


def convolve(x: Tensor, weight: Tensor) -> Tensor:
    return _Convolve.apply(x, weight)


class _Convolve(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor) -> Tensor:
        ctx.save_for_backward(x, weight)
        return _forward(x, weight)

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> tuple[Tensor | None, Tensor | None]:
        x, weight = ctx.saved_tensors
        wanted = ctx.needs_input_grad
        if torch.is_grad_enabled() or is_batched(g):  # by torch's own, which can be differentiated again
            ones, zeros = [1, 1], [0, 0]
            dx, dweight, _ = torch.ops.aten.convolution_backward(
                g, x, weight.to(g.dtype), None, ones, ones, ones, False, zeros, 1, [*wanted, False]
            )
            return dx, dweight.to(weight.dtype) if wanted[1] else None
        g = g.contiguous(memory_format=torch.channels_last)
        dx = _forward(g, weight.transpose(0, 1), flipped=True) if wanted[0] else None
        return dx, _filter_gradient(x, g) if wanted[1] else None


@torch.autocast("cpu", enabled=False)
def _forward(x: Tensor, weight: Tensor, flipped: bool = False) -> Tensor:
    """``weight`` is (out, in, 3, 3); ``flipped``: its rows and columns from the end."""
    outputs, inputs = weight.shape[:2]
    # The small filters are brought into the kernel's order, so that their many numbers come out in it.
    panels = weight.view(outputs // _PANEL, _PANEL, inputs, 3, 3).permute(3, 4, 0, 2, 1).reshape(9, -1)
    numbers = (_TO_NUMBERS.flip(1) if flipped else _TO_NUMBERS) @ panels
    shape = (len(x), outputs, *x.shape[2:])
    y = torch.empty(shape, dtype=x.dtype, device=x.device, memory_format=torch.channels_last)
    _run(False, x, numbers, y, outputs, _parts(x))
    return y


@torch.autocast("cpu", enabled=False)
def _filter_gradient(x: Tensor, g: Tensor) -> Tensor:
    inputs, outputs, parts = x.shape[1], g.shape[1], _parts(x)
    numbers = _TO_NUMBERS.new_empty(parts * len(_TO_NUMBERS), inputs * outputs)
    _run(True, x, g, numbers, outputs, parts)
    filters = _TO_NUMBERS.T.repeat(1, parts) @ numbers
    return filters.view(3, 3, inputs, outputs).permute(3, 2, 0, 1)


def _parts(x: Tensor) -> int:
    return min(torch.get_num_threads(), len(x)) if parallel_address() else 1


def _run(is_gradient: bool, x: Tensor, other: Tensor, result: Tensor, outputs: int, parts: int) -> None:
    pictures, inputs, height, width = x.shape
    sizes = (pictures, height, width, inputs, outputs, parts)
    scratch = _TO_NUMBERS.new_empty(parts, _winograd.scratch(*sizes))
    addresses = (tensor.data_ptr() for tensor in (x, other, result, scratch))
    _winograd.run(parallel_address(), is_gradient, x.dtype is torch.bfloat16, *addresses, *sizes)
