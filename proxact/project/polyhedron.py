"""A polyhedron."""

from __future__ import annotations

import torch
from torch import Tensor

from .._checks import EmptySetError, raise_if
from ._preimage import onto_preimage
from ._vectors import as_parameter, as_vector, projection


@projection
def polyhedron(x: Tensor, H: Tensor, r: float | Tensor) -> Tensor:
    r"""Project onto :math:`\{y : H y \le r\}`, solved in float64 to 1e-9 with implicit differentiation in x, H and r.

    Args:
        x: floating-point tensor with vectors of length n.
        H: (k, n), batch axes in front allowed.
        r: a number or (k,), batch axes in front allowed.

    Raises:
        EmptySetError: no y satisfies the inequalities.

    Example:
        >>> polyhedron(torch.tensor([2.0, 2.0]), torch.tensor([[1.0, 1.0]]), torch.tensor([2.0]))
        tensor([1., 1.])
    """
    matrix = as_parameter("H", H, x, ndim=2)
    as_vector("H", matrix, x)
    limit = as_parameter("r", r, x)
    limit = limit.expand(matrix.shape[:-1]) if limit.ndim == 0 else limit
    if limit.shape[-1] != matrix.shape[-2]:
        raise ValueError(f"r must have length {matrix.shape[-2]}, the number of rows of H, got {tuple(limit.shape)}")
    matrix, limit = matrix.double(), limit.double()
    length = torch.linalg.vector_norm(matrix.detach(), dim=-1)
    raise_if((length == 0) & (limit < 0), EmptySetError, "the set is empty: a zero row of H has a negative r")
    length = torch.where(length == 0, 1, length)
    return onto_preimage(x, -matrix / length.unsqueeze(-1), limit / length, "orthant")
