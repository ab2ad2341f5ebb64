"""The leaky version of a proximal operator is the proximal operator of a Moreau envelope."""

from __future__ import annotations

import functools
from collections.abc import Callable

import torch
from torch import Tensor
from torch.nn.functional import softshrink

from ..project import cone
from .claim import Claim, Construction
from .measure import F64, normal, worst


def leak_of(lam: float) -> float:
    """1/99 is the usual leak of 0.01."""
    return lam / (1 + lam)


def envelope_gap(x: Tensor, y: Tensor, prox: Callable[[Tensor], Tensor], lam: float) -> Tensor:
    """0 where y minimises M(y) + 1/2 ||y - x||^2, for the envelope M whose own minimiser is ``prox`` (of lam g).

    The envelope is smooth, with gradient (y - prox(y)) / lam.
    """
    return (y - prox(y)) / lam + y - x


LAMBDAS = (1 / 99, 0.5, 3.0)
SCALARS, VECTORS = torch.linspace(-4, 4, 401, dtype=F64), 2 * normal(300, 3, seed=1)
ALPHA = 0.9


def _leaky_versions() -> Construction:
    """Of the soft threshold, the prox of abs, and of the cone projection, the prox of an indicator."""
    thresholds = [(1 - leak_of(lam)) * softshrink(SCALARS, 1.0) + leak_of(lam) * SCALARS for lam in LAMBDAS]
    cones = [cone(VECTORS, ALPHA, 3, leak=leak_of(lam)) for lam in LAMBDAS]
    return {"threshold": torch.stack(thresholds), "projection": torch.stack(cones)}


def _leaky_gap(threshold: Tensor, projection: Tensor) -> float:
    """g is abs / (1 + lam), and the indicator: that one is its own multiple."""
    gaps = []
    for lam, y, z in zip(LAMBDAS, threshold, projection, strict=True):
        gaps.append(envelope_gap(SCALARS, y, functools.partial(softshrink, lambd=leak_of(lam)), lam))
        gaps.append(envelope_gap(VECTORS, z, _onto_cone, lam))
    return worst(*gaps)


def _onto_cone(v: Tensor) -> Tensor:
    return cone(v, ALPHA, 3)


CLAIMS = [
    Claim(
        name="the leaky version of a prox is the prox of a Moreau envelope",
        where="Theorem 3",
        construct=_leaky_versions,
        residual=_leaky_gap,
        tolerance=1e-11,
    )
]
