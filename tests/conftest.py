"""Settings that must hold before anything is imported."""

import os

import torch

if not torch.cuda.is_available():
    os.environ.setdefault("TRITON_INTERPRET", "1")  # read by Triton when a kernel is defined
if "DISPLAY" not in os.environ:
    os.environ.setdefault("MUJOCO_GL", "egl")  # read by MuJoCo when it is imported
