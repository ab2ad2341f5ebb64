"""A hyperplane."""

from __future__ import annotations

from torch import Tensor

from .._checks import raise_if
from ._vectors import as_scalar, as_vector, bounded, largest, projection, unbounded


@projection
def hyperplane(x: Tensor, a: Tensor, b: float | Tensor = 0.0, *, dim: int = -1) -> Tensor:
    r"""Project onto :math:`\{y : \langle a, y \rangle = b\}`.

    Args:
        x: floating-point tensor.
        a: the normal, not zero; length n, batch axes in front allowed.
        b: the offset; a number, or a tensor that broadcasts against x with ``dim`` removed.
        dim: the axis of x that holds the vectors.

    Example:
        >>> hyperplane(torch.tensor([1.0, 2.0]), torch.tensor([0.0, 1.0]), 5.0)
        tensor([1., 5.])
    """
    return onto_plane(x, a, b)[0]


def onto_plane(x: Tensor, a: Tensor, b: float | Tensor) -> tuple[Tensor, Tensor]:
    """The projection onto the plane, and whether x lies strictly below it."""
    normal = as_vector("a", a, x)
    raise_if((normal == 0).all(-1), ValueError, "a must not be the zero vector")
    size = largest(normal)
    unit = normal / size
    length = (unit * unit).sum(-1, keepdim=True).sqrt()
    unit = unit / length
    offset = as_scalar("b", b, x).unsqueeze(-1) / size / length
    scale, infinite = largest(x), x.isinf().any(-1, keepdim=True)
    z = bounded(x, scale)
    along = (z * unit).sum(-1, keepdim=True)
    y = unbounded(z - along * unit, scale, infinite) + offset * unit
    return y, along < offset / scale
