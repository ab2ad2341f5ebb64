"""Activations as projections onto convex sets."""

from . import nn, project
from .nn import MPU, WTA, CReLU, LeakyMPU, Maxout, Projection, gain
from .project import EmptySetError
from .registry import get, names

__version__ = "0.1.0"

__all__ = [
    "MPU",
    "WTA",
    "CReLU",
    "EmptySetError",
    "LeakyMPU",
    "Maxout",
    "Projection",
    "gain",
    "get",
    "names",
    "nn",
    "project",
]
