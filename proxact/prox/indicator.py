"""Every projection as the prox of an indicator: 0 on its set, inf elsewhere.

``outside`` states each set by its inequalities and shares no code with the projection, so that ``prox.verify`` holds
the one against the other.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor

from .. import project
from ..project._vectors import as_matrix, as_radius, as_scalar, as_vector, safe_norm
from ._entry import along_dim, indicator


def outside_simplex(y: Tensor, radius: float | Tensor = 1.0) -> Tensor:
    return torch.maximum((y.sum(-1) - as_radius(radius, y).squeeze(-1)).abs(), (-y).amax(-1))


def norm(y: Tensor) -> Tensor:
    return safe_norm(y)[0].squeeze(-1)


def _inner(a: Tensor, y: Tensor) -> Tensor:
    return (a * y).sum(-1)


def _times(A: Tensor, y: Tensor) -> Tensor:
    return (A @ y.unsqueeze(-1)).squeeze(-1)


def _above_plane(y: Tensor, a: Tensor, b: float | Tensor) -> Tensor:
    normal = as_vector("a", a, y)
    return (_inner(normal, y) - as_scalar("b", b, y)) / norm(normal)


def _outside_affine(y: Tensor, A: Tensor, b: float | Tensor) -> Tensor:
    matrix = as_matrix("A", A, y)
    return (_times(matrix, y) - as_vector("b", b, y, length=matrix.shape[-2])).abs().amax(-1)


def _outside_box(y: Tensor, lower: float | Tensor, upper: float | Tensor) -> Tensor:
    return torch.maximum(as_vector("lower", lower, y) - y, y - as_vector("upper", upper, y)).amax(-1)


def _outside_polyhedron(y: Tensor, H: Tensor, r: float | Tensor) -> Tensor:
    matrix = as_matrix("H", H, y)
    return (_times(matrix, y) - as_vector("r", r, y, length=matrix.shape[-2])).amax(-1)


def _outside_l1_ball(y: Tensor, radius: float | Tensor) -> Tensor:
    return y.abs().sum(-1) - as_radius(radius, y).squeeze(-1)


def outside_l2_ball(y: Tensor, radius: float | Tensor) -> Tensor:
    return norm(y) - as_radius(radius, y).squeeze(-1)


def _outside_linf_ball(y: Tensor, radius: float | Tensor) -> Tensor:
    return y.abs().amax(-1) - as_radius(radius, y).squeeze(-1)


def _outside_lorentz(y: Tensor) -> Tensor:
    return norm(y[..., 1:]) - y[..., 0]


def _outside_rotated_lorentz(y: Tensor) -> Tensor:
    """|w|^2 <= 2 u v is |(u - v, sqrt(2) w)| <= u + v."""
    u, v = y[..., :1], y[..., 1:2]
    return (norm(torch.cat([u - v, math.sqrt(2) * y[..., 2:]], -1)) - (u + v).squeeze(-1)) / math.sqrt(2)


def _outside_soc(y: Tensor, A: Tensor, d: float | Tensor, r: Tensor, c: float | Tensor) -> Tensor:
    matrix = as_matrix("A", A, y)
    inner = _times(matrix, y) + as_vector("d", d, y, length=matrix.shape[-2])
    return norm(inner) - _inner(as_vector("r", r, y), y) - as_scalar("c", c, y)


def _outside_exponential(y: Tensor) -> Tensor:
    """b exp(a/b) <= c is a + b ln(b/c) <= 0, after b >= 0 and c >= 0; both forms are convex, the smaller one is taken.

    The first overflows, the second is large for a c near 0 that is off by a rounding. Just outside the faces b = 0 and
    c = 0 the point may still be far from the cone: that far is added, without a gradient, which has to point across
    the face.
    """
    a, b, c = y.unbind(-1)
    tiny = torch.finfo(y.dtype).tiny
    curved = a + b * (b.clamp(min=tiny).log() - c.clamp(min=tiny).log())
    is_moderate = (b > 0) & (a < 30 * b)
    positive = torch.where(is_moderate, b, 1)
    direct = positive * (torch.where(is_moderate, a, 0) / positive).exp() - c
    curved = torch.minimum(curved, torch.where(is_moderate, direct, math.inf))
    across = torch.maximum(-b, -c) + torch.relu(torch.where(b < 0, a, curved)).detach()
    return torch.where((b < 0) | (c <= 0), across, curved)


def _outside_psd(y: Tensor) -> Tensor:
    """The distance in the largest entry from the symmetric matrices, or minus the lowest eigenvalue."""
    size = math.isqrt(y.shape[-1])
    matrix = y.unflatten(-1, (size, size))
    lowest = torch.linalg.eigvalsh(matrix / 2 + matrix.mT / 2)[..., 0]
    return torch.maximum((matrix - matrix.mT).abs().amax((-1, -2)), -lowest)


def _zero(y: Tensor, **_: object) -> Tensor:
    return y.new_zeros(y.shape[:-1])


def _outside_cone(y: Tensor, alpha: float | Tensor, m: int) -> Tensor:
    """The largest over the groups; at alpha = 0 the first condition leaves the whole line, the second the ray."""
    groups = y.unflatten(-1, (-1, m))
    mean = groups.mean(-1)
    t, n = mean * math.sqrt(m), norm(groups - mean.unsqueeze(-1))
    angle = torch.as_tensor(alpha, dtype=y.dtype, device=y.device)
    return torch.maximum(n * angle.cos() - t * angle.sin(), -t).amax(-1)


@along_dim(_zero, _outside_cone, "the cone")
def cone(x: Tensor, alpha: float | Tensor, m: int = 2, *, dim: int = -1) -> Tensor:
    r"""Project groups of m entries onto the cone of half-apex angle alpha: :func:`proxact.project.cone`.

    Entries that do not fill a group raise: padded ones would not make it a projection.

    Args:
        x: floating-point tensor.
        alpha: radians in [0, pi/2].
        m: entries in a group.
        dim: the axis along which entries are grouped.

    Example:
        >>> cone(torch.tensor([3.0, -1.0]), math.pi / 4)
        tensor([3., 0.])
    """
    return project.cone(x, alpha, m, remainder="error")


affine = indicator(project.affine, _outside_affine, "A y = b")
box = indicator(project.box, _outside_box, "lower <= y <= upper")
exponential = indicator(project.exponential, _outside_exponential, "the exponential cone")
halfspace = indicator(project.halfspace, _above_plane, "<a, y> <= b")
hyperplane = indicator(project.hyperplane, lambda y, a, b: _above_plane(y, a, b).abs(), "<a, y> = b")
l1_ball = indicator(project.l1_ball, _outside_l1_ball, "sum |y| <= radius")
l2_ball = indicator(project.l2_ball, outside_l2_ball, "|y| <= radius")
linf_ball = indicator(project.linf_ball, _outside_linf_ball, "max |y| <= radius")
lorentz = indicator(project.lorentz, _outside_lorentz, "the Lorentz cone")
nonnegative = indicator(project.nonnegative, lambda y: (-y).amax(-1), "y >= 0")
polyhedron = indicator(project.polyhedron, _outside_polyhedron, "H y <= r")
psd = indicator(project.psd, _outside_psd, "the positive semidefinite matrices", axes=2)
rotated_lorentz = indicator(project.rotated_lorentz, _outside_rotated_lorentz, "the rotated Lorentz cone")
simplex = indicator(project.simplex, outside_simplex, "the simplex")
soc = indicator(project.soc, _outside_soc, "|A y + d| <= <r, y> + c")
