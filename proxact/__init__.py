"""Activations as projections onto convex sets."""

from . import nn, project, prox, unroll
from .nn import MPU, WTA, CReLU, Leaky, LeakyMPU, Maxout, Projection, Prox, gain
from .project import EmptySetError
from .registry import get, names

__version__ = "0.1.0"

__all__ = [
    "MPU",
    "WTA",
    "CReLU",
    "EmptySetError",
    "Leaky",
    "LeakyMPU",
    "Maxout",
    "Projection",
    "Prox",
    "gain",
    "get",
    "names",
    "nn",
    "project",
    "prox",
    "unroll",
]
