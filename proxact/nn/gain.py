"""The gain with which weights before a projection unit keep the scale of their signal."""

from __future__ import annotations

import math
from collections.abc import Callable

from .._checks import check_fraction, check_positive_int


def gain(m: int = 2, alpha: float = math.pi / 4, leak: float = 0.0) -> float:
    r"""What :func:`torch.nn.init.calculate_gain` is for ReLU: :math:`(E\|P(x)\|^2 / E\|x\|^2)^{-1/2}` for Gaussian x.

    The projection shortens a vector at angle phi to the axis by :math:`\cos\max(0, \phi - \alpha)`, and phi has density
    proportional to :math:`\sin^{m-2}\phi`. At alpha = pi/4 the gain is sqrt(2) for every m, as for ReLU.

    Args:
        m: the cone's dimension.
        alpha: half-apex angle in [0, pi/2].
        leak: as in :class:`proxact.MPU`.

    Example:
        >>> round(gain(3, 0.6), 3)
        1.556
    """
    check_positive_int("m", m)
    check_fraction("leak", leak)
    if not 0 <= alpha <= math.pi / 2:
        raise ValueError(f"alpha must be in [0, pi/2], got {alpha}")
    kept = second_moment_ratio(m, alpha)
    return ((1 - leak**2) * kept + leak**2) ** -0.5


def second_moment_ratio(m: int, alpha: float) -> float:
    """E|P(x)|^2 / E|x|^2 for standard Gaussian x: the cone's statistical dimension over m."""
    if m == 1:
        return 0.5

    def density(phi: float) -> float:
        return math.sin(phi) ** (m - 2)

    inside = _simpson(density, 0.0, alpha)
    boundary = _simpson(lambda phi: math.cos(phi - alpha) ** 2 * density(phi), alpha, alpha + math.pi / 2)
    return (inside + boundary) / _simpson(density, 0.0, math.pi)


def _simpson(function: Callable[[float], float], low: float, high: float, intervals: int = 1000) -> float:
    step = (high - low) / intervals
    inner = sum((4 if i % 2 else 2) * function(low + i * step) for i in range(1, intervals))
    return (function(low) + inner + function(high)) * step / 3
