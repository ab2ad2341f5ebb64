"""Shallow networks of many widths and seeds, trained side by side in one computation.

Two networks, a wide and a narrow one, share a block of hidden units, so that blocks are about equally full. Blocks lie
on the first axis, units on the second, samples on the last. Rows that belong to no network start at zero and their
gradients are cut off: every network computes what it would compute alone.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from ..nn import MPU, WTA, CReLU, Maxout
from ..nn.mpu import project_theta
from ..project.cone import cone_at_offset

Activate = Callable[[Tensor], Tensor]
_WORTH_COMPILING = 2**22  # comparisons


@dataclass(frozen=True)
class Layout:
    """Where each network's hidden units are: ``rows[block, row]`` is the network's number, or -1."""

    rows: Tensor
    starts: list[tuple[int, int]]  # for each network its block and its first row
    slots: list[int]  # for each network 0 or 1: its place in the block

    @property
    def count(self) -> int:
        return len(self.starts)


def arrange(hidden: Sequence[Sequence[int]], multiple: int) -> Layout:
    """Pair the widest with the narrowest, seed by seed; starts are multiples of ``multiple``."""
    starts: list[tuple[int, int]] = []
    slots: list[int] = []
    blocks = 0
    for widths in hidden:
        order = sorted(range(len(widths)), key=lambda i: -widths[i])
        half = (len(order) + 1) // 2
        places: dict[int, tuple[int, int, int]] = {}
        for block, wide in enumerate(order[:half]):
            places[wide] = (blocks + block, 0, 0)
        for block, narrow in enumerate(reversed(order[half:])):
            first_free = -(-widths[order[block]] // multiple) * multiple
            places[narrow] = (blocks + block, first_free, 1)
        starts += [places[i][:2] for i in range(len(widths))]
        slots += [places[i][2] for i in range(len(widths))]
        blocks += half
    flat = [width for widths in hidden for width in widths]
    needed = max(start + width for (_, start), width in zip(starts, flat, strict=True))
    rows = torch.full((blocks, -(-needed // multiple) * multiple), -1)
    for i, ((block, start), width) in enumerate(zip(starts, flat, strict=True)):
        rows[block, start : start + width] = i
    return Layout(rows, starts, slots)


class Population:
    """Copies of ``nets[seed][width]``, each ``nn.Sequential(Linear, activation, Linear)`` of one kind of activation."""

    def __init__(self, nets: Sequence[Sequence[nn.Sequential]]) -> None:
        flat: list[Any] = [net for some in nets for net in some]
        units = [net[1] for net in flat]
        multiple = {MPU: getattr(units[0], "m", 1), Maxout: getattr(units[0], "k", 1)}.get(_kind(units[0]), 1)
        widths = [net[0].out_features for net in flat]
        per_seed = len(flat) // len(nets)
        self.layout = arrange([widths[i : i + per_seed] for i in range(0, len(flat), per_seed)], multiple)
        self.seeds, self.count = len(nets), len(flat)
        self.activate, learnt = _batched(units, self.layout)
        blocks, rows = self.layout.rows.shape
        inputs, self.outputs, like = flat[0][0].in_features, flat[0][2].out_features, flat[0][0].weight
        columns = self.activate(like.new_zeros(blocks, rows, 1)).shape[1]
        first = like.new_zeros(blocks, rows, inputs + 1)  # the bias goes with an input that is always 1
        second, bias = like.new_zeros(blocks, 2 * self.outputs, columns), like.new_zeros(blocks, 2 * self.outputs, 1)
        self._first_mask, self._second_mask = torch.zeros_like(first), torch.zeros_like(second)
        with torch.no_grad():
            for i, (before, unit, after) in enumerate(flat):
                block, start = self.layout.starts[i]
                here = slice(start, start + before.out_features)
                there = slice(self.outputs * self.layout.slots[i], self.outputs * (self.layout.slots[i] + 1))
                places = _columns(unit, start, before.out_features, rows)
                first[block, here] = torch.cat([before.weight, before.bias[:, None]], 1)
                second[block, there, places], bias[block, there, 0] = after.weight, after.bias
                self._first_mask[block, here], self._second_mask[block, there, places] = 1, 1
        self.first, self.second, self.bias = (nn.Parameter(value) for value in (first, second, bias))
        self.parameters: list[Tensor] = [self.first, self.second, self.bias, *learnt]
        self.momentum = [torch.zeros_like(parameter) for parameter in self.parameters]

    def errors(self, x: Tensor, y: Tensor) -> Tensor:
        """Mean squared errors of (blocks, networks in a block); x is (seeds, inputs + 1, samples), its last input 1."""
        blocks = len(self.first)
        hidden = torch.bmm(self.first.view(self.seeds, -1, x.shape[1]), x).view(blocks, -1, x.shape[2])
        results = torch.baddbmm(self.bias, self.second, self.activate(hidden))
        gaps = results.view(self.seeds, -1, self.outputs, x.shape[2]) - y[:, None]
        return gaps.square().mean((2, 3)).view(blocks, 2)

    def step(self, x: Tensor, y: Tensor, learning_rate: float) -> None:
        """SGD with momentum 0.9, as torch.optim.SGD does it, at a fifth of its cost for so few tensors."""
        self._backward(x, y)
        with torch.no_grad():
            torch._foreach_mul_(self.momentum, 0.9)
            torch._foreach_add_(self.momentum, [parameter.grad for parameter in self.parameters])  # type: ignore[misc]
            torch._foreach_add_(self.parameters, self.momentum, alpha=-learning_rate)

    def _backward(self, x: Tensor, y: Tensor) -> None:
        for parameter in self.parameters:
            parameter.grad = None
        self.errors(x, y).sum().backward()
        self.first.grad.mul_(self._first_mask)  # type: ignore[union-attr]
        self.second.grad.mul_(self._second_mask)  # type: ignore[union-attr]

    def in_order(self, errors: Tensor) -> Tensor:
        """(blocks, networks in a block) to (seeds, networks of a seed), in the order in which they were given."""
        blocks = [block for block, _ in self.layout.starts]
        return errors[blocks, self.layout.slots].view(self.seeds, -1)


def _kind(unit: nn.Module) -> type:
    return MPU if isinstance(unit, MPU) else type(unit)


def _columns(unit: nn.Module, start: int, hidden: int, rows: int) -> Tensor:
    """Where a network's activations lie among those of its block."""
    if isinstance(unit, CReLU):
        return start + torch.cat([torch.arange(hidden), rows + torch.arange(hidden)])
    if isinstance(unit, Maxout):
        return start // unit.k + torch.arange(hidden // unit.k)
    return start + torch.arange(hidden)


def _batched(units: list[Any], layout: Layout) -> tuple[Activate, list[nn.Parameter]]:
    """One function for all networks, (blocks, rows, samples) to (blocks, columns, samples), and what it learns."""
    unit = units[0]
    if isinstance(unit, MPU):
        return _mpus(units, layout)
    if isinstance(unit, WTA):
        return _winners(unit, layout), []
    if isinstance(unit, Maxout) and unit.k == 2:
        return _larger_of_two, []
    if isinstance(unit, (Maxout, CReLU)):
        return lambda z: unit.along(z, 1), []
    if isinstance(unit, nn.PReLU):
        slope = nn.Parameter(torch.cat([value.weight.detach() for value in units]))
        owner = layout.rows.clamp(min=0)
        return lambda z: torch.addcmul(z, (slope - 1)[owner][:, :, None], z.clamp(max=0)), [slope]
    if type(unit).__module__.startswith("torch.nn") and not list(unit.parameters()) and not hasattr(unit, "dim"):
        return unit, []
    return _one_by_one(units, layout), [parameter for value in units for parameter in value.parameters()]


def _larger_of_two(z: Tensor) -> Tensor:
    """Maxout with a derivative that takes half as long as that of ``torch.maximum``, which shares ties out."""
    a, b = z.unflatten(1, (-1, 2)).unbind(2)
    return b + torch.relu(a - b)


def _mpus(units: list[MPU], layout: Layout) -> tuple[Activate, list[nn.Parameter]]:
    unit = units[0]
    m, rows = unit.m, layout.rows
    theta = torch.cat([value.theta.detach() for value in units])
    owner = rows.view(-1, m)[:, 0].clamp(min=0)  # of each group
    left_over = torch.zeros_like(rows, dtype=torch.bool)
    for block, start in layout.starts:
        hidden = int((rows[block] == rows[block, start]).sum())
        left_over[block, start + hidden // m * m : start + hidden] = True
    as_relu = left_over[:, :, None] if unit.remainder == "relu" and bool(left_over.any()) else None
    learnt = []
    if unit.learnable:
        theta = nn.Parameter(theta)
        theta.register_post_accumulate_grad_hook(project_theta)
        learnt = [theta]
    elif bool((theta == theta[0]).all()):
        theta = theta[:1]

    def activate(z: Tensor) -> Tensor:
        angles = theta if theta.numel() == 1 else theta[owner]
        long = z.reshape(1, -1, z.shape[2])
        y = cone_at_offset(long, angles, unit.limit, m, 1, "pad", "adjacent", unit.leak).view_as(z)
        return y if as_relu is None else torch.where(as_relu, torch.relu(z), y)

    return activate, learnt


def _winners(unit: WTA, layout: Layout) -> Activate:
    """A unit wins if fewer units of its network than there are winners exceed it; ties at the edge all win."""
    rows = layout.rows
    winners = torch.tensor([unit.winners(int((rows == i).sum())) for i in range(layout.count)])
    places = torch.where(rows >= 0, winners[rows.clamp(min=0)], 0)[:, :, None]
    rivals = (rows[:, :, None] == rows[:, None, :]).float()

    def activate(z: Tensor) -> Tensor:
        with torch.no_grad():
            # A sort would do less but takes three times as long as the fused comparison of all with all.
            fused = z.numel() * z.shape[1] > _WORTH_COMPILING and shutil.which("g++") is not None
            wins = (_fused_count_above if fused else _count_above)(z, rivals) < places
        return torch.where(wins, z, 0)

    return activate


def _count_above(z: Tensor, rivals: Tensor) -> Tensor:
    return ((z[:, None] > z[:, :, None]).float() * rivals[..., None]).sum(2)


_fused_count_above = torch.compile(_count_above, dynamic=False)


def _one_by_one(units: list[nn.Module], layout: Layout) -> Activate:
    """For activations that nothing is known about: each network's own, on its own units; as many out as in."""
    rows = layout.rows

    def activate(z: Tensor) -> Tensor:
        y = torch.zeros_like(z)
        for i, (block, _) in enumerate(layout.starts):
            y[block, rows[block] == i] = units[i](z[block, rows[block] == i].T).T
        return y

    return activate
