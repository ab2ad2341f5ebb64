"""Any projection as a layer."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from .._checks import check_choice
from ..project import SETS


class Projection(nn.Module):
    """Project onto a set of :mod:`proxact.project`.

    Args:
        set: its name, or the function itself.
        learnable: names of the parameters to train; they become ``nn.Parameter`` (the others, where tensors, buffers).
        params: arguments of the projection, ``dim`` among them.

    Example:
        >>> Projection("l2_ball", radius=2.0, learnable=["radius"])(torch.tensor([3.0, 4.0]))
        tensor([1.2000, 1.6000], grad_fn=...)
    """

    def __init__(self, set: str | Callable[..., Tensor], *, learnable: str | Sequence[str] = (), **params: Any) -> None:
        super().__init__()
        if isinstance(set, str):
            check_choice("set", set, sorted(SETS))
            set = SETS[set]
        self.function = set
        allowed = [name for name in inspect.signature(set).parameters if name != "x"]
        learnable = [learnable] if isinstance(learnable, str) else learnable
        for name in params:
            if not allowed:
                raise ValueError(f"{set.__name__} has no parameters to give, got {name!r}")
            check_choice(f"a parameter of {set.__name__}", name, allowed)
        for name in learnable:
            if name not in params:
                raise ValueError(f"learnable must name parameters given here ({', '.join(params)}), got {name!r}")
        self.names = tuple(params)
        for name, value in params.items():
            if name in learnable:
                self.register_parameter(name, nn.Parameter(torch.as_tensor(value, dtype=_float_dtype(value)).clone()))
            elif isinstance(value, Tensor):
                self.register_buffer(name, value)
            else:
                setattr(self, name, value)

    def forward(self, x: Tensor) -> Tensor:
        return self.function(x, **{name: getattr(self, name) for name in self.names})

    def extra_repr(self) -> str:
        shown = {name: getattr(self, name) for name in self.names}
        values = [
            f"{name}={tuple(value.shape) if isinstance(value, Tensor) and value.ndim else _plain(value)}"
            for name, value in shown.items()
        ]
        return ", ".join([self.function.__name__, *values])


def _float_dtype(value: object) -> torch.dtype:
    return value.dtype if isinstance(value, Tensor) else torch.get_default_dtype()


def _plain(value: object) -> object:
    return round(value.item(), 6) if isinstance(value, Tensor) else value
