"""An independent way to count the activations of a model and to exchange them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from convert_cases import by_rank
from torch import Tensor, nn
from torch.nn import functional as F
from torch.overrides import TorchFunctionMode

from proxact import project

RELUS = {F.relu, F.relu_, torch.relu, torch.relu_, Tensor.relu, Tensor.relu_}
OTHERS = {F.relu6, F.hardtanh, F.gelu, F.silu, F.hardswish, F.leaky_relu, F.elu}
FORMULAS = ("NewGELUActivation", "QuickGELUActivation")  # modules of transformers that call no such function


class Activations(TorchFunctionMode):
    """Counts the activations that a run computes and, given an angle, projects onto the cone in place of these."""

    def __init__(
        self, alpha: float | None = None, axis: Callable[[Tensor], int] = by_rank, instead_of: Any = RELUS
    ) -> None:
        super().__init__()
        self.alpha, self.axis, self.instead_of, self.count = alpha, axis, instead_of, 0

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.count += func in RELUS or func in OTHERS
        if func not in self.instead_of or self.alpha is None:
            return func(*args, **(kwargs or {}))
        x = args[0]
        return project.cone(x, self.alpha, 2, dim=self.axis(x))


def call(model: nn.Module, example: Any) -> Any:
    return model(**example) if isinstance(example, dict) else model(example)


@contextmanager
def no_fast_path() -> Iterator[None]:
    """nn.TransformerEncoderLayer computes its activation itself unless told not to."""
    torch.backends.mha.set_fastpath_enabled(False)
    try:
        yield
    finally:
        torch.backends.mha.set_fastpath_enabled(True)


def count_activations(model: nn.Module, example: Any) -> int:
    """The number of activations in one forward pass in training mode, auxiliary heads included."""
    formulas = []
    hooks = [
        module.register_forward_hook(lambda *_: formulas.append(1))
        for module in model.modules()
        if type(module).__name__ in FORMULAS
    ]
    mode = Activations()
    with mode, torch.no_grad():
        call(model.train(), example)
    for hook in hooks:
        hook.remove()
    return mode.count + len(formulas)


def set_angles(model: nn.Module, alpha: float) -> None:
    for name, parameter in model.named_parameters():
        if name.endswith("theta"):
            parameter.data.fill_(alpha - math.pi / 4)


def warm_up(model: nn.Module, example: Any) -> None:
    """Make every layer matter: scales, biases and heads that start at zero do not, nor statistics of no data."""
    for module in model.modules():
        if isinstance(module, nn.modules.batchnorm._BatchNorm):
            module.momentum = 1.0
    for parameter in model.parameters():
        if parameter.abs().max() < 1e-3:
            parameter.data.normal_(0, 0.1)
    with torch.no_grad():
        call(model.train(), example)
