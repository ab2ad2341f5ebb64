"""The tables behind :func:`proxact.cost`: what one element, or one module, is worth under each counting rule.

Both rules count matrix products and convolutions by their multiply-adds, biases and pooling not at all. They differ in
the rest. ``"paper"`` is how the MAC columns of the paper come about:

- 1 for each element that is normalised; ReLU and PReLU 0; Leaky ReLU and WTA 1 for each element;
- MPU 3 m + 5 for each group, a leak 2 more for each element, groups counted along the **last** axis of the tensor, each
  row padded to a multiple of m. The paper has no count for other activations: they are 0 and a note says so.

``"exact"`` counts every multiplication, multiply-add, division, root, exponential, logarithm, tanh and erf as 1, and
additions and comparisons as 0, in the formulas that this library and torch evaluate:

- MPU 8 for each group of 2 and 2 m + 14 for m >= 3, as ``kernels/cone_math.h`` does it, leak included, groups formed
  as the module forms them (``dim``, ``remainder``); what its guards redo for extreme inputs is not counted;
- BatchNorm 1 for each element (scale and shift are folded in eval mode), LayerNorm, GroupNorm and the like 3.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

from torch import Tensor, nn

from ..nn import MPU, WTA, CReLU, Leaky, Maxout
from ..nn._dims import channel_dim
from ..project._groups import count_groups

RULES = ("paper", "exact")
ModuleRule = int | Callable[[nn.Module, Tensor], int]


class Worth(NamedTuple):
    """What something costs under each rule. None: the rule has no count for it."""

    paper: ModuleRule | None
    exact: ModuleRule | None
    adds: bool = False  # to what happens inside the module; otherwise it stands for all of that
    part: str = "activation"

    def by(self, rule: str) -> ModuleRule | None:
        return self.paper if rule == "paper" else self.exact


def paper_mpu(module: MPU, x: Tensor) -> int:
    rows = math.prod(x.shape[:-1])
    groups = rows * -(-x.shape[-1] // module.m)
    return (3 * module.m + 5) * groups + (2 * x.numel() if module.leak else 0)


def exact_mpu(module: MPU, x: Tensor) -> int:
    channels = math.prod(x.shape[1:]) if module.dim == "flat" else x.shape[channel_dim(module.dim, x.ndim)]
    if channels == 0:
        return 0
    rows, groups = x.numel() // channels, count_groups(channels, module.m, module.remainder)
    left_over = max(0, channels - groups * module.m)  # pass through ReLU
    each = 8 if module.m == 2 else 2 * module.m + 14
    return rows * (groups * each + (2 * left_over if module.leak else 0))


MODULES: dict[type[nn.Module], Worth] = {
    MPU: Worth(paper_mpu, exact_mpu),  # type: ignore[arg-type]
    Leaky: Worth(2, 2, adds=True),
    WTA: Worth(1, 0),
    Maxout: Worth(None, 0),
    CReLU: Worth(None, 0),
    nn.Softmax: Worth(None, 2),
    nn.Softsign: Worth(None, 1),
    nn.RMSNorm: Worth(1, 3, part="norm"),
}
"""Modules that are more than one operation of torch. An int counts for each element of the input."""

ACTIVATIONS: dict[str, Worth] = {
    "relu": Worth(0, 0),
    "_prelu_kernel": Worth(0, 1),
    "leaky_relu": Worth(1, 1),
    "hardtanh": Worth(None, 0),  # ReLU6 too
    "threshold": Worth(None, 0),
    "softshrink": Worth(None, 0),
    "hardshrink": Worth(None, 0),
    "hardsigmoid": Worth(None, 1),
    "hardswish": Worth(None, 2),
    "tanh": Worth(None, 1),
    "sigmoid": Worth(None, 2),
    "silu": Worth(None, 2),
    "log_sigmoid_forward": Worth(None, 2),
    "softplus": Worth(None, 2),
    "elu": Worth(None, 2),
    "selu": Worth(None, 2),
    "celu": Worth(None, 3),
    "mish": Worth(None, 4),
    "gelu": Worth(None, 4),  # with erf; by tanh it is 7
}
"""Elementwise activations by the name of torch's operation, so that calls of functions count as modules do."""

NORMS: dict[str, Worth] = {
    "native_batch_norm": Worth(1, 1),
    "_native_batch_norm_legit": Worth(1, 1),
    "_native_batch_norm_legit_no_training": Worth(1, 1),
    "_batch_norm_no_update": Worth(1, 1),
    "cudnn_batch_norm": Worth(1, 1),
    "miopen_batch_norm": Worth(1, 1),
    "native_layer_norm": Worth(1, 3),
    "native_group_norm": Worth(1, 3),
    "_fused_rms_norm": Worth(1, 3),
}


def register_cost(kind: type[nn.Module], *, paper: ModuleRule | None = None, exact: ModuleRule | None = None) -> None:
    """Say what an activation of your own costs, for itself and its subclasses.

    Args:
        kind: the class of the module. Activations that its ``forward`` calls are no longer counted by themselves;
            matrix products are.
        paper: under ``rule="paper"``; an int for each element of the input, or a function ``(module, x) -> int``.
        exact: under ``rule="exact"``.

    Example:
        >>> class Square(torch.nn.Module):
        ...     def forward(self, x):
        ...         return x * x
        >>> register_cost(Square, paper=1, exact=1)
        >>> from proxact.cost import cost
        >>> cost(Square(), torch.zeros(4, 5)).total
        20
    """
    if not isinstance(kind, type) or not issubclass(kind, nn.Module):
        raise TypeError(f"kind must be a subclass of torch.nn.Module, got {kind!r}")
    for name, rule in (("paper", paper), ("exact", exact)):
        if rule is not None and not callable(rule) and (isinstance(rule, bool) or not isinstance(rule, int)):
            raise TypeError(f"{name} must be an int, a function of (module, x) or None, got {rule!r}")
    MODULES[kind] = Worth(paper, exact)


def worth_of(module: nn.Module) -> Worth | None:
    """The entry of the nearest class in the table."""
    return next((MODULES[kind] for kind in type(module).__mro__ if kind in MODULES), None)
