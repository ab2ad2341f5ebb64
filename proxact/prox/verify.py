"""Is this function the prox of this penalty? A numerical answer."""

from __future__ import annotations

import copy
import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from .._checks import check_float_tensor
from ._minimise import event_axes, minimise


@dataclass(frozen=True)
class Verification:
    """How far a function is from the numerical minimiser."""

    gap: float
    """The largest distance between f(x) and the minimiser."""
    x: Tensor
    """The point with that distance."""
    y: Tensor
    """f there."""
    best: Tensor
    """The minimiser found there."""


def verify(
    f: Callable[..., Tensor],
    penalty: Callable[..., Tensor] | None = None,
    x: Tensor | None = None,
    *,
    outside: Callable[..., Tensor] | None = None,
    **parameters: Any,
) -> Verification:
    r"""Compare f(x) with :math:`\arg\min_y \phi(y) + \tfrac12 \|y - x\|^2`, minimised numerically in float64.

    The minimiser does not use f: golden-section search for numbers, the ellipsoid method for vectors. It is good to
    about 1e-7 for arguments of size 10.

    Args:
        f: a function or module; of numbers, or of the axes that the penalty reduces (the last ones).
        penalty: convex, inf outside its domain. If f is an entry of :mod:`proxact.prox`, it knows its own.
        x: the points, (...) for functions of numbers, (..., n) for functions of vectors. By default 321 numbers up to
            40, or 64 vectors of 3 entries.
        outside: for vectors and a penalty that is somewhere inf: at most 0 exactly where the penalty is finite, with a
            gradient elsewhere that separates the point from the domain (any convex function will do).
        parameters: passed on to all three.

    Example:
        >>> verify(proxact.prox.sigmoid).gap < 1e-6
        True
        >>> round(verify(torch.relu, torch.abs, torch.tensor([3.0, -7.0])).gap, 6)  # -7 should have become -6
        6.0
    """
    formula = getattr(f, "penalty", None) if penalty is None else penalty
    if formula is None:
        raise TypeError(f"penalty must be given for a function that is no entry of proxact.prox, got {f!r}")
    beyond = getattr(f, "outside", None) if penalty is None and outside is None else outside
    phi = functools.partial(formula, **parameters)
    far = functools.partial(beyond, **parameters) if beyond else None
    points = _default_points(phi) if x is None else x
    check_float_tensor("x", points)
    points = points.detach().double()
    with torch.no_grad():
        y = in_dtype(f, torch.float64)(points.clone(), **parameters)
    if y.shape != points.shape:
        raise ValueError(f"f must return the shape of x, {tuple(points.shape)}, got {tuple(y.shape)}")
    axes = event_axes(phi, points)
    best = minimise(phi, points, far)
    difference = (y - best).reshape(*points.shape[: points.ndim - axes], -1)
    gaps = torch.linalg.vector_norm(difference, dim=-1).nan_to_num(nan=torch.inf).reshape(-1)
    worst = int(gaps.argmax())
    event = points.shape[points.ndim - axes :]
    x, y, best = (value.reshape(-1, *event)[worst] for value in (points, y, best))
    return Verification(gaps[worst].item(), x, y, best)


def in_dtype(f: Callable[..., Tensor], dtype: torch.dtype) -> Callable[..., Tensor]:
    """f, its parameters in ``dtype`` if it is a module."""
    return copy.deepcopy(f).to(dtype) if isinstance(f, nn.Module) else f


def _default_points(penalty: Callable[[Tensor], Tensor]) -> Tensor:
    vectors = 2 * torch.randn(64, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    if event_axes(penalty, vectors):
        return vectors
    return torch.cat([torch.linspace(-8, 8, 301), torch.linspace(-40, 40, 20)]).double()
