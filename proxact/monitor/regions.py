"""Where the groups of an input lie: inside the cone, beside it (projected onto its surface) or in its polar (to 0)."""

from __future__ import annotations

import math
from typing import NamedTuple

import torch
from torch import Tensor

from ..nn import MPU
from ..nn._dims import channel_dim
from ..project._groups import count_groups
from ..project._vectors import compute_dtype


class Regions(NamedTuple):
    """Of all the groups of an input."""

    inside: Tensor
    """How many pass unchanged, a 0-d tensor: nothing is read from the device here."""
    zero: Tensor
    """How many become 0."""
    groups: int
    """How many there are."""
    alive: Tensor
    """For each group of channels: is it not 0 for some sample (or pixel)?"""


@torch.no_grad()
def regions(unit: MPU, x: Tensor) -> Regions:
    """Count by the formula of :func:`proxact.project.cone`; channels that fill no group under ``remainder="relu"``
    are left out.

    Example:
        >>> found = regions(proxact.MPU(), torch.tensor([[3.0, 1.0, -2.0, -2.0], [3.0, -1.0, -2.0, -1.0]]))
        >>> found.inside.item(), found.zero.item(), found.groups, found.alive
        (1, 2, 4, tensor([ True, False]))
    """
    if unit.dim == "flat":
        x, dim = x.flatten(1), 1
    else:
        dim = channel_dim(unit.dim, x.ndim)
    n = x.shape[dim]
    groups = count_groups(n, unit.m, unit.remainder)
    work = x.to(compute_dtype(x.dtype)).narrow(dim, 0, min(n, groups * unit.m))
    if groups * unit.m > n:
        work = torch.nn.functional.pad(work, [0, 0] * (x.ndim - 1 - dim) + [0, groups * unit.m - n])
    is_adjacent = unit.grouping == "adjacent"
    members = work.unflatten(dim, (groups, unit.m) if is_adjacent else (unit.m, groups))
    axis = dim + 1 if is_adjacent else dim
    mean = members.mean(axis, keepdim=True)
    radius, t = torch.linalg.vector_norm(members - mean, dim=axis), mean.squeeze(axis) * math.sqrt(unit.m)
    alpha = unit.alpha.to(work.dtype).reshape(-1, *[1] * (t.ndim - 1 - dim))
    cos, sin = alpha.cos(), alpha.sin()
    zero = t * cos + radius * sin <= 0
    inside = radius * cos < t * sin
    return Regions(inside.sum(), zero.sum(), zero.numel(), ~zero.movedim(dim, 0).unsqueeze(-1).flatten(1).all(1))
