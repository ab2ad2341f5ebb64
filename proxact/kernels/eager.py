"""What every C kernel asks of torch: whether it may run on these tensors, and where torch's threads are."""

from __future__ import annotations

import ctypes
import functools
from pathlib import Path

import torch
from torch import Tensor
from torch.autograd import forward_ad

_PLAIN = (Tensor, torch.nn.Parameter)
_is_jit_tracing = torch._C._is_tracing
_peek_interpreter_stack = torch._C._functorch.peek_interpreter_stack


def is_plain_eager(x: Tensor, angle: Tensor | float = 0.0) -> bool:
    """Whether a kernel may take these tensors: nothing traces, transforms or watches what happens to them."""
    return (
        not torch.compiler.is_compiling()
        and type(x) in _PLAIN
        and (not isinstance(angle, Tensor) or (angle.device == x.device and type(angle) in _PLAIN))
        and _peek_interpreter_stack() is None
        and not _is_jit_tracing()
        and forward_ad._current_level < 0
        and torch._C._len_torch_dispatch_stack() == 0
    )


def is_transformed() -> bool:
    """Whether torch.func is at work; torch.compile asks while it traces, and traces again when that changes."""
    return _peek_interpreter_stack() is not None


# torch.compiler.assume_constant_result does the same, and takes a second to import the compiler
is_transformed._dynamo_marked_constant = True  # type: ignore[attr-defined]


def is_batched(g: Tensor) -> bool:
    """In torch.autograd.grad(..., is_grads_batched=True), torch.func.vmap of a backward pass, or with fake tensors."""
    return torch._C._functorch.is_legacy_batchedtensor(g) or is_transformed() or type(g) is not Tensor


@functools.cache
def parallel_address() -> int:
    """The address of torch's own parallel loop, so that its thread pool and torch.set_num_threads hold."""
    for name in ("libtorch_cpu.so", "libtorch_cpu.dylib"):
        path = Path(torch.__file__).parent / "lib" / name
        if path.exists():
            function = getattr(ctypes.CDLL(str(path)), "torch_parallel_for", None)
            return ctypes.cast(function, ctypes.c_void_p).value or 0 if function else 0
    return 0
