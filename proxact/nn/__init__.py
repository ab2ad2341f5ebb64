"""Modules: thin layers over :mod:`proxact.project` and :mod:`proxact.prox`, and the paper's baselines."""

from .baselines import WTA, CReLU, Maxout
from .gain import gain
from .leaky import Leaky
from .mpu import MPU, LeakyMPU
from .projection import Projection
from .prox import Prox
from .proxes import Entmax, GroupSoftThreshold, ModReLU, SoftThreshold, Sparsemax, Squash

__all__ = [
    "MPU",
    "WTA",
    "CReLU",
    "Entmax",
    "GroupSoftThreshold",
    "Leaky",
    "LeakyMPU",
    "Maxout",
    "ModReLU",
    "Projection",
    "Prox",
    "SoftThreshold",
    "Sparsemax",
    "Squash",
    "gain",
]
