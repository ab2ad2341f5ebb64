"""The paper's cone C_alpha^(m): half-apex angle alpha around the axis (1, ..., 1)."""

from __future__ import annotations

import functools
import math

import torch
from torch import Tensor

from .._checks import check_choice, check_dim, check_float_tensor, check_fraction, check_positive_int, raise_if
from ..kernels import cone as kernel
from ._groups import GROUPINGS, REMAINDERS, apply_grouped, count_groups
from ._vectors import bounded, compute_dtype, largest, safe_norm, unbounded

_HALF_PI = math.pi / 2
IMPLEMENTATIONS = (None, "torch", "c", "triton")
_ROUNDING = 1e-7  # pi/2 rounded to float32 lies 4.4e-8 above pi/2


def cone(
    x: Tensor,
    alpha: float | Tensor,
    m: int = 2,
    dim: int = -1,
    remainder: str = "pad",
    grouping: str = "adjacent",
    *,
    leak: float = 0.0,
    impl: str | None = None,
) -> Tensor:
    r"""Project groups of m entries onto the cone of half-apex angle alpha.

    .. math::
        \Pi(x) = \arg\min_{y \in C} \tfrac12 \|y - x\|^2, \quad
        C = \{ y \in R^m : \|y - t e\| \le t \tan\alpha,\ t = \langle y, e \rangle \}, \quad e = 1/\sqrt m

    With :math:`h = x - t e` and :math:`n = \|h\|` it is x strictly inside the cone, elsewhere
    :math:`\max(0, t\cos\alpha + n\sin\alpha)\,(\cos\alpha\,e + \sin\alpha\,h/n)`. ``alpha = 0`` is the ray along e,
    ``alpha = pi/2`` the half-space t >= 0, and m = 2 at ``alpha = pi/4`` is ReLU on every entry, bit for bit.

    Derivatives on a kink are those of the outer formula: a point on the boundary counts as outside and the apex has
    derivative 0, as ``torch.relu`` has at 0. A nan makes its group nan. Infinite entries grow at one common rate and
    the limit is returned.

    Args:
        x: floating-point tensor.
        alpha: radians in [0, pi/2]; a float, or a tensor with one entry or one for each group, which gets a gradient.
        m: entries in a group.
        dim: the axis along which entries are grouped.
        remainder: entries that do not fill a group are padded with zeros (``"pad"``), pass through ReLU (``"relu"``),
            or raise (``"error"``).
        grouping: m neighbours form a group (``"adjacent"``), or entry i of each of m equal slices (``"split"``).
        leak: return ``(1 - leak) * projection + leak * x``, the paper's leaky unit.
        impl: ``"c"`` the compiled CPU kernel, ``"triton"`` the GPU kernel, ``"torch"`` plain operations, ``None`` the
            fastest that applies.
            A kernel asked for by name raises where it is missing or does not apply.

    Shape:
        the shape and dtype of x; channels_last stays channels_last.

    Example:
        >>> cone(torch.tensor([3.0, -1.0, -2.0, -2.0]), math.pi / 4)
        tensor([3., 0., 0., 0.])
    """
    check_float_tensor("x", x)
    check_positive_int("m", m)
    dim = check_dim(dim, x.ndim)
    check_choice("remainder", remainder, REMAINDERS)
    check_choice("grouping", grouping, GROUPINGS)
    check_fraction("leak", leak)
    check_choice("impl", impl, IMPLEMENTATIONS)
    _check_alpha(alpha, count_groups(x.shape[dim], m, remainder))
    if backend := kernel.choose(x, alpha, impl):
        return kernel.cone(x, _offset(alpha, x.device), math.inf, m, dim, remainder, grouping, leak, backend)
    return project_groups(x, alpha, m, dim, remainder, grouping, leak)


def cone_at_offset(
    x: Tensor, theta: Tensor, limit: float, m: int, dim: int, remainder: str, grouping: str, leak: float
) -> Tensor:
    """:func:`cone` for alpha = pi/4 + theta, theta kept within +-limit, with arguments already checked."""
    if backend := kernel.choose(x, theta):
        return kernel.cone(x, theta, limit, m, dim, remainder, grouping, leak, backend)
    return project_groups(x, angle_from_offset(theta, limit), m, dim, remainder, grouping, leak)


def angle_from_offset(theta: Tensor, limit: float) -> Tensor:
    """alpha = pi/4 + theta, at least in float32, for theta clamped to +-limit.

    The derivative is 1 also beyond the limit, so that gradients can always bring theta back.
    """
    theta = theta.to(torch.promote_types(theta.dtype, torch.float32))
    if limit == math.inf:
        return theta + math.pi / 4
    beyond = (theta - theta.detach()).nan_to_num()
    return torch.where(theta.abs() > limit, theta.detach().clamp(-limit, limit) + beyond, theta) + math.pi / 4


def project_groups(
    x: Tensor, alpha: float | Tensor, m: int, dim: int, remainder: str, grouping: str, leak: float
) -> Tensor:
    """:func:`cone` with arguments already checked, in plain differentiable torch: the reference for every kernel."""
    dtype = compute_dtype(x.dtype)
    work = x.to(dtype)

    def onto_cone(groups: Tensor, axis: int) -> Tensor:
        trailing = groups.ndim - axis + (1 if grouping == "adjacent" else -1)
        if m == 2:
            edge = _wedge_edge(alpha, dtype, trailing)
            if _is_onnx_export():
                return _finite_onto_wedge(groups, *edge, axis)
            return _onto_wedge(groups, *edge, _has_interior(alpha, trailing), axis)
        project = _finite_onto_round_cone if _is_onnx_export() else _onto_round_cone
        return project(groups, *_cos_sin(alpha, dtype, trailing), axis)

    y = apply_grouped(onto_cone, work, m, dim, remainder, grouping)
    if leak:
        y = (1 - leak) * y + leak * work
    return y.to(x.dtype).contiguous(memory_format=_memory_format(x))


def _memory_format(x: Tensor) -> torch.memory_format:
    for ndim, layout in ((4, torch.channels_last), (5, torch.channels_last_3d)):
        if x.ndim == ndim and x.is_contiguous(memory_format=layout) and not x.is_contiguous():
            return layout
    return torch.contiguous_format


def _onto_wedge(
    x: Tensor, wide: Tensor | float, narrow: Tensor | float, has_interior: Tensor | bool, axis: int
) -> Tensor:
    """m = 2, with no square root: the cone's edge nearest to x is (wide, narrow) on the (larger, smaller) entry."""
    infinite = x.isinf().any(axis, keepdim=True)
    scale = torch.where(infinite, largest(x, axis), 1)
    z = bounded(x, scale)
    partner = z.flip(axis)
    high, low = torch.maximum(z, partner), torch.minimum(z, partner)
    # <z, edge> edge, multiplied out so that nothing overflows unless the result does
    on_edge = torch.where(
        z >= partner,
        wide * wide * high + wide * narrow * low,
        wide * narrow * high + narrow * narrow * low,
    )
    y = torch.where(wide * high + narrow * low <= 0, 0, on_edge)
    inside = (wide * low > narrow * high) & has_interior
    return torch.where(inside, x, unbounded(y, scale, infinite))


def _onto_round_cone(x: Tensor, cos: Tensor | float, sin: Tensor | float, axis: int) -> Tensor:
    infinite = x.isinf().any(axis, keepdim=True)
    scale = largest(x, axis)
    z = bounded(x, scale)
    root = math.sqrt(x.shape[axis])
    mean = z.mean(axis, keepdim=True)
    t = mean * root
    h = z - mean
    n, divisor = safe_norm(h, axis)
    p = t * cos + n * sin
    y = torch.where(p <= 0, 0, p * cos / root + p * sin / divisor * h)
    inside = n * cos < t * sin
    return torch.where(inside, x, unbounded(y, scale, infinite))


def _is_onnx_export() -> bool:
    """Then few operations count, as no runtime fuses them: a ResNet18 takes 1.2 to 1.4 times ReLU's time, not 2.1.

    Asked only while exporting, because the second question imports the exporter.
    """
    return torch.compiler.is_exporting() and torch.onnx.is_in_onnx_export()


def _finite_onto_wedge(x: Tensor, wide: Tensor | float, narrow: Tensor | float, axis: int) -> Tensor:
    """:func:`_onto_wedge` for finite entries."""
    partner = x.flip(axis)
    high, low = torch.maximum(x, partner), torch.minimum(x, partner)
    p = torch.relu(wide * high + narrow * low)
    return torch.where(wide * low > narrow * high, x, torch.where(x >= partner, wide * p, narrow * p))


def _finite_onto_round_cone(x: Tensor, cos: Tensor | float, sin: Tensor | float, axis: int) -> Tensor:
    """:func:`_onto_round_cone` for finite entries whose squares are finite."""
    root = math.sqrt(x.shape[axis])
    mean = x.mean(axis, keepdim=True)
    h = x - mean
    n = torch.linalg.vector_norm(h, dim=axis, keepdim=True)
    p = torch.relu(mean * (root * cos) + n * sin)
    y = p * (cos / root) + p * sin / n.clamp_min(torch.finfo(x.dtype).tiny) * h
    return torch.where(n * cos < mean * (root * sin), x, y)


def _cos_sin(alpha: float | Tensor, dtype: torch.dtype, trailing: int) -> tuple[Tensor | float, Tensor | float]:
    if not isinstance(alpha, Tensor):
        return math.cos(alpha), math.sin(alpha)
    wide = _per_group(alpha.to(torch.promote_types(alpha.dtype, dtype)), trailing)
    return wide.cos().to(dtype), wide.sin().to(dtype)


def _wedge_edge(alpha: float | Tensor, dtype: torch.dtype, trailing: int) -> tuple[Tensor | float, Tensor | float]:
    """The edge (cos, sin) of pi/4 - alpha. Taken from that difference it is exactly (1, 0) at pi/4: ReLU."""
    if not isinstance(alpha, Tensor):
        return math.cos(math.pi / 4 - alpha), math.sin(math.pi / 4 - alpha)
    return _cos_sin(_quarter(alpha) - alpha, dtype, trailing)


def _quarter(alpha: Tensor) -> Tensor:
    return torch.full((), math.pi / 4, dtype=alpha.dtype, device=alpha.device)


def _offset(alpha: float | Tensor, device: torch.device) -> Tensor:
    """alpha - pi/4."""
    if isinstance(alpha, Tensor):
        return alpha - _quarter(alpha)
    if torch.compiler.is_compiling():  # a graph has constants of its own
        return torch.full((1,), alpha - math.pi / 4, dtype=torch.float64, device=device)
    return _fixed_offset(alpha).to(device)


@functools.lru_cache(maxsize=256)
def _fixed_offset(alpha: float) -> Tensor:
    """Only called where no mode or transform is active, so that what is kept is an ordinary tensor."""
    return torch.tensor([alpha - math.pi / 4], dtype=torch.float64)


def _has_interior(alpha: float | Tensor, trailing: int) -> Tensor | bool:
    """A ray has none; rounding of its edge would find one."""
    return _per_group(alpha > 0, trailing) if isinstance(alpha, Tensor) else alpha > 0


def _per_group(alpha: Tensor, trailing: int) -> Tensor:
    return alpha.reshape(()) if alpha.numel() == 1 else alpha.reshape(-1, *[1] * (trailing - 1))


def _check_alpha(alpha: object, groups: int) -> None:
    allowed = f"radians in [0, pi/2]: a float, or a floating-point tensor with 1 or {groups} entries"
    if isinstance(alpha, Tensor):
        if not alpha.is_floating_point():
            raise TypeError(f"alpha must be {allowed}; got dtype {alpha.dtype}")
        if alpha.ndim > 1 or alpha.numel() not in (1, groups):
            raise ValueError(f"alpha must be {allowed}; got shape {tuple(alpha.shape)}")
        outside = ~((alpha >= 0) & (alpha <= _HALF_PI + _ROUNDING))
        raise_if(outside, ValueError, "alpha must be {}; got {}", allowed, alpha)
    elif isinstance(alpha, bool) or not isinstance(alpha, (int, float)):
        raise TypeError(f"alpha must be {allowed}; got {alpha!r}")
    elif not 0 <= alpha <= _HALF_PI + _ROUNDING:
        raise ValueError(f"alpha must be {allowed}; got {alpha}")
