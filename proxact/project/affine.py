"""An affine subspace."""

from __future__ import annotations

import torch
from torch import Tensor

from .._checks import EmptySetError, raise_if
from ._vectors import as_matrix, as_vector, projection


@projection
def affine(x: Tensor, A: Tensor, b: float | Tensor = 0.0, *, dim: int = -1) -> Tensor:
    r"""Project onto :math:`\{y : A y = b\}`. Rows of A may depend on each other as long as b agrees with them.

    Args:
        x: floating-point tensor with vectors of length n.
        A: (k, n), batch axes in front allowed.
        b: a number or (k,), batch axes in front allowed.
        dim: the axis of x that holds the vectors.

    Example:
        >>> affine(torch.tensor([3.0, 0.0]), torch.tensor([[1.0, 1.0]]), torch.tensor([1.0]))
        tensor([ 2.0000, -1.0000])
    """
    matrix = as_matrix("A", A, x)
    target = as_vector("b", b, x, length=matrix.shape[-2])
    if matrix.shape[-2] == 0:
        return x
    inverse = torch.linalg.pinv(matrix)
    missed = (matrix @ (inverse @ target.unsqueeze(-1))).squeeze(-1) - target
    tolerance = 1e3 * torch.finfo(x.dtype).eps * max(matrix.shape[-2:])
    raise_if(
        missed.abs().amax(-1) > tolerance * target.abs().amax(-1),
        EmptySetError,
        "the set is empty: the rows of A y = b contradict each other",
    )
    residual = (matrix @ x.unsqueeze(-1)).squeeze(-1) - target
    return x - (inverse @ residual.unsqueeze(-1)).squeeze(-1)
