"""What every projection shares: vectors on the last axis, half precision computed in float32, safe norms."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar

import torch
from torch import Tensor

from .._checks import EmptySetError, check_dim, check_float_tensor, raise_if

Function = TypeVar("Function", bound=Callable[..., Tensor])

_INFINITE = 2.0**30  # stands for an infinite entry once the finite ones are scaled to at most 1


def compute_dtype(dtype: torch.dtype) -> torch.dtype:
    """bfloat16 and float16 are computed in float32 and rounded once at the end."""
    return torch.promote_types(dtype, torch.float32)


def projection(body: Function) -> Function:
    """Turn a function of vectors on the last axis into a public projection with ``dim`` and any float dtype."""

    @functools.wraps(body)
    def wrapper(x: Tensor, *args: Any, dim: int = -1, **kwargs: Any) -> Tensor:
        check_float_tensor("x", x)
        axis = check_dim(dim, x.ndim)
        y = body(x.movedim(axis, -1).to(compute_dtype(x.dtype)), *args, **kwargs)
        return y.movedim(-1, axis).to(x.dtype)

    return wrapper  # type: ignore[return-value]


def as_parameter(name: str, value: object, like: Tensor, *, ndim: int = 0) -> Tensor:
    """``value`` as a tensor of ``like``'s dtype and device with at least ``ndim`` axes of its own.

    Axes in front of those are batch axes; they broadcast against the batch axes of x.
    """
    if isinstance(value, bool) or not isinstance(value, (int, float, Tensor)):
        raise TypeError(f"{name} must be a number or a floating-point tensor, got {value!r}")
    if isinstance(value, Tensor):
        check_float_tensor(name, value)
    tensor = torch.as_tensor(value, dtype=like.dtype, device=like.device)
    if tensor.ndim < ndim:
        raise ValueError(f"{name} must have at least {ndim} axes, got shape {tuple(tensor.shape)}")
    raise_if(torch.isnan(tensor), ValueError, "{} must not be nan", name)
    return tensor


def as_radius(value: object, like: Tensor) -> Tensor:
    """A radius for each vector of ``like``, with a trailing axis of one."""
    radius = as_parameter("radius", value, like)
    raise_if(radius < 0, EmptySetError, "the set is empty: radius must be >= 0, got {}", value)
    return radius.unsqueeze(-1)


def as_vector(name: str, value: object, like: Tensor) -> Tensor:
    """A vector of the length of ``like``'s last axis (batch axes in front allowed)."""
    vector = as_parameter(name, value, like, ndim=1)
    if vector.shape[-1] != like.shape[-1]:
        raise ValueError(f"{name} must have length {like.shape[-1]} on its last axis, got shape {tuple(vector.shape)}")
    return vector


def largest(x: Tensor, dim: int = -1) -> Tensor:
    """The largest finite absolute entry along ``dim``, 1 where there is none. Carries no gradient.

    It scales homogeneous formulas: for fixed s, ``s P(x / s) = P(x)`` holds identically, so every derivative is right.
    """
    if x.shape[dim] == 0:
        return torch.ones_like(x.sum(dim, keepdim=True))
    magnitude = x.detach().abs()
    magnitude = torch.where(magnitude < torch.inf, magnitude, 0).amax(dim, keepdim=True)
    return torch.where(magnitude > 0, magnitude, 1)


def safe_norm(x: Tensor, dim: int = -1) -> tuple[Tensor, Tensor]:
    """The 2-norm, and a copy fit to divide by (1 where the norm is 0). Both differentiable everywhere, twice."""
    squared = (x * x).sum(dim, keepdim=True)
    is_zero = squared == 0
    divisor = torch.where(is_zero, 1, squared).sqrt()
    return torch.where(is_zero, 0, divisor), divisor


def bounded(x: Tensor, scale: Tensor) -> Tensor:
    """x / scale with a large number in place of infinite entries."""
    return torch.where(x.isinf(), torch.sign(x) * _INFINITE, x / scale)


def unbounded(y: Tensor, scale: Tensor, infinite: Tensor) -> Tensor:
    """Undo :func:`bounded`; what is of the size of the infinite entries becomes infinite and keeps its derivative."""
    is_large = infinite & (y.detach().abs() > _INFINITE**0.5)
    return y * scale + torch.where(is_large, torch.sign(y.detach()) * torch.inf, 0)


def limit_direction(x: Tensor, otherwise: Tensor) -> Tensor:
    """The direction of vectors with infinite entries (all of equal size, the finite ones 0), else ``otherwise``."""
    infinite = x.isinf()
    return torch.where(infinite.any(-1, keepdim=True), torch.where(infinite, torch.sign(x), x * 0), otherwise)
