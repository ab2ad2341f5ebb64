"""One table of names for every activation, used by ``proxact.get`` and the command line."""

from __future__ import annotations

import difflib
import functools
import inspect
import re
from collections.abc import Callable
from typing import Any

from torch import nn

from .nn import (
    MPU,
    WTA,
    CReLU,
    Entmax,
    GroupSoftThreshold,
    LeakyMPU,
    Maxout,
    ModReLU,
    Projection,
    Prox,
    SoftThreshold,
    Sparsemax,
    Squash,
)
from .project import SETS
from .prox import CATALOGUE

_ELEMENTWISE: dict[str, type[nn.Module]] = {
    "identity": nn.Identity,
    "relu": nn.ReLU,
    "relu6": nn.ReLU6,
    "leaky_relu": nn.LeakyReLU,
    "elu": nn.ELU,
    "celu": nn.CELU,
    "selu": nn.SELU,
    "gelu": nn.GELU,
    "silu": nn.SiLU,
    "swish": nn.SiLU,
    "mish": nn.Mish,
    "softplus": nn.Softplus,
    "softsign": nn.Softsign,
    "softshrink": nn.Softshrink,
    "tanhshrink": nn.Tanhshrink,
    "logsigmoid": nn.LogSigmoid,
    "tanh": nn.Tanh,
    "sigmoid": nn.Sigmoid,
    "hardtanh": nn.Hardtanh,
    "hardsigmoid": nn.Hardsigmoid,
    "hardswish": nn.Hardswish,
    "prelu": nn.PReLU,
}

_ALONG_CHANNELS: dict[str, Callable[..., nn.Module]] = {
    "wta": WTA,
    "maxout": Maxout,
    "crelu": CReLU,
    "softmax": lambda dim=-1, inplace=False: nn.Softmax(dim),
    "soft_threshold": SoftThreshold,
    "group_soft_threshold": GroupSoftThreshold,
    "modrelu": ModReLU,
    "squash": Squash,
    "sparsemax": Sparsemax,
    "entmax": Entmax,
}
_PROXES = {
    name: functools.partial(Prox, name) for name in CATALOGUE if name not in {*_ELEMENTWISE, *_ALONG_CHANNELS, *SETS}
}

_MPU_NAME = re.compile(r"(leaky_)?mpu(\d+)")
_LISTED_M = (2, 3, 4, 5, 6, 8)


def names() -> list[str]:
    """The known names. ``mpu<m>`` and ``leaky_mpu<m>`` work for every m; the usual ones are listed."""
    units = [f"{leaky}mpu{m}" for leaky in ("", "leaky_") for m in ("", *_LISTED_M)]
    return sorted([*_ELEMENTWISE, *_ALONG_CHANNELS, *SETS, *_PROXES, *units])


def canonical(name: str) -> str:
    """The one way to write a name: small letters, ``_``, and m given."""
    key = name.lower().replace("-", "_")
    return f"{key}2" if key in ("mpu", "leaky_mpu") else key


def get(name: str, **arguments: Any) -> nn.Module:
    """A new activation module by name.

    Args:
        name: one of :func:`names`, in any case and with - or _; ``mpu`` is ``mpu2``.
        arguments: passed to the module. ``dim`` and ``inplace`` are accepted, and without effect, where the module has
            no use for them. A set of :mod:`proxact.project` becomes a :class:`proxact.Projection` with its parameters.

    Example:
        >>> get("leaky_mpu3", dim=-1)
        LeakyMPU(3, alpha=0.7854, dim=-1, leak=0.01)
    """
    if not isinstance(name, str):
        raise TypeError(f"name must be a string, got {name!r}")
    key = canonical(name)
    if match := _MPU_NAME.fullmatch(key):
        return (LeakyMPU if match[1] else MPU)(int(match[2]), **arguments)
    if make := _ALONG_CHANNELS.get(key) or _PROXES.get(key):
        return make(**arguments)
    if key in SETS:
        arguments.pop("inplace", None)
        return Projection(key, **arguments)
    if key in _ELEMENTWISE:
        arguments.pop("dim", None)
        if "inplace" not in inspect.signature(_ELEMENTWISE[key]).parameters:
            arguments.pop("inplace", None)
        return _ELEMENTWISE[key](**arguments)
    near = difflib.get_close_matches(key, names(), n=4, cutoff=0.4) or names()
    raise ValueError(f"name must be a known activation, got {name!r}; near ones: {', '.join(near)}")
