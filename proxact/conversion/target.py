"""Make the new activation of a site."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

import torch
from torch import nn

from ..nn import MPU
from ..registry import get

Factory = Callable[..., nn.Module]

_DTYPES = (torch.float32, torch.bfloat16, torch.float16, torch.float64)
_CHANGES_WIDTH = ("maxout", "crelu")


class Target:
    """What ``to`` asks for.

    Args:
        to: a name of :func:`proxact.names`, or a callable that returns a new module, given ``dim`` if it takes it.
    """

    def __init__(self, to: str | Factory) -> None:
        if isinstance(to, nn.Module) or not (isinstance(to, str) or callable(to)):
            raise TypeError(
                f"to must be a name such as 'mpu2' or a callable that returns a new module, got {to!r}"
                + ("; give its class or a function: every site needs its own" if isinstance(to, nn.Module) else "")
            )
        self.to = to
        if isinstance(to, str):
            if to.lower() in _CHANGES_WIDTH:
                raise ValueError(f"to must keep the number of channels, got {to!r}")
            get(to)  # an unknown name is refused before anything is touched
            self.name, self.takes_dim = to, True
        else:
            self.name, self.takes_dim = getattr(to, "__name__", repr(to)), _takes_dim(to)

    def make(self, dim: int | None, neighbour: torch.Tensor | None, training: bool) -> nn.Module:
        """A new activation with the channels on axis ``dim``, on the device and of the dtype of ``neighbour``."""
        if isinstance(self.to, str):
            module = get(self.to, dim=dim)
        else:
            module = self.to(dim=dim) if self.takes_dim else self.to()
        if not isinstance(module, nn.Module):
            raise TypeError(f"to must return an nn.Module, got {module!r}")
        if neighbour is not None:
            module.to(neighbour.device, neighbour.dtype)
        return module.train(training)


def neighbour(ancestors: list[tuple[nn.Module, str]]) -> torch.Tensor | None:
    """The floating-point parameter that is registered last before a slot, or else the nearest one.

    Args:
        ancestors: (module, name of the child that leads to the slot), the owner of the slot first.
    """
    for module, name in ancestors:
        before: torch.Tensor | None = None
        for child_name, child in module.named_children():
            if child_name == name:
                break
            before = next((p for p in reversed(list(child.parameters())) if p.dtype in _DTYPES), before)
        if before is None:
            before = next((p for p in module.parameters() if p.dtype in _DTYPES), None)
        if before is not None:
            return before
    return None


def is_relu(module: nn.Module) -> bool:
    """Whether a module is an MPU that computes ReLU: m = 2, no leak, every angle pi/4."""
    if not isinstance(module, MPU) or module.m != 2 or module.leak != 0 or module.theta.device.type == "meta":
        return False
    return not module.theta.detach().any().item()


def _takes_dim(factory: Factory) -> bool:
    if isinstance(factory, functools.partial) and "dim" in factory.keywords:
        return False  # chosen by the caller
    try:
        parameters: Any = inspect.signature(factory).parameters
    except (TypeError, ValueError):
        return False
    if not any(p.kind is p.VAR_KEYWORD for p in parameters.values()):
        return "dim" in parameters
    try:
        factory(dim=None)
    except TypeError:  # the keywords go on to something that has no dim
        return False
    return True
