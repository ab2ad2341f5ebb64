"""What an entry of the catalogue is: a function, its penalty, its domain and the ranges of its parameters."""

from __future__ import annotations

import functools
import inspect
import math
from collections.abc import Callable
from typing import Any, Protocol, cast

import torch
from torch import Tensor

from .._checks import check_dim, check_float_tensor
from ..project._vectors import compute_dtype, largest, projection
from ._interval import Interval

Function = Callable[..., Tensor]
Bind = Callable[[tuple[Any, ...], dict[str, Any]], dict[str, Any]]


class Entry(Protocol):
    r"""A function :math:`f(x) = \arg\min_y \phi(y) + \tfrac12\|y - x\|^2` that knows its :math:`\phi`.

    ``penalty(y, ...)`` takes the parameters of the function and returns phi(y), inf outside its domain, one number for
    each entry of y (elementwise functions) or for each vector along ``dim``.

    ``outside(y, ...)`` says how far y is outside that domain: a function at most 0 on the domain, whose gradient at a
    point outside separates the point from it.

    ``domain`` names the domain, ``ranges`` the values that each parameter may take, ``is_elementwise`` tells functions
    of numbers from those of vectors.
    """

    __name__: str
    penalty: Function
    outside: Function
    domain: str
    ranges: dict[str, Interval]
    is_elementwise: bool

    def __call__(self, x: Tensor, *args: Any, **kwargs: Any) -> Tensor: ...


def elementwise(penalty: Function, domain: str, **ranges: str) -> Callable[[Function], Entry]:
    """Make a function of one number an entry. Half precision is computed in float32 and rounded once.

    Args:
        penalty: its formula on ``domain``, ends included; an open end is where the formula itself is infinite.
        domain: an interval; its ends may be parameters.
        ranges: an interval for each parameter. A parameter annotated with Tensor may be one that broadcasts to x.
    """
    interval = Interval(domain)

    def decorate(body: Function) -> Entry:
        bind = _binder(body, {name: Interval(text) for name, text in ranges.items()})

        @functools.wraps(body)
        def function(x: Tensor, *args: Any, **kwargs: Any) -> Tensor:
            check_float_tensor("x", x)
            dtype = compute_dtype(x.dtype)
            return body(x.to(dtype), **_broadcast(bind(args, kwargs), x.shape, dtype)).to(x.dtype)

        def value(y: Tensor, *args: Any, **kwargs: Any) -> Tensor:
            check_float_tensor("y", y)
            dtype = compute_dtype(y.dtype)
            parameters = _broadcast(bind(args, kwargs), y.shape, dtype)
            low, high = interval.bounds(parameters)
            work = y.to(dtype)
            inside = torch.where(work < low, low, torch.where(work > high, high, work))
            # What the function returns may lie outside by a rounding: 0.7 in bfloat16 is 0.703.
            rounding = torch.finfo(y.dtype).eps * (1 + inside.abs())
            is_outside = (work - inside).abs() > rounding
            return torch.where(is_outside, math.inf, penalty(inside, **parameters)).to(y.dtype)

        def outside(y: Tensor, *args: Any, **kwargs: Any) -> Tensor:
            low, high = interval.bounds(_broadcast(bind(args, kwargs), y.shape, y.dtype))
            return torch.maximum(low - y, y - high)

        return _entry(function, value, outside, domain, ranges, is_elementwise=True)

    return decorate


def along_dim(penalty: Function, outside: Function, domain: str, **ranges: str) -> Callable[[Function], Entry]:
    """Make a function of vectors on the last axis an entry with ``dim``, as ``@projection`` does.

    Args:
        penalty: its formula on the domain and a rounding around it; one number for each vector.
        outside: as in :class:`Entry`.
        domain: its name.
        ranges: an interval for each parameter.
    """

    def decorate(body: Function) -> Entry:
        bind = _binder(body, {name: Interval(text) for name, text in ranges.items()})
        projected = projection(body)

        @functools.wraps(body)
        def function(x: Tensor, *args: Any, dim: int = -1, **kwargs: Any) -> Tensor:
            return projected(x, dim=dim, **bind(args, kwargs))

        value, distance = on_vectors(penalty, outside, bind)
        return _entry(function, value, distance, domain, ranges)

    return decorate


def indicator(function: Function, outside: Function, domain: str, axes: int = 1) -> Entry:
    """Make a projection of vectors (of matrices, axes = 2) the prox of what is 0 on its set and inf elsewhere."""
    bind = _binder(function, {})

    @functools.wraps(function)
    def copy(*args: Any, **kwargs: Any) -> Tensor:
        return function(*args, **kwargs)

    copy.__module__ = "proxact.prox.indicator"  # where pickle finds it
    value, distance = on_vectors(lambda y, **_: y.new_zeros(y.shape[:-1]), outside, bind, axes)
    return _entry(copy, value, distance, domain, {})


def on_vectors(penalty: Function, outside: Function, bind: Bind, axes: int = 1) -> tuple[Function, Function]:
    """The public penalty, inf outside, and the public distance from formulas for vectors on the last axis."""

    def vectors(y: Tensor, dim: int) -> Tensor:
        check_float_tensor("y", y)
        return y.movedim(check_dim(dim, y.ndim), -1) if axes == 1 else y.flatten(-axes)

    def value(y: Tensor, *args: Any, dim: int = -1, **kwargs: Any) -> Tensor:
        work, parameters = vectors(y, dim).to(compute_dtype(y.dtype)), bind(args, kwargs)
        # The square root of eps is far more than the rounding of a sum and less than any gap worth to be seen.
        tolerance = torch.finfo(y.dtype).eps ** 0.5 * (1 + largest(work).squeeze(-1))
        is_outside = outside(work, **parameters) > tolerance
        return torch.where(is_outside, math.inf, penalty(work, **parameters)).to(y.dtype)

    def distance(y: Tensor, *args: Any, dim: int = -1, **kwargs: Any) -> Tensor:
        return outside(vectors(y, dim), **bind(args, kwargs))

    return value, distance


def _entry(
    function: Function,
    penalty: Function,
    outside: Function,
    domain: str,
    ranges: dict[str, str],
    is_elementwise: bool = False,
) -> Entry:
    penalty.__doc__ = f"The penalty whose prox is ``{function.__name__}``; inf outside {domain}."
    outside.__doc__ = f"How far y is outside {domain}, at most 0 on it."
    attributes = {
        "penalty": penalty,
        "outside": outside,
        "domain": domain,
        "ranges": {name: Interval(text) for name, text in ranges.items()},
        "is_elementwise": is_elementwise,
    }
    for name, value in attributes.items():
        setattr(function, name, value)
    return cast(Entry, function)


def _binder(body: Function, ranges: dict[str, Interval]) -> Bind:
    """Name, complete and check the parameters of ``body``; those without a range are checked elsewhere."""
    own = [p for p in inspect.signature(body).parameters.values() if p.name not in ("x", "dim")]
    names = [p.name for p in own]
    defaults = {p.name: p.default for p in own if p.default is not p.empty}
    takes_tensor = {p.name: "Tensor" in str(p.annotation) for p in own}

    def bind(args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
        if len(args) > len(names):
            raise TypeError(f"{body.__name__} takes {len(names)} parameters ({', '.join(names)}), got {len(args)}")
        parameters = {**defaults, **dict(zip(names, args, strict=False)), **kwargs}
        for name, value in parameters.items():
            if name in ranges:
                ranges[name].check(name, value, takes_tensor[name])
        return parameters

    return bind


def _broadcast(parameters: dict[str, Any], shape: torch.Size, dtype: torch.dtype) -> dict[str, Any]:
    """Tensors in the dtype of the computation, their shapes checked against that of x."""
    for name, value in parameters.items():
        if isinstance(value, Tensor):
            given = value.shape
            fits = len(given) <= len(shape) and all(a in (1, b) for a, b in zip(given[::-1], shape[::-1], strict=False))
            if not fits:
                raise ValueError(f"{name} must broadcast to the shape of x, {tuple(shape)}, got {tuple(given)}")
    return {k: v.to(dtype) if isinstance(v, Tensor) else v for k, v in parameters.items()}
