"""The data of min 1/2 x'Px + q'x + g(Ax): checks, products, norms. P, A and step sizes may have batch axes in front."""

from __future__ import annotations

import inspect
from collections.abc import Callable

import torch
from torch import Tensor, nn

from .._checks import check_float_tensor

Prox = Callable[..., Tensor]


def check_quadratic(P: Tensor) -> None:
    """P must be symmetric and positive semidefinite, up to rounding."""
    _check_matrix("P", P)
    if P.shape[-1] != P.shape[-2]:
        raise ValueError(f"P must have shape (..., n, n), got {tuple(P.shape)}")
    fixed = P.detach()
    rounding = 10 * P.shape[-1] * torch.finfo(P.dtype).eps
    size = torch.linalg.matrix_norm(fixed)
    uneven = fixed - fixed.mT
    if (torch.linalg.matrix_norm(uneven) > rounding * size).any():
        raise ValueError(
            f"P must be symmetric, got |P - P'| up to {uneven.abs().max():.3g}; (P + P')/2 gives the same objective"
        )
    shifted = uneven.copy_(fixed)  # in its memory: a batch of P may be large
    shifted.diagonal(dim1=-2, dim2=-1).add_(torch.where(size > 0, rounding * size, 1).unsqueeze(-1))
    if torch.linalg.cholesky_ex(shifted).info.any():
        least = torch.linalg.eigvalsh(fixed)[..., 0].min()
        raise ValueError(f"P must be positive semidefinite, got one with the eigenvalue {least:.3g}")


def check_linear(A: Tensor, P: Tensor) -> None:
    """A must multiply the vectors that P multiplies."""
    _check_matrix("A", A)
    if A.shape[-1] != P.shape[-1]:
        raise ValueError(f"A must have shape (..., k, {P.shape[-1]}) to fit P, got {tuple(A.shape)}")
    if A.dtype != P.dtype:
        raise TypeError(f"A must have the dtype of P, {P.dtype}, got {A.dtype}")
    broadcast("A", A.shape[:-2], "P", P.shape[:-2])


def check_vector(name: str, value: Tensor, n: int, like: Tensor) -> None:
    check_float_tensor(name, value)
    if value.dtype != like.dtype:
        raise TypeError(f"{name} must have the dtype of P, {like.dtype}, got {value.dtype}")
    if value.ndim < 1 or value.shape[-1] != n:
        raise ValueError(f"{name} must have shape (..., {n}), got {tuple(value.shape)}")


def broadcast(name: str, given: torch.Size, other: str, allowed: torch.Size) -> torch.Size:
    """The batch axes of two arguments together."""
    try:
        return torch.broadcast_shapes(given, allowed)
    except RuntimeError:
        message = f"{name} must have batch axes that fit those of {other}, {tuple(allowed)}, got {tuple(given)}"
        raise ValueError(message) from None


def takes_step(g: Prox) -> bool:
    """Whether g is a prox, which has an argument called ``step``, or a projection, which has none."""
    if not callable(g):
        raise TypeError(f"g must be a function or module, g(v) or g(v, step), got {g!r}")
    try:
        signature = inspect.signature(g.forward if isinstance(g, nn.Module) else g)
    except ValueError:  # builtins such as torch.relu do not tell
        return False
    has_step = "step" in signature.parameters
    try:
        signature.bind(None, **({"step": None} if has_step else {}))
    except TypeError:
        raise TypeError(
            f"g must be called as g(v), for a projection, or g(v, step), for a prox scaled by the step; "
            f"got one with the arguments {signature}"
        ) from None
    return has_step


def as_size(name: str, value: object, P: Tensor, shape: torch.Size) -> Tensor:
    """A positive number for each matrix of a batch of this shape, in the dtype of P and without gradient."""
    if isinstance(value, bool) or not isinstance(value, (int, float, Tensor)):
        raise TypeError(f"{name} must be a number > 0 or a tensor of them, got {value!r}")
    size = torch.as_tensor(value, dtype=P.dtype, device=P.device).detach()
    if not ((size > 0) & size.isfinite()).all():
        raise ValueError(f"{name} must be > 0 and finite, got {value}")
    if broadcast(name, size.shape, "P and A", shape) != shape:
        raise ValueError(f"{name} must have a shape that fits the batch axes, {tuple(shape)}, got {tuple(size.shape)}")
    return size.expand(shape)


def times(matrix: Tensor, vector: Tensor) -> Tensor:
    """Matrix times vector on the last axis."""
    if matrix.ndim == 2:  # one matrix for all vectors: a product of matrices
        return vector @ matrix.mT
    return (vector.unsqueeze(-2) @ matrix.mT).squeeze(-2)  # for batches on a CPU 2 to 3 times faster than a column


def norm(vector: Tensor) -> Tensor:
    return torch.linalg.vector_norm(vector, dim=-1)


def largest_eigenvalue(P: Tensor) -> Tensor:
    return torch.linalg.eigvalsh(P.detach())[..., -1]


def identity_like(P: Tensor) -> Tensor:
    return torch.eye(P.shape[-1], dtype=P.dtype, device=P.device)


def _check_matrix(name: str, value: Tensor) -> None:
    check_float_tensor(name, value)
    if value.dtype not in (torch.float32, torch.float64):
        raise TypeError(f"{name} must be float32 or float64, got {value.dtype}")
    if value.ndim < 2 or 0 in value.shape[-2:]:
        raise ValueError(f"{name} must be a matrix with batch axes in front, got shape {tuple(value.shape)}")
    if not torch.linalg.matrix_norm(value.detach()).isfinite().all():
        raise ValueError(f"{name} must be finite, got nan or inf or too large among its entries")
