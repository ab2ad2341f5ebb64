"""Positive semidefinite matrices."""

from __future__ import annotations

import torch
from torch import Tensor

from .._checks import check_float_tensor
from ._vectors import compute_dtype, largest, without_autocast


def psd(x: Tensor) -> Tensor:
    r"""Project the last two axes onto :math:`\{Y = Y^T : Y \succeq 0\}` in the Frobenius norm.

    The symmetric part of x loses its negative eigenvalues. Derivatives of first and second order come from divided
    differences of the eigenvalues, so repeated ones are no trouble; on a zero eigenvalue the derivative is 0.

    Args:
        x: floating-point tensor of shape (..., n, n).

    Example:
        >>> psd(torch.tensor([[1.0, 0.0], [0.0, -2.0]]))
        tensor([[1., 0.],
                [0., 0.]])
    """
    check_float_tensor("x", x)
    if x.ndim < 2 or x.shape[-1] != x.shape[-2]:
        raise ValueError(f"x must have shape (..., n, n), got {tuple(x.shape)}")
    with without_autocast(x):
        return _onto_psd(x.to(compute_dtype(x.dtype))).to(x.dtype)


def _onto_psd(x: Tensor) -> Tensor:
    symmetric = x / 2 + x.mT / 2
    scale = largest(symmetric.flatten(-2)).unsqueeze(-1)
    unit = symmetric / scale
    fixed = unit.detach()
    finite = fixed.isfinite().all(-1, keepdim=True).all(-2, keepdim=True)
    values, vectors = torch.linalg.eigh(torch.where(finite, fixed, 0))
    # E has value 0 and carries the derivatives of x, in the eigenbasis. Up to second order in E the absolute value is
    # |X + E| = |X| + B*E + (EE - (B*E)(B*E)) / (|a_i| + |a_j|),  B_ij = (a_i + a_j) / (|a_i| + |a_j|),
    # and the projection is the mean of X and |X|.
    E = vectors.mT @ (unit - fixed) @ vectors
    row, column = values.unsqueeze(-1), values.unsqueeze(-2)
    total = row.abs() + column.abs()
    is_kernel = total == 0
    divisor = torch.where(is_kernel, 1, total)
    BE = torch.where(is_kernel, -1, (row + column) / divisor) * E
    is_flat = total < torch.finfo(x.dtype).eps ** 2  # a curvature of 1/total has no meaning there
    curvature = torch.where(is_flat, 0, (E @ E - BE @ BE) / torch.where(is_flat, 1, divisor))
    y = torch.diag_embed(torch.relu(values)) + (E + BE + curvature) / 2
    y = vectors @ y @ vectors.mT
    return torch.where(finite, (y / 2 + y.mT / 2) * scale, torch.nan)
