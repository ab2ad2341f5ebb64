"""The standard second-order cone, also called Lorentz or ice-cream cone."""

from __future__ import annotations

import torch
from torch import Tensor

from ._vectors import bounded, largest, projection, safe_norm, unbounded


@projection
def lorentz(x: Tensor, *, dim: int = -1) -> Tensor:
    r"""Project onto :math:`\{(t, h) : \|h\|_2 \le t\}`, where t is the first entry along ``dim``.

    Args:
        x: floating-point tensor; at least one entry along ``dim``.
        dim: the axis of x that holds the vectors.

    Example:
        >>> lorentz(torch.tensor([0.0, 3.0, 4.0]))
        tensor([2.5000, 1.5000, 2.0000])
    """
    if x.shape[-1] < 1:
        raise ValueError(f"lorentz needs at least 1 entry along dim, got {x.shape[-1]}")
    scale = largest(x)
    infinite = x.isinf().any(-1, keepdim=True)
    z = bounded(x, scale)
    t, h = z[..., :1], z[..., 1:]
    n, divisor = safe_norm(h)
    half = (t + n) / 2
    y = torch.where(half <= 0, 0, half * torch.cat([torch.ones_like(t), h / divisor], -1))
    return torch.where(n < t, x, unbounded(y, scale, infinite))
