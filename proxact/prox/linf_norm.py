"""The prox of the maximum norm."""

from __future__ import annotations

from torch import Tensor

from ..project import l1_ball
from ..project._vectors import as_scalar
from ._entry import along_dim
from .radial import anywhere


def _largest_entry(y: Tensor, lam: float | Tensor) -> Tensor:
    return as_scalar("lam", lam, y) * y.abs().amax(-1)


@along_dim(_largest_entry, anywhere, "all vectors", lam="[0, inf)")
def linf_norm(x: Tensor, lam: float | Tensor = 1.0, *, dim: int = -1) -> Tensor:
    r"""Clip at a common level: :math:`\arg\min_y \tfrac12 \|y - x\|^2 + \lambda \|y\|_\infty`.

    The level s satisfies :math:`\sum_i (|x_i| - s)_+ = \lambda`; where :math:`\|x\|_1 \le \lambda` the result is 0. By
    Moreau's identity it is what the projection onto the 1-norm ball of radius lambda leaves of x.

    Args:
        x: floating-point tensor.
        lam: >= 0; a number, or a tensor that broadcasts against x with ``dim`` removed.
        dim: the axis of x that holds the vectors.

    Example:
        >>> linf_norm(torch.tensor([3.0, -2.5, 1.0]), 1.5)
        tensor([ 2., -2.,  1.])
    """
    return x - l1_ball(x, lam)
