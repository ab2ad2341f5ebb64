"""Modules: thin layers over :mod:`proxact.project`, and the paper's baselines."""

from .baselines import WTA, CReLU, Maxout
from .gain import gain
from .mpu import MPU, LeakyMPU
from .projection import Projection

__all__ = ["MPU", "WTA", "CReLU", "LeakyMPU", "Maxout", "Projection", "gain"]
