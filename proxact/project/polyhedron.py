"""A polyhedron."""

from __future__ import annotations

import torch
from torch import Tensor

from .._checks import EmptySetError, raise_if
from ._preimage import onto_preimage
from ._vectors import as_matrix, as_vector, largest, projection


@projection
def polyhedron(x: Tensor, H: Tensor, r: float | Tensor, *, dim: int = -1) -> Tensor:
    r"""Project onto :math:`\{y : H y \le r\}`, solved in float64 to 1e-9 with implicit differentiation in x, H and r.

    Args:
        x: floating-point tensor with vectors of length n.
        H: (k, n), batch axes in front allowed.
        r: a number or (k,), batch axes in front allowed.
        dim: the axis of x that holds the vectors.

    Raises:
        EmptySetError: no y satisfies the inequalities.

    Example:
        >>> polyhedron(torch.tensor([2.0, 2.0]), torch.tensor([[1.0, 1.0]]), torch.tensor([2.0]))
        tensor([1., 1.])
    """
    matrix = as_matrix("H", H, x).double()
    limit = as_vector("r", r, x, length=matrix.shape[-2]).double()
    if matrix.shape[-2] == 0:
        return x
    size = largest(matrix)
    length = size * torch.linalg.vector_norm(matrix.detach() / size, dim=-1, keepdim=True)
    is_zero = length == 0
    raise_if(
        (is_zero.squeeze(-1) & (limit < 0)) | (limit == -torch.inf),
        EmptySetError,
        "the set is empty: r is negative where the row of H is zero, or -inf",
    )
    length = torch.where(is_zero, 1, length)
    is_void = limit == torch.inf
    unit = torch.where(is_void.unsqueeze(-1), 0, matrix / length)
    return onto_preimage(x, -unit, torch.where(is_void, 1, limit / length.squeeze(-1)), "orthant")
