"""A hyperplane."""

from __future__ import annotations

from torch import Tensor

from .._checks import raise_if
from ._vectors import as_parameter, as_vector, largest, projection


@projection
def hyperplane(x: Tensor, a: Tensor, b: float | Tensor = 0.0) -> Tensor:
    r"""Project onto :math:`\{y : \langle a, y \rangle = b\}`.

    Args:
        x: floating-point tensor.
        a: the normal, not zero; length n, batch axes in front allowed.
        b: the offset; a number, or a tensor that broadcasts against x with ``dim`` removed.

    Example:
        >>> hyperplane(torch.tensor([1.0, 2.0]), torch.tensor([0.0, 1.0]), 5.0)
        tensor([1., 5.])
    """
    unit, excess = unit_normal_and_excess(x, a, b)
    return x - excess * unit


def unit_normal_and_excess(x: Tensor, a: Tensor, b: float | Tensor) -> tuple[Tensor, Tensor]:
    """a / ||a|| and how far x lies beyond the plane along it."""
    normal = as_vector("a", a, x)
    raise_if((normal == 0).all(-1), ValueError, "a must not be the zero vector")
    scale = largest(normal)
    unit = normal / scale
    length = (unit * unit).sum(-1, keepdim=True).sqrt()
    unit = unit / length
    size = largest(x)  # the product with x at its own scale, so that the sum does not overflow
    along = (x / size * unit).sum(-1, keepdim=True) * size
    return unit, along - as_parameter("b", b, x).unsqueeze(-1) / scale / length
