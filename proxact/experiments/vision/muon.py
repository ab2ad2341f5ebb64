"""SGD whose steps for convolutions are made orthogonal (Muon)."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch import Tensor

# p(s) = a s + b s^3 + c s^5 takes singular values in (0, 1] close to 1 in a few rounds; its authors' numerical choice.
_COEFFICIENTS = (3.4445, -4.7750, 2.0315)


class Muon(torch.optim.Optimizer):
    """SGD with momentum. Groups with ``orthogonal`` take the nearest orthogonal matrix to each filter bank's step, and
    keep the bank's norm at the root of its number of filters, so that the learning rate alone sets the relative step.
    """

    def __init__(
        self,
        params: Iterable[dict[str, Any]],
        lr: float = 0.1,
        momentum: float = 0.6,
        nesterov: bool = True,
        weight_decay: float = 0.0,
    ) -> None:
        defaults = {"lr": lr, "momentum": momentum, "nesterov": nesterov, "weight_decay": weight_decay}
        super().__init__(params, {**defaults, "orthogonal": False})

    @torch.no_grad()
    def step(self, closure: Callable[[], float] | None = None) -> float | None:  # type: ignore[override]
        loss = closure() if closure is not None else None
        for group in self.param_groups:
            for parameter in group["params"]:
                if parameter.grad is not None:
                    self._update(parameter, parameter.grad, group)
        return loss

    def _update(self, parameter: Tensor, gradient: Tensor, group: dict[str, Any]) -> None:
        if group["weight_decay"]:
            gradient = gradient.add(parameter, alpha=group["weight_decay"])
        state = self.state[parameter]
        if "momentum" not in state:
            state["momentum"] = torch.zeros_like(gradient)
        state["momentum"].mul_(group["momentum"]).add_(gradient)
        step = state["momentum"]
        if group["nesterov"]:
            step = gradient.add(step, alpha=group["momentum"])
        if group["orthogonal"]:
            parameter.mul_(len(parameter) ** 0.5 / parameter.norm())
            step = orthogonal(step.reshape(len(step), -1)).reshape(step.shape)
        parameter.add_(step, alpha=-group["lr"])


def orthogonal(matrix: Tensor, rounds: int = 3) -> Tensor:
    """About U V' of the singular value decomposition U S V', by Newton-Schulz iterations."""
    a, b, c = _COEFFICIENTS
    x = matrix / (matrix.norm() + 1e-7)
    x = x.mT if matrix.shape[0] > matrix.shape[1] else x
    for _ in range(rounds):
        gram = x @ x.mT
        x = a * x + (b * gram + c * gram @ gram) @ x
    return x.mT if matrix.shape[0] > matrix.shape[1] else x
