"""Settings that must hold before anything is imported."""

import os

import torch

if not torch.cuda.is_available():
    os.environ.setdefault("TRITON_INTERPRET", "1")  # read by Triton when a kernel is defined
