r"""Projection onto :math:`\{y : M y + f \in K\}` for a self-dual cone K: what polyhedron and soc have in common.

With :math:`y = x + u` and :math:`g = M x + f` the problem is :math:`\min \tfrac12\|u\|^2` subject to
:math:`M u + g \in K`, and its solution is :math:`u = M^T z` with :math:`z = P_K(z - (M M^T z + g))`.

- *Solve* (no gradient, float64): augmented Lagrangian with a semismooth Newton method inside, all points at once, then
  Newton steps on the equation for z. It is one opaque operator: torch.compile, export and vmap see a single node.
- *Differentiate*: two Newton steps on the same equation with a fixed matrix, whose value is exactly 0. The first makes
  the first derivative right (the implicit function theorem), the second the second one.
"""

from __future__ import annotations

import torch
from torch import Tensor

from .._checks import EmptySetError
from .lorentz import lorentz

_OUTER, _INNER, _POLISH, _HALVINGS = 40, 60, 10, 40
_PENALTY_MAX = 1e8
_NEAR, _SOLVED, _ROUNDING = 1e-9, 1e-12, 1e-13
_ACCEPTED = 1e-8
_TIKHONOV = 1e-11  # makes dependent active rows harmless; refinement takes its effect out again


def onto_preimage(x: Tensor, matrix: Tensor, offset: Tensor, kind: str) -> Tensor:
    """Project x (..., n) onto {y : matrix y + offset in K}, matrix (..., k, n), offset (..., k), K by kind."""
    dtype, shape = x.dtype, x.shape
    x, matrix, offset = x.double(), matrix.double(), offset.double()
    g = (matrix @ x.unsqueeze(-1)).squeeze(-1) + offset
    batch = g.shape[:-1]
    if x.shape[:-1] != batch:
        raise ValueError(
            f"the batch axes of the set, {tuple(batch)}, must broadcast to those of x, {tuple(shape[:-1])}"
        )
    shared = matrix.ndim == 2
    flat_matrix = matrix.unsqueeze(0) if shared else matrix.expand(*batch, *matrix.shape[-2:]).flatten(0, -3)
    flat_g = g.reshape(-1, g.shape[-1])
    z = torch.ops.proxact.solve_preimage(flat_matrix.detach(), flat_g.detach(), kind)
    u = torch.zeros_like(x).reshape(-1, shape[-1]) + _differentiable_step(flat_matrix, flat_g, z, kind)
    return (x + u.reshape(shape)).to(dtype)


def _differentiable_step(matrix: Tensor, g: Tensor, z: Tensor, kind: str) -> Tensor:
    """u = M^T z with the derivatives that z has as a function of M and g."""
    gram, fixed_g = matrix.detach() @ matrix.detach().mT, g.detach()
    jacobian = _jacobian(z - _times(gram, z) - fixed_g, kind)
    solve = _newton_solver(gram, jacobian)
    for _ in range(2):
        residual = _residual(matrix, g, z, kind)
        z = z - solve(residual - residual.detach())
    return _times(matrix.mT, z)


def _residual(matrix: Tensor, g: Tensor, z: Tensor, kind: str) -> Tensor:
    return z - _project(z - _times(matrix, _times(matrix.mT, z)) - g, kind)


def _newton_solver(gram: Tensor, jacobian: Tensor):  # type: ignore[no-untyped-def]
    """r -> the d with ((I - J) + J M M^T) d = r, of least effect where that is singular."""
    identity = torch.eye(gram.shape[-1], dtype=gram.dtype, device=gram.device)
    exact = identity - jacobian + jacobian @ gram
    inverse = torch.linalg.inv_ex(exact + _TIKHONOV * jacobian).inverse

    def solve(r: Tensor) -> Tensor:
        d = _times(inverse, r)
        for _ in range(4):
            d = d + _times(inverse, r - _times(exact, d))
        return d

    return solve


def _times(matrix: Tensor, vector: Tensor) -> Tensor:
    return (matrix @ vector.unsqueeze(-1)).squeeze(-1)


def _project(w: Tensor, kind: str) -> Tensor:
    """Onto K. A w on the boundary of the polar belongs to a y on the boundary of its set: differentiated as outside.

    ``clamp`` has derivative 1 at its bound; for the Lorentz cone Moreau's identity turns the rule of ``lorentz``.
    """
    return w.clamp(min=0) if kind == "orthant" else w + lorentz(-w)


def _jacobian(w: Tensor, kind: str) -> Tensor:
    if kind == "orthant":
        return torch.diag_embed((w >= 0).to(w.dtype))
    identity = torch.eye(w.shape[-1], dtype=w.dtype, device=w.device)
    t, h = w[..., :1], w[..., 1:]
    n = torch.linalg.vector_norm(h, dim=-1, keepdim=True)
    ratio = (t / torch.where(n == 0, 1, n)).unsqueeze(-1)
    direction = torch.cat([torch.zeros_like(t), h / torch.where(n == 0, 1, n)], -1)
    axis = torch.zeros_like(direction)
    axis[..., 0] = 1
    edge = axis + direction
    across = identity - _outer(axis, axis) - _outer(direction, direction)
    boundary = (_outer(edge, edge) + (1 + ratio) * across) / 2
    inside, polar = (n <= t).unsqueeze(-1), (n < -t).unsqueeze(-1)
    return torch.where(inside, identity, torch.where(polar, 0, boundary))


def _outer(a: Tensor, b: Tensor) -> Tensor:
    return a.unsqueeze(-1) * b.unsqueeze(-2)


@torch.library.custom_op("proxact::solve_preimage", mutates_args=())
def solve_preimage(matrix: Tensor, g: Tensor, kind: str) -> Tensor:
    """The multiplier z for each row of g (N, k); matrix (1 or N, k, n). Rows with nan or inf give nan."""
    finite = g.isfinite().all(-1)
    size = g.abs().amax(-1, keepdim=True) if g.shape[-1] else torch.ones_like(g[:, :1])
    size = torch.where(finite.unsqueeze(-1) & (size > 0), size, 1)
    unit = torch.where(finite.unsqueeze(-1), g / size, 0)
    z = torch.zeros_like(unit)
    todo = (unit - _project(unit, kind)).abs().amax(-1) > 0 if g.numel() else torch.zeros_like(finite)
    if todo.any():
        part = _take(matrix, todo)
        found = _newton_polish(part, unit[todo], _augmented_lagrangian(part, unit[todo], kind), kind)
        _check_solved(part, unit[todo], found, kind)
        z[todo] = found
    return torch.where(finite.unsqueeze(-1), z * size, torch.nan)


@solve_preimage.register_fake
def _(matrix: Tensor, g: Tensor, kind: str) -> Tensor:
    return torch.empty_like(g)


@torch.library.register_vmap("proxact::solve_preimage")
def _(info, in_dims, matrix, g, kind):  # type: ignore[no-untyped-def]
    size = info.batch_size
    g = g.movedim(in_dims[1], 0) if in_dims[1] is not None else g.expand(size, *g.shape)
    rows = g.shape[1]
    if in_dims[0] is not None:
        matrix = matrix.movedim(in_dims[0], 0)
        matrix = matrix.expand(size, rows, *matrix.shape[-2:]).flatten(0, 1)
    elif matrix.shape[0] != 1:
        matrix = matrix.expand(size, *matrix.shape).flatten(0, 1)
    return solve_preimage(matrix.contiguous(), g.flatten(0, 1), kind).unflatten(0, (size, rows)), 0


def _augmented_lagrangian(matrix: Tensor, g: Tensor, kind: str) -> Tensor:
    u = g.new_zeros(g.shape[0], matrix.shape[-1])
    z, penalty = torch.zeros_like(g), 1.0
    best, error = z.clone(), torch.full_like(g[:, 0], torch.inf)
    rows = torch.arange(len(g), device=g.device)  # those not solved yet
    for _ in range(_OUTER):
        part = _take(matrix, rows)
        u[rows] = _minimise(part, g[rows], u[rows], z[rows], penalty, kind)
        z[rows] = _project(z[rows] - penalty * (_times(part, u[rows]) + g[rows]), kind)
        now = _relative(_residual(part, g[rows], z[rows], kind), z[rows])
        lower = now < error[rows]
        best[rows[lower]], error[rows[lower]] = z[rows[lower]], now[lower]
        rows = rows[now > _NEAR]
        if not len(rows):
            break
        penalty = min(10 * penalty, _PENALTY_MAX)
    return best


def _minimise(matrix: Tensor, g: Tensor, u: Tensor, z: Tensor, penalty: float, kind: str) -> Tensor:
    """Newton's method with step halving on |u|^2/2 + |P(z - penalty (M u + g))|^2 / (2 penalty)."""
    identity = torch.eye(u.shape[-1], dtype=u.dtype, device=u.device)

    def multiplier(rows: Tensor, v: Tensor) -> Tensor:
        return z[rows] - penalty * (_times(_take(matrix, rows), v) + g[rows])

    def value(rows: Tensor, v: Tensor) -> Tensor:
        p = _project(multiplier(rows, v), kind)
        return (v * v).sum(-1, keepdim=True) / 2 + (p * p).sum(-1, keepdim=True) / (2 * penalty)

    u = u.clone()
    rows = torch.arange(len(u), device=u.device)  # those not solved yet
    for _ in range(_INNER):
        part, v = _take(matrix, rows), u[rows]
        w = multiplier(rows, v)
        gradient = v - _times(part.mT, _project(w, kind))
        open_ = gradient.abs().amax(-1) > _SOLVED * (1 + v.abs().amax(-1))
        if not open_.any():
            break
        rows, part, v, w, gradient = rows[open_], _take(part, open_), v[open_], w[open_], gradient[open_]
        hessian = identity + penalty * part.mT @ _jacobian(w, kind) @ part
        step = -torch.linalg.solve(hessian, gradient.unsqueeze(-1)).squeeze(-1)
        slope, start = (step * gradient).sum(-1, keepdim=True), value(rows, v)
        # A gain below the rounding of the value cannot be compared: full steps then, which converge quadratically.
        is_close = -slope < _ROUNDING * start
        length = torch.ones_like(slope)
        for _ in range(_HALVINGS):
            too_long = ~is_close & (value(rows, v + length * step) > start + 1e-4 * length * slope)
            if not too_long.any():
                break
            length = torch.where(too_long, length / 2, length)
        u[rows] = v + length * step
    return u


def _take(matrix: Tensor, rows: Tensor) -> Tensor:
    """The matrices of these points; one that serves all points stays as it is."""
    return matrix if matrix.shape[0] == 1 else matrix[rows]


def _newton_polish(matrix: Tensor, g: Tensor, z: Tensor, kind: str) -> Tensor:
    """Newton steps on z = P(z - M M^T z - g), each kept only where it lowers the residual."""
    gram = matrix @ matrix.mT
    residual = _residual(matrix, g, z, kind)
    for _ in range(_POLISH):
        if (_relative(residual, z) < 1e-16).all():
            break
        step = _newton_solver(gram, _jacobian(z - _times(gram, z) - g, kind))(residual)
        trial = z - step
        trial_residual = _residual(matrix, g, trial, kind)
        better = trial_residual.norm(dim=-1, keepdim=True) < residual.norm(dim=-1, keepdim=True)
        z, residual = torch.where(better, trial, z), torch.where(better, trial_residual, residual)
    return z


def _relative(residual: Tensor, size: Tensor) -> Tensor:
    return residual.abs().amax(-1) / (1 + size.abs().amax(-1))


def _check_solved(matrix: Tensor, g: Tensor, z: Tensor, kind: str) -> None:
    residual = _residual(matrix, g, z, kind).norm(dim=-1) / (1 + z.norm(dim=-1))
    u = _times(matrix.mT, z)
    violation = (_times(matrix, u) + g - _project(_times(matrix, u) + g, kind)).norm(dim=-1)
    failed = ~((residual < _ACCEPTED) & (violation < _ACCEPTED * (1 + u.norm(dim=-1))))
    if not failed.any():
        return
    direction = z / z.norm(dim=-1, keepdim=True)
    # A z in K with M^T z = 0 and <g, z> < 0 separates the set from every point (Farkas).
    empty = failed & (-(direction * g).sum(-1) > 1e3 * _times(matrix.mT, direction).norm(dim=-1))
    if empty.any():
        raise EmptySetError("the set is empty: no y satisfies the constraints (a separating multiplier was found)")
    raise RuntimeError(
        f"projection not solved to {_ACCEPTED:g} for {int(failed.sum())} of {len(g)} points: the set may be empty by a "
        "little, or have no interior"
    )
