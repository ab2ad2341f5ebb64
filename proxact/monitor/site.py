"""One watched unit."""

from __future__ import annotations

import collections
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils.hooks import RemovableHandle

from ..nn import MPU
from ..nn._dims import channel_dim
from .regions import regions


class Switch:
    """Shared by the hooks, so that a compiled graph depends on one flag and not on the monitor."""

    is_on = True


class Site:
    """One unit and what was seen of its groups since the last recording."""

    def __init__(self, name: str, unit: MPU, window: int, elements: int, switch: Switch) -> None:
        self.name = name
        self.unit = unit
        self.elements = elements
        self.switch = switch
        self.alive_before: collections.deque[Tensor] = collections.deque(maxlen=window)
        self.counts: Tensor | None = None  # inside, zero, all
        self.alive: Tensor | None = None

    def watch(self) -> RemovableHandle:
        return self.unit.register_forward_hook(_Hook(self), with_kwargs=True)

    def see(self, x: Tensor) -> None:
        found = regions(self.unit, self._some(x))
        counts = torch.stack([found.inside, found.zero, torch.full_like(found.zero, found.groups)])
        self.counts = counts if self.counts is None else self.counts + counts
        alive = found.alive
        if self.alive is not None and self.alive.shape == alive.shape:
            alive = self.alive | alive
        self.alive = alive

    def _some(self, x: Tensor) -> Tensor:
        """About so many elements as were asked for, whole samples from all over the batch."""
        if self.unit.dim != "flat" and channel_dim(self.unit.dim, x.ndim) == 0:
            return x  # the first axis holds channels, not samples
        return x[:: max(1, x.numel() // self.elements)]

    def row(self, step: int) -> dict[str, Any]:
        angles = self.unit.alpha.detach().double()
        smallest, mean, largest = torch.stack([angles.min(), angles.mean(), angles.max()]).tolist()
        row: dict[str, Any] = {"step": step, "site": self.name, "m": self.unit.m}
        row |= {"angle": round(mean, 6), "angle_min": round(smallest, 6), "angle_max": round(largest, 6)}
        row |= {"inside": None, "surface": None, "zero": None, "dead": None, "groups": None}
        if self.counts is not None and self.alive is not None:
            inside, zero, groups = self.counts.tolist()
            if self.alive_before and self.alive_before[-1].shape != self.alive.shape:
                self.alive_before.clear()  # the number of groups depends on the input where dim="flat"
            self.alive_before.append(self.alive.cpu())
            alive = torch.stack(list(self.alive_before)).any(0)
            row |= {"dead": int((~alive).sum()), "groups": alive.numel()}
            if groups:
                shares = {"inside": inside, "surface": groups - inside - zero, "zero": zero}
                row |= {name: round(count / groups, 6) for name, count in shares.items()}
        self.counts = self.alive = None
        return row


class _Hook:
    """Copied or pickled with its module, it becomes one that does nothing."""

    def __init__(self, site: Site) -> None:
        self.site = site

    def __call__(self, unit: nn.Module, args: tuple[Any, ...], named: dict[str, Any], output: Tensor) -> None:
        site = self.site
        if site.switch.is_on and unit.training and unit is site.unit and not _is_transformed(output):
            site.see(args[0] if args else named["x"])

    def __reduce__(self) -> tuple[Callable[[], Any], tuple[()]]:
        return _idle_hook, ()


def _idle_hook() -> Callable[..., None]:
    return _do_nothing


def _do_nothing(*_: object) -> None:
    pass


def _is_transformed(output: Tensor) -> bool:
    """What torch.func holds must not outlive its transform."""
    return not torch.compiler.is_compiling() and torch._C._functorch.is_functorch_wrapped_tensor(output)
