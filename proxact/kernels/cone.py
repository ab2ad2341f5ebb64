"""The kernels of the cone projection, C for the CPU and Triton for GPUs: when they apply, their place in autograd."""

from __future__ import annotations

import functools
import importlib.util
import math
import os
from typing import Any

import torch
from torch import Tensor
from torch.autograd import forward_ad

from .eager import is_batched, is_plain_eager, is_transformed, parallel_address

try:
    from . import _cone  # type: ignore[attr-defined]
except ImportError:  # no compiler when the package was installed
    _cone = None

_DTYPES = {torch.float32: 0, torch.float64: 1, torch.bfloat16: 2, torch.float16: 3}
_use_baseline = 0  # 1: the code for any CPU, even where a better instruction set is there; for tests


def is_available() -> bool:
    return _cone is not None


def describe() -> str:
    """One line for ``proxact info``."""
    if _cone is None:
        return "torch (the C kernel was not built: no C compiler)"
    threads = "torch's threads" if parallel_address() else "one thread: this torch has no torch_parallel_for"
    return f"c ({_cone.instruction_set()}, {threads})"


def choose(x: Tensor, angle: Tensor | float, impl: str | None = None) -> str | None:
    """The kernel for these tensors: "c", "triton" or None, the plain function. One asked for by name must apply.

    While a graph is exported or transformed the plain function is used; in a compiled one the C kernel is an operator.
    """
    if impl == "torch":
        return None
    found = None
    if is_plain_eager(x, angle) and x.dtype in _DTYPES:
        if impl == "triton" and x.device.type == "cpu" and os.environ.get("TRITON_INTERPRET") == "1":
            found = "triton"
        elif x.device.type == "cpu" and _cone is not None:
            found = "c"
        elif x.device.type == "cuda" and _has_triton():
            found = "triton"
    elif torch.compiler.is_compiling() and _can_be_operator(x, angle):
        found = "c"
    if impl is not None and found != impl:
        _explain_missing(impl, x)
    return found


def _can_be_operator(x: Tensor, angle: Tensor | float) -> bool:
    """In a graph that is compiled here for the CPU: neither exported nor transformed by torch.func."""
    return (
        _cone is not None
        and not torch.compiler.is_exporting()
        and x.device.type == "cpu"
        and x.dtype in _DTYPES
        and (not isinstance(angle, Tensor) or angle.device.type == "cpu")
        and not is_transformed()
        and forward_ad._current_level < 0
    )


def _explain_missing(impl: str, x: Tensor) -> None:
    if impl == "c" and _cone is None:
        raise RuntimeError("impl='c' asks for the compiled kernel, which was not built when proxact was installed")
    if impl == "triton" and not _has_triton():
        raise RuntimeError("impl='triton' needs the package triton, which is not installed")
    device, compiler = ("CPU", "torch.export") if impl == "c" else ("CUDA", "torch.compile")
    raise ValueError(
        f"impl={impl!r} needs {device} tensors of dtype float32, float64, bfloat16 or float16, outside {compiler}, "
        f"torch.func, forward-mode derivatives and dispatch modes; got {x.dtype} on {x.device}"
    )


@functools.cache
def _has_triton() -> bool:
    return importlib.util.find_spec("triton") is not None


def cone(
    x: Tensor, theta: Tensor, limit: float, m: int, dim: int, remainder: str, grouping: str, leak: float, backend: str
) -> Tensor:
    """The projection for alpha = pi/4 + theta, theta clamped to +-limit, by the kernel that :func:`choose` named."""
    if theta.dtype not in (torch.float32, torch.float64) or not theta.is_contiguous():
        theta = theta.to(torch.promote_types(theta.dtype, torch.float32)).contiguous()
    spec = (limit, m, dim, remainder, grouping, leak)
    if torch.compiler.is_compiling():
        return torch.ops.proxact.cone(x, theta, *spec)
    if torch.is_grad_enabled() and (x.requires_grad or theta.requires_grad):
        return _apply(x, theta, spec, backend)
    return forward(x, theta, spec, backend)[1]


class _Cone(torch.autograd.Function):
    """Saves x and theta, nothing else."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, theta: Tensor, spec: tuple, backend: str) -> Tensor:
        x, y, ctx.plan = forward(x, theta, spec, backend)
        ctx.save_for_backward(x, theta)
        ctx.spec, ctx.backend = spec, backend
        return y

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> tuple[Tensor | None, Tensor | None, None, None]:
        x, theta = ctx.saved_tensors
        if torch.is_grad_enabled() or is_batched(g):
            return *plain_backward(x, theta, g, ctx.spec, ctx.needs_input_grad), None, None
        dtheta = torch.empty_like(theta) if ctx.needs_input_grad[1] else None
        return *backward(x, theta, g, ctx.spec, ctx.plan, ctx.backend, dtheta), None, None


# Function.apply without its test for torch.func, which choose() has made already: 8 of 100 microseconds.
_apply = super(torch.autograd.Function, _Cone).apply


def dense(x: Tensor, dim: int) -> tuple[Tensor, tuple]:
    """x without gaps, copied where it had some, and how it lies in memory: (outer, channels, inner)."""
    if x.is_contiguous():
        inner = math.prod(x.shape[dim + 1 :])
    elif x.movedim(dim, -1).is_contiguous():
        inner = 1  # the axis of the groups lies last in memory, as in channels_last
    elif dim > 1 and x.movedim(1, -1).is_contiguous():
        inner = math.prod(x.shape[dim + 1 :]) * x.shape[1]  # channels_last, and groups along a later axis
    else:
        return dense(x.contiguous(), dim)
    channels = x.shape[dim]
    return x, (x.numel() // max(1, channels * inner), channels, inner)


def forward(x: Tensor, theta: Tensor, spec: tuple, backend: str) -> tuple[Tensor, Tensor, tuple]:
    """x, made dense where it was not, y, and how x lies in memory."""
    x, plan = dense(x, spec[2])
    y = torch.empty_like(x)
    _run(x, None, y, theta, None, spec, plan, backend)
    return x, y, plan


def backward(
    x: Tensor, theta: Tensor, g: Tensor, spec: tuple, plan: tuple, backend: str, dtheta: Tensor | None
) -> tuple[Tensor, Tensor | None]:
    """The gradient of x, which is dense, and ``dtheta`` filled with the angle's, if it is given."""
    if g.stride() != x.stride() or g.dtype != x.dtype:
        g = torch.empty_like(x).copy_(g)
    dx = torch.empty_like(x)
    _run(x, g, dx, theta, dtheta, spec, plan, backend)
    return dx, dtheta


def _run(
    x: Tensor,
    g: Tensor | None,
    out: Tensor,
    theta: Tensor,
    dtheta: Tensor | None,
    spec: tuple,
    plan: tuple,
    backend: str,
) -> None:
    outer, channels, inner = plan
    if outer * channels * inner == 0:
        if dtheta is not None:
            dtheta.zero_()
    elif backend == "triton":
        from . import cone_triton

        cone_triton.run(x, g, out, theta, dtheta, plan, spec)
    else:
        limit, m, _, remainder, grouping, leak = spec
        _cone.run(
            _DTYPES[x.dtype],
            x.data_ptr(),
            0 if g is None else g.data_ptr(),
            out.data_ptr(),
            outer,
            channels,
            inner,
            m,
            grouping == "split",
            remainder != "relu",
            theta.data_ptr(),
            theta.dtype is torch.float64,
            theta.numel(),
            limit,
            leak,
            0 if dtheta is None else dtheta.data_ptr(),
            _use_baseline,
        )


def plain_backward(
    x: Tensor, theta: Tensor, g: Tensor, spec: tuple, wanted: tuple[bool, ...]
) -> tuple[Tensor | None, Tensor | None]:
    """By way of the plain function; itself differentiable where gradients are recorded."""
    from ..project.cone import angle_from_offset, project_groups

    limit, *rest = spec
    create_graph = torch.is_grad_enabled()
    inputs = [value for value, is_wanted in zip((x, theta), wanted, strict=False) if is_wanted]
    with torch.enable_grad():
        y = project_groups(x, angle_from_offset(theta, limit), *rest)
    found = iter(torch.autograd.grad(y, inputs, g, create_graph=create_graph, allow_unused=True))
    return next(found) if wanted[0] else None, next(found) if wanted[1] else None


if _cone is not None:
    _cone.set_parallel_for(parallel_address())
