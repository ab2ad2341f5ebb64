"""The C kernel of winner takes all: when it applies, its place in autograd."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from .eager import is_batched, is_plain_eager, parallel_address

try:
    from . import _winners  # type: ignore[attr-defined]
except ImportError:  # no compiler when the package was installed
    _winners = None

_DTYPES = (torch.float32, torch.bfloat16, torch.float16)


def applies(x: Tensor, dim: int) -> bool:
    """To float32, bfloat16 and float16 on a CPU; elsewhere ``torch.topk`` does it."""
    return (
        _winners is not None
        and bool(_winners.runs_here)
        and x.dtype in _DTYPES
        and x.device.type == "cpu"
        and x.shape[dim] <= _winners.longest
        and is_plain_eager(x)
    )


def keep_winners(x: Tensor, winners: int, dim: int) -> Tensor:
    if x.dtype is not torch.float32:  # as float32 the numbers are the same, so the winners are
        return keep_winners(x.float(), winners, dim).to(x.dtype)
    rows = x.movedim(dim, -1)
    y = _Select.apply(rows.detach().contiguous(), rows, winners).movedim(-1, dim)
    return y.contiguous() if x.is_contiguous() else y


class _Select(torch.autograd.Function):
    """``source`` where x is among the largest of its row, else 0: linear in ``source``, so it is its own derivative."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, source: Tensor, winners: int) -> Tensor:
        ctx.save_for_backward(x)
        ctx.winners = winners
        source, out = source.contiguous(), torch.empty_like(x)
        if x.numel():
            rows, channels = x.numel() // x.shape[-1], x.shape[-1]
            addresses = (x.data_ptr(), source.data_ptr(), out.data_ptr())
            _winners.run(parallel_address(), *addresses, rows, channels, winners)
        return out

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> tuple[None, Tensor, None]:
        (x,) = ctx.saved_tensors
        if is_batched(g):
            return None, g * _Select.apply(x, torch.ones_like(x), ctx.winners), None
        return None, _Select.apply(x, g, ctx.winners), None
