"""What every projection shares: vectors on the last axis, half precision computed in float32, safe norms."""

from __future__ import annotations

import contextlib
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
        with without_autocast(x):
            y = body(x.movedim(axis, -1).to(compute_dtype(x.dtype)), *args, **kwargs)
        return y.movedim(-1, axis).to(x.dtype)

    return wrapper  # type: ignore[return-value]


def without_autocast(x: Tensor) -> contextlib.AbstractContextManager[Any]:
    """Matrix products of a projection are never rounded to the dtype of autocast."""
    if x.device.type != "meta" and torch.is_autocast_enabled(x.device.type):
        return torch.autocast(x.device.type, enabled=False)
    return contextlib.nullcontext()


def as_scalar(name: str, value: object, like: Tensor) -> Tensor:
    """A number, or one for each vector of ``like``."""
    return _as_parameter(name, value, like, own_axes=0)


def as_radius(value: object, like: Tensor) -> Tensor:
    """A radius for each vector of ``like``, with a trailing axis of one."""
    radius = as_scalar("radius", value, like)
    raise_if(radius < 0, EmptySetError, "the set is empty: radius must be >= 0, got {}", value)
    return radius.unsqueeze(-1)


def as_vector(name: str, value: object, like: Tensor, length: int | None = None) -> Tensor:
    """A vector of ``length`` entries (those of ``like`` unless given); a number stands for equal entries."""
    length = like.shape[-1] if length is None else length
    vector = _as_parameter(name, value, like, own_axes=1)
    if vector.ndim == 0:
        return vector.expand(length)
    if vector.shape[-1] != length:
        raise ValueError(f"{name} must have length {length} on its last axis, got shape {tuple(vector.shape)}")
    return vector


def as_matrix(name: str, value: object, like: Tensor) -> Tensor:
    """A matrix that multiplies the vectors of ``like``."""
    matrix = _as_parameter(name, value, like, own_axes=2)
    if matrix.ndim < 2 or matrix.shape[-1] != like.shape[-1]:
        raise ValueError(f"{name} must have shape (..., k, {like.shape[-1]}), got {tuple(matrix.shape)}")
    return matrix


def _as_parameter(name: str, value: object, like: Tensor, own_axes: int) -> Tensor:
    """``value`` in the dtype and on the device of ``like``; axes before its own must broadcast to the batch axes."""
    if isinstance(value, bool) or not isinstance(value, (int, float, Tensor)):
        raise TypeError(f"{name} must be a number or a floating-point tensor, got {value!r}")
    if isinstance(value, Tensor):
        check_float_tensor(name, value)
    tensor = torch.as_tensor(value, dtype=like.dtype, device=like.device)
    given, batch = tensor.shape[: max(0, tensor.ndim - own_axes)], like.shape[:-1]
    if len(given) > len(batch) or any(a not in (1, b) for a, b in zip(given[::-1], batch[::-1], strict=False)):
        raise ValueError(f"{name} must have batch axes that fit those of x, {tuple(batch)}, got {tuple(given)}")
    raise_if(torch.isnan(tensor), ValueError, "{} must not be nan", name)
    return tensor


def largest(x: Tensor, dim: int = -1) -> Tensor:
    """About the largest finite absolute entry along ``dim``, 1 where there is none. Carries no gradient.

    It scales homogeneous formulas: for fixed s, ``s P(x / s) = P(x)`` holds identically, so every derivative is right.
    """
    if x.shape[dim] == 0:
        return torch.ones_like(x.sum(dim, keepdim=True))
    magnitude = x.detach().abs()
    is_finite = magnitude < torch.inf
    scale = torch.where(is_finite, magnitude, 0).amax(dim, keepdim=True)
    # Kept from the ends of the dtype, where a gradient times the scale would leave it; squares need no more than this.
    most = torch.finfo(x.dtype).max ** 0.65
    scale = torch.where(is_finite.all(dim, keepdim=True), scale.clamp(1 / most, most), scale)
    return torch.where(scale > 0, scale, 1)


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
