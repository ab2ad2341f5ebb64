"""How far a point is from optimal, and what that says about the step size and about the problem."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from ._problem import norm, times

Scales = tuple[Tensor, Tensor]


def residuals(
    P: Tensor, A: Tensor | None, q: Tensor, x: Tensor, z: Tensor, y: Tensor, scales: Scales | None
) -> tuple[Tensor, Tensor, Scales]:
    """How far Ax = z and Px + q + A'y = 0 are from holding, each relative to its largest term, now or in ``scales``.

    The terms of the first step count as well (returned, to be given again), because all terms may go to 0, and then no
    relative error would ever be small.
    """
    Ax, Px = x if A is None else times(A, x), times(P, x)
    force = y if A is None else times(A.mT, y)
    first = torch.maximum(norm(Ax), norm(z))
    second = torch.maximum(torch.maximum(norm(Px), norm(q)), norm(force))
    scales = scales or (first, second)
    primal, dual = norm(Ax - z), norm(Px + q + force)
    return (
        torch.where(primal == 0, 0, primal / torch.maximum(first, scales[0])),
        torch.where(dual == 0, 0, dual / torch.maximum(second, scales[1])),
        scales,
    )


def balanced(size: Tensor, primal: Tensor, dual: Tensor) -> Tensor:
    """The penalty that would make both residuals about equal, one for all problems that share their matrices."""
    ratio = torch.where((primal > 0) & (dual > 0), primal / dual, 1)
    wanted = (ratio.log() / 2).clamp(-math.log(10), math.log(10))
    extra = wanted.ndim - size.ndim
    wanted = wanted.mean(tuple(range(extra))) if extra else wanted
    shared = [i for i, n in enumerate(size.shape) if n == 1 and wanted.shape[i] != 1]
    wanted = wanted.mean(shared, keepdim=True) if shared else wanted
    return size * torch.where(wanted.abs() < math.log(2), 0, wanted).exp()  # a small gain is not worth new matrices


def is_flat(history: Tensor) -> Tensor:
    """Whether the best residual of the second half is hardly below that of the first."""
    half = len(history) // 2
    if half < 2:
        return torch.zeros_like(history[0], dtype=torch.bool)
    return ~(history[half:].amin(0) < 0.9 * history[:half].amin(0))
