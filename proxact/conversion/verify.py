"""Compare the outputs of a model before and after."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.utils._pytree import tree_leaves

TOLERANCE = 1e-5
"""For float32 and float64, relative to the largest entry or 1; lower precisions may differ by four of their steps."""


def check_unchanged(before: Any, after: Any) -> tuple[bool | None, str]:
    """``(True, words)`` where all tensors agree, ``(None, words)`` where there are none; a difference raises."""
    old, new = ([t for t in tree_leaves(output) if isinstance(t, Tensor)] for output in (before, after))
    if not old:
        return None, f"not compared: no tensors in an output of type {type(before).__name__}"
    if [t.shape for t in old] != [t.shape for t in new]:
        raise RuntimeError("verify=True: the output has another structure than before; the model was put back")
    worst = 0.0
    for x, y in zip(old, new, strict=True):
        difference, allowed = _difference(x, y)
        worst = max(worst, difference)
        if not difference <= allowed:
            raise RuntimeError(
                f"verify=True: an output differs by {difference:.3g} (allowed {allowed:.3g}) although every site was "
                "ReLU and still is; the model was put back. Does it rely on an activation that works in place, or on "
                "chance? verify=False converts all the same"
            )
    return True, f"unchanged, largest difference {worst:.3g}"


def _difference(x: Tensor, y: Tensor) -> tuple[float, float]:
    if x.device.type == "meta" or x.numel() == 0:
        return 0.0, 0.0
    if not x.is_floating_point():
        return float((x != y).any()), 0.0
    eps = max(TOLERANCE, 4 * torch.finfo(x.dtype).eps) if x.dtype not in (torch.float32, torch.float64) else TOLERANCE
    x, y = x.double(), y.double()
    same = (x == y) | (x.isnan() & y.isnan())  # infinities as well
    difference = torch.where(same, 0.0, (x - y).abs()).max().item()
    return difference, eps * max(1.0, torch.where(x.isfinite(), x.abs(), 0.0).max().item())
