"""Vectorised environments for the reinforcement-learning experiment. They need the extra ``rl``."""

import os
import sys

if sys.platform == "linux" and "DISPLAY" not in os.environ:
    os.environ.setdefault("MUJOCO_GL", "egl")  # MuJoCo reads it when imported; "osmesa" where there is no EGL

from .ant import AntVec

__all__ = ["AntVec"]
