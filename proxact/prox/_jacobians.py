"""Functions of vectors: are all Jacobians symmetric, with eigenvalues in [0, 1], and nothing jumps?"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from ._classification import Classification, no

_SAMPLES, _PAIRS = 64, 400


def classify_vectors(
    function: Callable[[Tensor], Tensor],
    event: torch.Size,
    radius: float,
    dtype: torch.dtype,
    generator: torch.Generator,
) -> Classification:
    def draw(count: int, sizes: Sequence[float]) -> Tensor:
        scale = torch.tensor(sizes, dtype=dtype).repeat(count // len(sizes)).reshape(-1, *[1] * len(event))
        return scale * torch.randn(count, *event, dtype=dtype, generator=generator)

    tolerance = 20 * torch.finfo(dtype).eps ** 0.5
    sizes = (radius / 60, radius / 20, radius / 6, radius)
    x, jacobian = _jacobians(function, draw(_SAMPLES, sizes))
    if not jacobian.isfinite().all():
        return no("not finite", x[~jacobian.isfinite().flatten(1).all(1)][0])
    values = torch.linalg.eigvalsh((jacobian + jacobian.mT) / 2)
    skews = (jacobian - jacobian.mT).abs().amax((-1, -2))
    low, high, skew = (values.min().item(), values.max().item(), skews.max().item()) if len(x) else (0.0, 1.0, 0.0)
    if skew > tolerance:
        reason = f"not a gradient: the Jacobian differs from its transpose by {skew:.4g}"
        return no(reason, x[skews.argmax()], low, high, skew)
    if low < -tolerance:
        reason = f"not monotone: the Jacobian has the eigenvalue {low:.4g}"
        return no(reason, x[values[:, 0].argmin()], low, high, skew)
    if high > 1 + tolerance:
        reason = f"not 1-Lipschitz: the Jacobian has the eigenvalue {high:.4g}"
        return no(reason, x[values[:, -1].argmax()], low, high, skew)
    # Every prox has |f(x) - f(z)|^2 <= <f(x) - f(z), x - z>. Smooth pieces may have it, and a jump between them not.
    x, step = draw(_PAIRS, sizes), draw(_PAIRS, (1.0, 0.1, 1e-2, 1e-3, 1e-4))
    moved = (_map(function, x + step) - _map(function, x)).flatten(1)
    step = step.flatten(1)
    excess = ((moved * moved).sum(1) - (moved * step).sum(1)) / (step * step).sum(1)
    if excess.max() > tolerance:
        worst = excess.argmax()
        ratio = moved[worst].norm() / step[worst].norm()
        return no(f"not firmly nonexpansive: a step grows {ratio:.4g} times, or turns", x[worst], low, high, skew)
    reason = f"Jacobians symmetric with eigenvalues in [{low:.4g}, {high:.4g}]"
    return Classification(True, reason, low, high, skew, None)


def _jacobians(function: Callable[[Tensor], Tensor], x: Tensor) -> tuple[Tensor, Tensor]:
    """Central differences, and the points they belong to: those where the differences to both sides agree, no kinks."""
    step = torch.finfo(x.dtype).eps ** (1 / 3)
    n, event = x[0].numel(), x.shape[1:]
    shifts = step * torch.eye(n, dtype=x.dtype).reshape(n, *event)

    def values(points: Tensor) -> Tensor:
        return _map(function, points.reshape(-1, *event)).reshape(len(x), -1, n)

    above, below = values(x.unsqueeze(1) + shifts), values(x.unsqueeze(1) - shifts)
    bend = (above - 2 * values(x) + below).abs().amax((-1, -2))
    is_smooth = ~(bend > step**1.5)  # a nan is to be reported, not left out
    return x[is_smooth], ((above - below) / (2 * step)).mT[is_smooth]


def _map(function: Callable[[Tensor], Tensor], x: Tensor) -> Tensor:
    """One call for all arguments where f allows, else one for each."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            return torch.func.vmap(function)(x)
    except (RuntimeError, ValueError, TypeError, Warning):
        return torch.stack([function(v) for v in x])
