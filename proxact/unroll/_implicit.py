"""The derivative of a fixed point s = T(s), whatever path led to it."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from ._problem import times

Map = Callable[[Tensor], Tensor]


def at_fixed_point(step: Map, s: Tensor, read: Map) -> Tensor:
    """s itself, with the derivatives it has as the fixed point of ``step``; ``read(s)`` is what the caller returns.

    Newton's step on s = T(s) with the fixed matrix (I - J)^-1 has the value 0 and the first derivative of the implicit
    function theorem; a second one makes the second derivative right. Memory is that of one J, not of the iterations.
    """
    if not step(s).requires_grad:
        return s
    inverse = _inverse(jacobian(step, s), s, read)
    for _ in range(2):
        residual = s - step(s)
        s = s - times(inverse, residual - residual.detach())
    return s


def jacobian(function: Map, s: Tensor) -> Tensor:
    """Of vectors on the last axis, one row for all problems of a batch at a time."""
    with torch.enable_grad():
        point = s.detach().requires_grad_()
        value = function(point)
        rows = torch.eye(value.shape[-1], dtype=s.dtype, device=s.device).unbind()
        if not value.requires_grad:
            return s.new_zeros(*s.shape[:-1], len(rows), s.shape[-1])
        found = [
            torch.autograd.grad(value, point, row.expand_as(value), retain_graph=True, materialize_grads=True)[0]
            for row in rows
        ]
    return torch.stack(found, -2)


def _inverse(J: Tensor, s: Tensor, read: Map) -> Tensor:
    """(I - J)^-1, or its pseudoinverse where multipliers of dependent constraints make it singular."""
    matrix = torch.eye(J.shape[-1], dtype=J.dtype, device=J.device) - J
    rounding = torch.finfo(J.dtype).eps ** 0.75
    inverse, failed = torch.linalg.inv_ex(matrix)
    singular = (failed > 0) | ~(inverse.abs().amax((-1, -2)) < 1 / rounding)
    if not singular.any():
        return inverse
    pseudo = torch.linalg.pinv(torch.where(singular[..., None, None], matrix, 0), rtol=rounding)
    free = jacobian(read, s) @ (torch.eye(J.shape[-1], dtype=J.dtype, device=J.device) - pseudo @ matrix)
    if (free.abs().amax((-1, -2)) > rounding**0.5)[singular].any():
        raise RuntimeError(
            "gradient='implicit' needs a unique solution: here x can move without leaving the set of solutions, so it "
            "has no derivative; a positive definite P makes x unique, gradient='unroll' differentiates the steps"
        )
    return torch.where(singular[..., None, None], pseudo, inverse)
