"""Activations as projections onto convex sets."""

from . import monitor, nn, project, prox, unroll
from .conversion import convert, param_groups, revert, summary
from .cost import cost, register_cost
from .integrations import act_layer, register_hf, register_timm
from .nn import MPU, WTA, CReLU, Leaky, LeakyMPU, Maxout, Projection, Prox, gain
from .project import EmptySetError
from .registry import get, names
from .trials import trial

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
    "act_layer",
    "convert",
    "cost",
    "gain",
    "get",
    "monitor",
    "names",
    "nn",
    "param_groups",
    "project",
    "prox",
    "register_cost",
    "register_hf",
    "register_timm",
    "revert",
    "summary",
    "trial",
    "unroll",
]
