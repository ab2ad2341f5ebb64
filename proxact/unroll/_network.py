"""A solver with a fixed number of steps as a network: its matrices as parameters, its steps as plain layers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn

from ..nn import Projection
from ..project import SETS, nonnegative
from ._problem import Prox, check_vector

if TYPE_CHECKING:
    from ._solver import Solver

Affine = tuple[Tensor, Tensor]
Weights = dict[str, Tensor]


def as_parameters(exact: Weights, names: Sequence[str], count: int) -> nn.ModuleList:
    """``count`` copies of the matrices to train. A step is kept by its logarithm, so that it stays positive."""
    start = {name: value for name, value in exact.items() if name in names}
    if "step" in start:
        start["log_step"] = start.pop("step").log()
    return nn.ModuleList(
        nn.ParameterDict({name: nn.Parameter(value.detach().clone()) for name, value in start.items()})
        for _ in range(count)
    )


def with_parameters(exact: Weights, layers: nn.ModuleList) -> list[Weights]:
    """The matrices of each layer, the exact ones where they are not trained; those alone when nothing is."""
    found = []
    for layer in layers:
        assert isinstance(layer, nn.ParameterDict)
        own = dict(layer.items())
        if "log_step" in own:
            own["step"] = own.pop("log_step").exp()
        found.append(exact | own)
    return found or [exact]


class Activation(nn.Module):
    """g at a fixed step, on the entries behind the first ``keep``; those pass as they are."""

    step: Tensor

    def __init__(self, g: nn.Module | Prox, step: Tensor | None, keep: int) -> None:
        super().__init__()
        self.g = g
        self.register_buffer("step", step)
        self.keep = keep

    def forward(self, x: Tensor) -> Tensor:
        kept, changed = x[..., : self.keep], x[..., self.keep :]
        return torch.cat([kept, self.g(changed) if self.step is None else self.g(changed, step=self.step)], -1)

    def extra_repr(self) -> str:
        name = "" if isinstance(self.g, nn.Module) else getattr(self.g, "__name__", type(self.g).__name__)
        return ", ".join(filter(None, [name, f"keep={self.keep}"]))


def check_network(solver: Solver, q: Tensor) -> None:
    if solver.tol is not None:
        raise ValueError(f"tol must be None for to_fnn(), which has a layer for every step, got {solver.tol}")
    check_vector("q", q, solver.P.shape[-1], solver.P)
    shapes = [solver.P.shape] + ([] if solver.A is None else [solver.A.shape])
    if q.ndim != 1 or any(len(shape) != 2 for shape in shapes):
        raise ValueError(
            f"to_fnn() writes one problem as a network: q, P and A must have no batch axes, got q {tuple(q.shape)} and "
            f"{', '.join(str(tuple(shape)) for shape in shapes)}"
        )


def as_network(
    solver: Solver, affines: Sequence[Affine], steps: Sequence[Tensor], keep: int = 0, last: Affine | None = None
) -> nn.Sequential:
    """Linear and activation in turn, then ``last`` where given. An affine map that occurs twice is one shared layer."""
    made: dict[int, nn.Linear] = {}
    layers: list[nn.Module] = []
    for affine, step in zip(affines, steps, strict=True):
        if id(affine) not in made:
            made[id(affine)] = linear(affine)
        layers += [made[id(affine)], _activation(solver, step, keep)]
    return nn.Sequential(*layers, *([] if last is None else [linear(last)]))


def linear(affine: Affine) -> nn.Linear:
    weight, bias = affine
    layer = nn.utils.skip_init(nn.Linear, *weight.mT.shape, device=weight.device, dtype=weight.dtype)
    with torch.no_grad():
        layer.weight.copy_(weight)
        layer.bias.copy_(bias)
    return layer


def _activation(solver: Solver, step: Tensor, keep: int) -> nn.Module:
    g = solver.g
    if solver.takes_step:
        return Activation(g, step.detach(), keep)
    if g in (torch.relu, nn.functional.relu, nonnegative):
        g = nn.ReLU()
    elif g in SETS.values():
        g = Projection(g)
    return g if isinstance(g, nn.Module) and not keep else Activation(g, None, keep)
