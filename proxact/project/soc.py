"""The general second-order cone constraint of the paper."""

from __future__ import annotations

import torch
from torch import Tensor

from ._preimage import onto_preimage
from ._vectors import as_matrix, as_scalar, as_vector, projection


@projection
def soc(x: Tensor, A: Tensor, d: float | Tensor, r: Tensor, c: float | Tensor, *, dim: int = -1) -> Tensor:
    r"""Project onto :math:`\{y : \|A y + d\|_2 \le \langle r, y \rangle + c\}`, solved in float64 to 1e-9.

    Cones, ellipsoids, paraboloids, slabs and one sheet of a hyperboloid are of this form. All differentiable.
    The set must have interior points (a ray or a single point written this way is not solved, and says so).

    Args:
        x: floating-point tensor with vectors of length n.
        A: (k, n), batch axes in front allowed.
        d: a number or (k,).
        r: (n,).
        c: a number.
        dim: the axis of x that holds the vectors.

    Raises:
        EmptySetError: no y satisfies the constraint.

    Example:
        >>> soc(torch.tensor([3.0, 4.0]), torch.eye(2), 0.0, torch.zeros(2), 1.0)
        tensor([0.6000, 0.8000])
    """
    matrix, row = as_matrix("A", A, x), as_vector("r", r, x)
    shift, level = as_vector("d", d, x, length=matrix.shape[-2]), as_scalar("c", c, x)
    batch = torch.broadcast_shapes(matrix.shape[:-2], row.shape[:-1], shift.shape[:-1], level.shape)
    stacked = torch.cat(
        [row.expand(*batch, *row.shape[-1:]).unsqueeze(-2), matrix.expand(*batch, *matrix.shape[-2:])], -2
    ).double()
    offset = torch.cat([level.expand(batch).unsqueeze(-1), shift.expand(*batch, *shift.shape[-1:])], -1).double()
    size = torch.linalg.matrix_norm(stacked.detach(), keepdim=True)
    size = torch.where(size == 0, 1, size)
    return onto_preimage(x, stacked / size, offset / size.squeeze(-1), "lorentz")
