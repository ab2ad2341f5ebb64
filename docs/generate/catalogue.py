"""Every activation, set and prox of the library: which page it has, and with what it is called and drawn there."""

from __future__ import annotations

import functools
import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

import proxact
from proxact.project import SETS
from proxact.prox import CATALOGUE

_ARGUMENTS = {
    "affine": "A=torch.tensor([[1.0, 2.0]]), b=torch.tensor([1.0])",
    "box": "lower=-1.0, upper=torch.tensor([1.0, 0.5])",
    "cone": "alpha=math.pi / 6",
    "halfspace": "a=torch.tensor([1.0, 2.0]), b=1.0",
    "hyperplane": "a=torch.tensor([1.0, 2.0]), b=1.0",
    "polyhedron": "H=torch.tensor([[1.0, 0.4], [-1.0, 0.8], [-0.3, -1.0]]), r=torch.tensor([1.2, 1.0, 1.1])",
    "soc": "A=torch.tensor([[0.6, 0.2], [0.0, 1.0]]), d=0.0, r=torch.tensor([0.3, 0.2]), c=1.0",
    "leaky_relu": "a=0.1",
    "group_soft_threshold": "lam=0.7",
    "modrelu": "b=-0.7",
    "elu": "a=1.0",
    "celu": "a=0.5",
    "clip": "low=-1.0, high=2.0",
}
"""As they are written in a call; the pictures are drawn with them too. Others are drawn with their defaults."""

IN_SPACE = {
    "exponential": ("$a$", "$b$", "$c$"),
    "lorentz": ("$h_1$", "$h_2$", "$t$"),
    "psd": ("$Y_{11}$", "$\\sqrt{2}\\,Y_{12}$", "$Y_{22}$"),
    "rotated_lorentz": ("$u$", "$w$", "$v$"),
}
"""Sets that are drawn in three dimensions, and the names of the axes."""

RANGES = {"relu6": (-3.0, 9.0), "hardsigmoid": (-5.0, 5.0), "asinh": (-6.0, 6.0), "symlog": (-6.0, 6.0)}
_OF_TORCH = ("identity", "gelu", "silu", "mish", "hardswish", "selu", "prelu", "softshrink")
_OURS = {"mpu": proxact.MPU, "leaky_mpu": proxact.LeakyMPU, "wta": proxact.WTA, "maxout": proxact.Maxout}
_OURS |= {"crelu": proxact.CReLU}
_SHARED = {"swish": "silu"}


@dataclass(frozen=True)
class Thing:
    """What has a page: ``<folder>/<name>.md``."""

    name: str
    folder: str
    documented: object = None  # whose docstring is the definition

    @property
    def path(self) -> str:
        return f"{self.folder}/{self.name}.md"

    @property
    def arguments(self) -> str:
        return _ARGUMENTS.get(self.name, "")

    @property
    def values(self) -> dict[str, Any]:
        return eval(f"dict({self.arguments})", {"torch": torch, "math": math})

    @property
    def names(self) -> list[str]:
        """The names of ``proxact.get`` that the page is about."""
        return [name for name in proxact.names() if page_name(name) == self.name]

    @property
    def is_scalar(self) -> bool:
        return self.name in _OF_TORCH or (self.name in CATALOGUE and CATALOGUE[self.name].is_elementwise)

    def function(self) -> Callable[[Tensor], Tensor]:
        """What is drawn: a function of numbers, or of vectors on the last axis."""
        if self.name in IN_SPACE:
            return functools.partial(_IN_ORDER[self.name], SETS[self.name])
        if self.name in SETS:
            return functools.partial(SETS[self.name], **self.values)
        if self.name in CATALOGUE:
            return functools.partial(CATALOGUE[self.name], **self.values)
        return proxact.get(self.name, dim=-1).double().requires_grad_(False)

    def penalty(self) -> Callable[[Tensor], Tensor]:
        return functools.partial(CATALOGUE[self.name].penalty, **self.values)


def _lorentz(project: Callable[[Tensor], Tensor], x: Tensor) -> Tensor:
    """The axis of the cone is drawn upwards."""
    return project(x.roll(1, -1)).roll(-1, -1)


def _rotated(project: Callable[[Tensor], Tensor], x: Tensor) -> Tensor:
    order = [0, 2, 1]
    return project(x[..., order])[..., order]


def _psd(project: Callable[[Tensor], Tensor], x: Tensor) -> Tensor:
    """Symmetric 2 x 2 matrices as points of the same distances."""
    first, off, second = x.unbind(-1)
    off = off * math.sqrt(0.5)
    y = project(torch.stack([first, off, off, second], -1).unflatten(-1, (2, 2)))
    return torch.stack([y[..., 0, 0], math.sqrt(2) * y[..., 0, 1], y[..., 1, 1]], -1)


_IN_ORDER: dict[str, Callable[..., Tensor]] = {
    "lorentz": _lorentz,
    "rotated_lorentz": _rotated,
    "psd": _psd,
    "exponential": lambda project, x: project(x),
}


def page_name(name: str) -> str:
    """Names that differ in m only, and aliases, share a page."""
    return re.sub(r"mpu\d*$", "mpu", _SHARED.get(name, name))


def things() -> list[Thing]:
    """All pages: sets, then proxes that are no sets, then the other activations."""
    found = [Thing(name, "sets", function) for name, function in SETS.items()]
    found += [Thing(name, "prox", entry) for name, entry in CATALOGUE.items() if name not in SETS]
    known = {thing.name for thing in found}
    others = dict.fromkeys(page_name(name) for name in proxact.names() if page_name(name) not in known)
    return found + [Thing(name, "activations", _OURS.get(name)) for name in others]


def by_name() -> dict[str, Thing]:
    return {thing.name: thing for thing in things()}
