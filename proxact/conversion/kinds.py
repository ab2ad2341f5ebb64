"""Which modules and functions are activations, and of which kind."""

from __future__ import annotations

import functools
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

Kinds = tuple[type[nn.Module], ...]

POINTWISE: Kinds = (
    nn.ReLU,
    nn.ReLU6,
    nn.LeakyReLU,
    nn.PReLU,
    nn.ELU,
    nn.CELU,
    nn.SELU,
    nn.GELU,
    nn.SiLU,
    nn.Mish,
    nn.Hardswish,
)
"""What is replaced unless asked otherwise. Sigmoid, tanh, softmax and the like are left alone: they mostly gate."""

_FUNCTION_NAMES = {
    "relu": nn.ReLU,
    "relu6": nn.ReLU6,
    "leaky_relu": nn.LeakyReLU,
    "elu": nn.ELU,
    "celu": nn.CELU,
    "selu": nn.SELU,
    "gelu": nn.GELU,
    "silu": nn.SiLU,
    "mish": nn.Mish,
    "hardswish": nn.Hardswish,
}

FUNCTIONS: dict[Any, type[nn.Module]] = {
    getattr(space, name + suffix): kind
    for name, kind in _FUNCTION_NAMES.items()
    for suffix in ("", "_")
    for space in (F, torch, Tensor, torch._C._nn)
    if hasattr(space, name + suffix)
}
"""Every function of torch that computes one of the kinds."""

TENSOR_METHODS = {"relu": nn.ReLU, "relu_": nn.ReLU}

# Classes that compute a kind of torch.nn without being one, by package. Matched by name: nothing is imported.
_ALIASES: dict[str, dict[str, type[nn.Module]]] = {
    "transformers": {
        "GELUActivation": nn.GELU,
        "GELUTanh": nn.GELU,
        "PytorchGELUTanh": nn.GELU,
        "NewGELUActivation": nn.GELU,
        "FastGELUActivation": nn.GELU,
        "QuickGELUActivation": nn.GELU,
        "AccurateGELUActivation": nn.GELU,
        "ClippedGELUActivation": nn.GELU,
        "SiLUActivation": nn.SiLU,
        "MishActivation": nn.Mish,
    },
    "timm": {
        "GELU": nn.GELU,
        "GELUTanh": nn.GELU,
        "QuickGELU": nn.GELU,
        "Swish": nn.SiLU,
        "SwishMe": nn.SiLU,
        "Mish": nn.Mish,
        "MishMe": nn.Mish,
        "HardSwish": nn.Hardswish,
        "HardSwishMe": nn.Hardswish,
    },
}


def kind_of(value: object, which: Kinds) -> type[nn.Module] | None:
    """The member of ``which`` that a module or function computes, or None."""
    if isinstance(value, nn.Module):
        if isinstance(value, which):
            return next(kind for kind in which if isinstance(value, kind))
        kind = _alias(value)
    else:
        while isinstance(value, functools.partial):
            value = value.func
        kind = FUNCTIONS.get(value) if callable(value) and type(value).__hash__ is not None else None
    return kind if kind in which else None


def is_activation(module: nn.Module) -> bool:
    """Whether a module is an activation of any kind; such modules are never looked into."""
    home = type(module).__module__
    if isinstance(module, nn.MultiheadAttention):
        return False
    return home == "torch.nn.modules.activation" or home.startswith("proxact.nn") or _alias(module) is not None


def function_names(which: Kinds) -> set[str]:
    """The names under which functions of these kinds appear in a program."""
    return {f"{name}{suffix}" for name, kind in _FUNCTION_NAMES.items() if kind in which for suffix in ("", "_")}


def _alias(module: nn.Module) -> type[nn.Module] | None:
    home = type(module).__module__.partition(".")[0]
    return _ALIASES.get(home, {}).get(type(module).__name__)
