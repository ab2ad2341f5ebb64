"""The exponential cone."""

from __future__ import annotations

import torch
from torch import Tensor

from ._vectors import largest, projection

_BISECTIONS, _NEWTON_STEPS = 56, 4  # an interval of 1400 halved 56 times is 2e-14 wide
_RATIO_MAX = 700.0  # exp(-700) is about the smallest number float64 holds


@projection
def exponential(x: Tensor, *, dim: int = -1) -> Tensor:
    r"""Project onto the closure of :math:`\{(a, b, c) : b > 0,\ b\,e^{a/b} \le c\}` (the order of cvxpy and SCS).

    On the curved boundary the solution is a point on the ray :math:`(\rho, 1, e^\rho)` plus one on its normal
    :math:`(1, 1 - \rho, -e^{-\rho})`; the ratio :math:`\rho` is the root of an increasing function, found in float64 by
    bracketed Newton steps and differentiated implicitly.

    Args:
        x: floating-point tensor with 3 entries along ``dim``.
        dim: the axis of x that holds the vectors.

    Example:
        >>> exponential(torch.tensor([-1.0, 0.0, -1.0]))
        tensor([-1.,  0.,  0.])
    """
    if x.shape[-1] != 3:
        raise ValueError(f"exponential needs 3 entries along dim, got {x.shape[-1]}")
    dtype = x.dtype
    x = x.double()
    scale = largest(x)
    a, b, c = (x / scale).unbind(-1)
    fixed_a, fixed_b, fixed_c = a.detach(), b.detach(), c.detach()

    inside = (fixed_b > 0) & (_perspective(fixed_a, fixed_b) < fixed_c)
    polar = ((fixed_a > 0) & (_polar_bound(fixed_a, fixed_b) <= -fixed_c)) | (
        (fixed_a == 0) & (fixed_b <= 0) & (fixed_c <= 0)
    )
    flat = (fixed_a <= 0) & (fixed_b <= 0)
    rho = torch.ops.proxact.exponential_ratio(fixed_a, fixed_b, fixed_c)
    # Beyond the largest exponent the boundary is one of the two flat faces, to within exp(-700).
    steep, shallow = rho >= _RATIO_MAX, rho <= -_RATIO_MAX
    curved = ~(inside | polar | flat | steep | shallow)
    rho = torch.where(curved, rho, 0)
    slope = _gap_slope(fixed_a, fixed_b, rho)
    for _ in range(2):  # value 0; gives rho its first and second derivatives
        gap = _gap(a, b, c, rho)
        rho = rho - (gap - gap.detach()) / torch.where(slope > 0, slope, 1)
    # The entry that is the larger one on the ray is computed first: the other one is then exp(-|rho|) times it.
    primal, dual = _weights(a, b, rho)
    decay = torch.where(rho > 0, -rho, rho).exp()
    high = c + dual * decay
    on_curve = torch.where(
        (rho > 0).unsqueeze(-1),
        torch.stack([rho * decay * high, decay * high, high], -1),
        torch.stack([rho * primal, primal, decay * primal], -1),
    )

    zero = torch.zeros_like(a)
    on_face = torch.stack([torch.where(a < 0, a, 0), torch.where(shallow & ~flat, b, zero), torch.relu(c)], -1)
    y = torch.where(curved.unsqueeze(-1), on_curve, on_face) * scale
    y = torch.where(polar.unsqueeze(-1), 0, y)
    y = torch.where(inside.unsqueeze(-1), x, y)
    return torch.where(x.isfinite().all(-1, keepdim=True), y, torch.nan).to(dtype)


def _perspective(a: Tensor, b: Tensor) -> Tensor:
    """b exp(a / b) for b > 0."""
    safe = torch.where(b > 0, b, 1)
    return safe * (a / safe).exp()


def _polar_bound(a: Tensor, b: Tensor) -> Tensor:
    """a exp(b / a - 1) for a > 0; the polar cone is where it is <= -c."""
    safe = torch.where(a > 0, a, 1)
    return safe * (b / safe - 1).exp()


def _weights(a: Tensor, b: Tensor, rho: Tensor) -> tuple[Tensor, Tensor]:
    """The factors of the boundary ray and of its normal whose sum has the first two entries (a, b)."""
    determinant = rho * rho - rho + 1
    return ((rho - 1) * a + b) / determinant, (a - rho * b) / determinant


def _gap(a: Tensor, b: Tensor, c: Tensor, rho: Tensor) -> Tensor:
    """The third entry of ray plus normal, less c; times exp(-|rho|), so that it never overflows."""
    size = rho.detach().abs()
    primal, dual = _weights(a, b, rho)
    return primal * (rho - size).exp() - dual * (-rho - size).exp() - c * (-size).exp()


def _gap_slope(a: Tensor, b: Tensor, rho: Tensor) -> Tensor:
    """Its derivative in rho for a fixed factor exp(-|rho|)."""
    size = rho.abs()
    determinant = rho * rho - rho + 1
    primal, dual = _weights(a, b, rho)
    growth = (2 * rho - 1) / determinant
    rising = primal + a / determinant - growth * primal
    falling = dual + b / determinant + growth * dual
    return rising * (rho - size).exp() + falling * (-rho - size).exp()


@torch.library.custom_op("proxact::exponential_ratio", mutates_args=())
def exponential_ratio(a: Tensor, b: Tensor, c: Tensor) -> Tensor:
    """The root rho of the gap, between the ratios at which the factors of ray and normal vanish."""
    ray_zero = 1 - b / torch.where(a == 0, 1, a)
    normal_zero = a / torch.where(b == 0, 1, b)
    low = torch.where(a > 0, ray_zero, -_RATIO_MAX).clamp(-_RATIO_MAX, _RATIO_MAX)
    high = torch.where(b > 0, normal_zero, _RATIO_MAX).clamp(-_RATIO_MAX, _RATIO_MAX)
    for _ in range(_BISECTIONS):
        middle = (low + high) / 2
        below = _gap(a, b, c, middle) < 0
        low, high = torch.where(below, middle, low), torch.where(below, high, middle)
    rho = (low + high) / 2
    for _ in range(_NEWTON_STEPS):
        newton = rho - _gap(a, b, c, rho) / _gap_slope(a, b, rho)
        rho = torch.where((newton - rho).abs() < 1e-9, newton, rho)
    return rho


@exponential_ratio.register_fake
def _(a: Tensor, b: Tensor, c: Tensor) -> Tensor:
    return torch.empty_like(a)


@torch.library.register_vmap("proxact::exponential_ratio")
def _(info, in_dims, a, b, c):  # type: ignore[no-untyped-def]
    moved = [
        value.expand(info.batch_size, *value.shape) if dim is None else value.movedim(dim, 0)
        for value, dim in zip((a, b, c), in_dims, strict=True)
    ]
    return exponential_ratio(*moved), 0
