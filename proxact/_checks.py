"""Argument checks. Every message names the argument, the value given and what is allowed."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor


class EmptySetError(ValueError):
    """The set to project onto has no point."""


def check_float_tensor(name: str, value: object) -> None:
    if not isinstance(value, Tensor):
        raise TypeError(f"{name} must be a floating-point tensor, got {type(value).__name__}")
    if not value.is_floating_point():
        raise TypeError(f"{name} must be a floating-point tensor, got dtype {value.dtype}")


def check_choice(name: str, value: object, allowed: Sequence[str | None]) -> None:
    if value not in allowed:
        raise ValueError(f"{name} must be one of {', '.join(map(repr, allowed))}, got {value!r}")


def check_positive_int(name: str, value: object) -> None:
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError(f"{name} must be an int >= 1, got {value!r}")
    if value < 1:
        raise ValueError(f"{name} must be an int >= 1, got {value}")


def check_dim(dim: object, ndim: int) -> int:
    """Return ``dim`` counted from the front."""
    if isinstance(dim, bool) or not isinstance(dim, int):
        raise TypeError(f"dim must be an int, got {dim!r}")
    if not -ndim <= dim < ndim:
        allowed = f"[{-ndim}, {ndim - 1}]" if ndim else "nothing: x has no axis"
        raise ValueError(f"dim must be in {allowed} for an x with {ndim} axes, got {dim}")
    return dim % ndim


def check_fraction(name: str, value: object) -> None:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise TypeError(f"{name} must be a float in [0, 1], got {value!r}")
    if not 0 <= value <= 1:
        raise ValueError(f"{name} must be a float in [0, 1], got {value}")


def check_not_negative(name: str, value: object, whole: bool = False) -> None:
    allowed = "an int >= 0" if whole else "a number >= 0"
    if isinstance(value, bool) or not isinstance(value, int if whole else (int, float)):
        raise TypeError(f"{name} must be {allowed}, got {value!r}")
    if not value >= 0:  # also not a number
        raise ValueError(f"{name} must be {allowed}, got {value}")


def raise_if(condition: Tensor, error: type[Exception], message: str, *values: object) -> None:
    """Raise ``error(message.format(*values))`` where any entry of ``condition`` holds and its values can be read.

    While a graph is traced (also with fake tensors), inside ``vmap`` and on an accelerator, where reading would stall
    the stream, there is nothing to read, so nothing is raised.
    """
    if torch.compiler.is_compiling() or type(condition) is not Tensor or condition.device.type != "cpu":
        return
    if not _is_batched(condition) and condition.any():
        raise error(message.format(*values))


def _is_batched(value: Tensor) -> bool:
    functorch = torch._C._functorch
    while functorch.is_functorch_wrapped_tensor(value):
        if functorch.is_batchedtensor(value):
            return True
        value = functorch.get_unwrapped(value)
    return False
