"""The cone projection as Triton kernels, for GPUs. Imported only when a CUDA tensor arrives (or by name).

The tensor is seen as (outer, channels, inner), dense, as in the C kernel. One lane holds one group.
Without a GPU the kernels run in Triton's interpreter (``TRITON_INTERPRET=1``), which is how they are tested.
"""

from __future__ import annotations

import math

import torch
import triton
import triton.language as tl
from torch import Tensor

_BLOCK = 256
_INFINITE = tl.constexpr(2.0**30)  # as in project/_vectors.py


@triton.jit
def _member(base, j, g, channels, inner, groups, mask, m: tl.constexpr, split: tl.constexpr):
    """Where member j of each group lies, and whether it is there (padding is not)."""
    channel = j * groups + g if split else g * m + j
    return base + channel * inner, mask & (channel < channels)


@triton.jit
def _locate(x, base, g, channels, inner, groups, mask, m: tl.constexpr, split: tl.constexpr, number: tl.constexpr):
    """The scale of each group, whether it has infinite entries, and (m >= 3) mean and squares of what is scaled."""
    scale = tl.zeros_like(base).to(number)
    infinite = base < 0
    for j in tl.static_range(m):
        at, there = _member(base, j, g, channels, inner, groups, mask, m, split)
        size = tl.abs(tl.load(x + at, there, 0.0).to(number))
        is_infinite = size == float("inf")
        infinite = infinite | is_infinite
        scale = tl.where((size > scale) & (size < float("inf")), size, scale)
    scale = tl.where((scale == 0) | ((m == 2) & (infinite == 0)), 1.0, scale)
    return scale, infinite


@triton.jit
def _scaled(value, scale):
    bounded = tl.where(value > 0, _INFINITE, -_INFINITE)
    return tl.where(tl.abs(value) == float("inf"), bounded, value / scale)


@triton.jit
def _forward(
    x, y, angles, total, channels, inner, groups, keep, leak,
    m: tl.constexpr, split: tl.constexpr, by_group: tl.constexpr, number: tl.constexpr, block: tl.constexpr,
):  # fmt: skip
    index = tl.program_id(0).to(tl.int64) * block + tl.arange(0, block)
    mask = index < total
    i, g, o = index % inner, index // inner % groups, index // inner // groups
    base = o * channels * inner + i
    which = g * 4 if by_group else g * 0
    cos, sin = tl.load(angles + which, mask, 0.0), tl.load(angles + which + 1, mask, 0.0)
    wide, narrow = tl.load(angles + which + 2, mask, 0.0), tl.load(angles + which + 3, mask, 0.0)
    scale, infinite = _locate(x, base, g, channels, inner, groups, mask, m, split, number)
    if m == 2:
        at, there = _member(base, 0, g, channels, inner, groups, mask, m, split)
        a = _scaled(tl.load(x + at, there, 0.0).to(number), scale)
        at, there = _member(base, 1, g, channels, inner, groups, mask, m, split)
        b = _scaled(tl.load(x + at, there, 0.0).to(number), scale)
        first = a >= b
        high, low = tl.where(first, a, b), tl.where(first, b, a)
        vanish = wide * high + narrow * low <= 0
        inside = wide * low > narrow * high
        on_high = tl.where(vanish, 0.0, wide * wide * high + wide * narrow * low)
        on_low = tl.where(vanish, 0.0, wide * narrow * high + narrow * narrow * low)
    else:
        total_sum = tl.zeros_like(scale)
        for j in tl.static_range(m):
            at, there = _member(base, j, g, channels, inner, groups, mask, m, split)
            total_sum += _scaled(tl.load(x + at, there, 0.0).to(number), scale)
        mean = total_sum / m
        squares = tl.zeros_like(scale)
        for j in tl.static_range(m):
            at, there = _member(base, j, g, channels, inner, groups, mask, m, split)
            h = _scaled(tl.load(x + at, there, 0.0).to(number), scale) - mean
            squares += h * h
        root = tl.sqrt(tl.full((), m, number))
        t, n = mean * root, tl.sqrt(squares)
        p = t * cos + n * sin
        vanish = p <= 0
        inside = n * cos < t * sin
    for j in tl.static_range(m):
        at, there = _member(base, j, g, channels, inner, groups, mask, m, split)
        value = tl.load(x + at, there, 0.0).to(number)
        if m == 2:
            is_high = first if j == 0 else first == 0
            z = tl.where(is_high, on_high, on_low)
        else:
            h = _scaled(value, scale) - mean
            z = tl.where(vanish, 0.0, p * cos / root + p * sin / tl.where(n == 0, 1.0, n) * h)
        large = infinite & (tl.abs(z) > 32768.0)
        projected = tl.where(large, tl.where(z > 0, float("inf"), -float("inf")), z * scale)
        projected = tl.where(inside, value, projected)
        if leak != 0:
            projected = keep * projected + leak * value
        tl.store(y + at, projected.to(y.dtype.element_ty), there)


@triton.jit
def _backward(
    x, grad, dx, by_angle, angles, total, channels, inner, groups, keep, leak,
    m: tl.constexpr, split: tl.constexpr, by_group: tl.constexpr, number: tl.constexpr, block: tl.constexpr,
):  # fmt: skip
    index = tl.program_id(0).to(tl.int64) * block + tl.arange(0, block)
    mask = index < total
    i, g, o = index % inner, index // inner % groups, index // inner // groups
    base = o * channels * inner + i
    which = g * 4 if by_group else g * 0
    cos, sin = tl.load(angles + which, mask, 0.0), tl.load(angles + which + 1, mask, 0.0)
    wide, narrow = tl.load(angles + which + 2, mask, 0.0), tl.load(angles + which + 3, mask, 0.0)
    scale, _ = _locate(x, base, g, channels, inner, groups, mask, m, split, number)
    if m == 2:
        at, there = _member(base, 0, g, channels, inner, groups, mask, m, split)
        a = _scaled(tl.load(x + at, there, 0.0).to(number), scale)
        ga = tl.load(grad + at, there, 0.0).to(number)
        at, there = _member(base, 1, g, channels, inner, groups, mask, m, split)
        b = _scaled(tl.load(x + at, there, 0.0).to(number), scale)
        gb = tl.load(grad + at, there, 0.0).to(number)
        first = a >= b
        high, low = tl.where(first, a, b), tl.where(first, b, a)
        g_high, g_low = tl.where(first, ga, gb), tl.where(first, gb, ga)
        p, q = wide * high + narrow * low, narrow * high - wide * low
        along, across = wide * g_high + narrow * g_low, narrow * g_high - wide * g_low
        vanish = p <= 0
        inside = wide * low > narrow * high
    else:
        total_sum, g_sum = tl.zeros_like(scale), tl.zeros_like(scale)
        for j in tl.static_range(m):
            at, there = _member(base, j, g, channels, inner, groups, mask, m, split)
            total_sum += _scaled(tl.load(x + at, there, 0.0).to(number), scale)
            g_sum += tl.load(grad + at, there, 0.0).to(number)
        mean = total_sum / m
        squares, g_h = tl.zeros_like(scale), tl.zeros_like(scale)
        for j in tl.static_range(m):
            at, there = _member(base, j, g, channels, inner, groups, mask, m, split)
            h = _scaled(tl.load(x + at, there, 0.0).to(number), scale) - mean
            squares += h * h
            g_h += tl.load(grad + at, there, 0.0).to(number) * h
        root = tl.sqrt(tl.full((), m, number))
        t, n = mean * root, tl.sqrt(squares)
        divisor = tl.where(n == 0, 1.0, n)
        p, q = t * cos + n * sin, n * cos - t * sin
        g_axis, g_radial = g_sum / root, g_h / divisor
        along, across = cos * g_axis + sin * g_radial, cos * g_radial - sin * g_axis
        vanish = p <= 0
        inside = n * cos < t * sin
    turn = tl.where(inside | vanish, 0.0, scale * (q * along + p * across))
    tl.store(by_angle + index, turn, mask)
    for j in tl.static_range(m):
        at, there = _member(base, j, g, channels, inner, groups, mask, m, split)
        value, given = tl.load(x + at, there, 0.0).to(number), tl.load(grad + at, there, 0.0).to(number)
        if m == 2:
            is_high = first if j == 0 else first == 0
            z = tl.where(is_high, wide, narrow) * along
        else:
            h = (_scaled(value, scale) - mean) / divisor
            z = along * (cos / root + sin * h) + p * sin / divisor * (given - g_axis / root - g_radial * h)
        z = tl.where(vanish | (tl.abs(value) == float("inf")), 0.0, z)
        result = keep * tl.where(inside, given, z) + leak * given
        tl.store(dx + at, result.to(dx.dtype.element_ty), there)


def run(
    x: Tensor,
    g: Tensor | None,
    out: Tensor,
    theta: Tensor,
    dtheta: Tensor | None,
    dims: tuple[int, int, int],
    spec: tuple,
) -> None:
    """Fill ``out`` with y (g is None) or with the gradient of x, and ``dtheta``; x, g and out alike in memory."""
    limit, m, _, remainder, grouping, leak = spec
    outer, channels, inner = dims
    groups = -(-channels // m) if remainder == "pad" else channels // m
    whole = min(channels, groups * m)
    number = tl.float64 if x.dtype == torch.float64 else tl.float32
    angles = _angle_table(theta, limit, torch.float64 if x.dtype == torch.float64 else torch.float32)
    total = outer * groups * inner
    options = {
        "m": m, "split": grouping == "split", "by_group": theta.numel() > 1, "number": number, "block": _BLOCK,
    }  # fmt: skip
    grid = (triton.cdiv(total, _BLOCK),)
    by_angle = torch.zeros((outer, groups, inner), dtype=angles.dtype, device=x.device) if g is not None else None
    if total and g is None:
        _forward[grid](x, out, angles, total, channels, inner, groups, 1 - leak, leak, **options)
    elif total:
        _backward[grid](x, g, out, by_angle, angles, total, channels, inner, groups, 1 - leak, leak, **options)
    if whole < channels:
        _relu_rest(x, g, out, (outer, channels, inner), whole, leak)
    if dtheta is not None and by_angle is not None:
        sums = by_angle.sum((0, 2), dtype=torch.float64) * (1 - leak)
        dtheta.copy_(sums if theta.numel() > 1 else sums.sum().reshape(theta.shape))


def _relu_rest(x: Tensor, g: Tensor | None, out: Tensor, dims: tuple[int, int, int], whole: int, leak: float) -> None:
    """Channels beyond the whole groups, seen through the same dense memory."""

    def rest(value: Tensor) -> Tensor:
        return value.as_strided(dims, (dims[1] * dims[2], dims[2], 1))[:, whole:]

    source = rest(x)
    kept = torch.relu(source) if g is None else torch.where(source <= 0, 0, rest(g))
    rest(out).copy_((1 - leak) * kept + leak * (source if g is None else rest(g)) if leak else kept)


def _angle_table(theta: Tensor, limit: float, dtype: torch.dtype) -> Tensor:
    """cos, sin, wide, narrow of each angle, side by side."""
    theta = theta.clamp(-limit, limit)
    alpha = theta + math.pi / 4
    wide, narrow = theta.cos(), (-theta).sin()
    wide = torch.where(alpha == 0, narrow, wide)
    return torch.stack([alpha.cos(), alpha.sin(), wide, narrow], -1).to(dtype).contiguous()
