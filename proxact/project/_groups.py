"""How the entries along one axis form groups of m, and what happens to those that do not fill one."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

GROUPINGS = ("adjacent", "split")
REMAINDERS = ("pad", "relu", "error")


def count_groups(n: int, m: int, remainder: str) -> int:
    """The number of groups that n entries form."""
    if remainder == "error" and n % m:
        raise ValueError(
            f"remainder='error' needs a size divisible by m={m}, got {n}; remainder='pad' or 'relu' takes any size"
        )
    return -(-n // m) if remainder == "pad" else n // m


def apply_grouped(
    function: Callable[[Tensor, int], Tensor], x: Tensor, m: int, dim: int, remainder: str, grouping: str
) -> Tensor:
    """Call ``function(groups, member_axis)`` on x with axis ``dim`` split into (group, member) or (member, group)."""
    n = x.shape[dim]
    groups = count_groups(n, m, remainder)
    if groups == 0:
        return torch.relu(x)
    if groups * m > n:
        padding = [0, 0] * (x.ndim - 1 - dim) + [0, groups * m - n]
        return _apply_whole(function, torch.nn.functional.pad(x, padding), m, dim, grouping).narrow(dim, 0, n)
    if groups * m < n:
        whole = _apply_whole(function, x.narrow(dim, 0, groups * m), m, dim, grouping)
        return torch.cat([whole, torch.relu(x.narrow(dim, groups * m, n - groups * m))], dim)
    return _apply_whole(function, x, m, dim, grouping)


def _apply_whole(function: Callable[[Tensor, int], Tensor], x: Tensor, m: int, dim: int, grouping: str) -> Tensor:
    groups = x.shape[dim] // m
    if grouping == "adjacent":
        return function(x.unflatten(dim, (groups, m)), dim + 1).flatten(dim, dim + 1)
    return function(x.unflatten(dim, (m, groups)), dim).flatten(dim, dim + 1)
