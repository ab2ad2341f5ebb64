"""Learnable parameters that stay in an interval, as the angle of :class:`proxact.MPU` does."""

from __future__ import annotations

from typing import Any

from torch import Tensor, nn

from ..prox import Interval

_MARGIN = 2.0**-7
"""How far a parameter stays from an end that does not belong to its interval. Exact in every float dtype."""


class RangedModule(nn.Module):
    """A module with parameters that :meth:`ranged` hands out inside their intervals, whatever the optimiser did.

    A value beyond an end counts as the end, with derivative 1, so that gradients can bring it back; and whenever a
    gradient arrives the parameter itself is put back, so that it starts from the end and not from far beyond.
    """

    def __init__(self) -> None:
        super().__init__()
        self._limits: dict[str, tuple[float, float]] = {}

    def register_ranged(self, name: str, value: Tensor, interval: Interval) -> None:
        """Make ``value`` a parameter that stays in ``interval``."""
        low, high = interval.bounds({})
        low, high = low + _MARGIN * interval.is_low_open, high - _MARGIN * interval.is_high_open
        if value.device.type != "meta" and not (low <= value.min() and value.max() <= high):
            raise ValueError(f"{name} must be in [{low:.4g}, {high:.4g}] to be learnable, got {value.tolist()}")
        self._limits[name] = (low, high)
        self.register_parameter(name, nn.Parameter(value))

    def ranged(self, name: str) -> Tensor:
        """The parameter, in its interval, with its gradient."""
        value: Tensor = getattr(self, name)
        beyond = (value - value.detach()).nan_to_num()  # 0, with derivative 1
        return value.detach().clamp(*self._limits[name]) + beyond

    def _watch(self) -> None:
        """Hang the projection on the gradients; copies, loaded and moved parameters have lost it."""
        for name, limits in self._limits.items():
            parameter = self._parameters.get(name)
            if parameter is None or any(isinstance(h, _PutBack) for h in _hooks(parameter)):
                continue
            is_trained = parameter.requires_grad
            parameter.requires_grad_(True)  # a frozen one takes no hook, but keeps it
            parameter.register_post_accumulate_grad_hook(_PutBack(*limits))
            parameter.requires_grad_(is_trained)

    def register_parameter(self, name: str, param: nn.Parameter | None) -> None:
        super().register_parameter(name, param)
        if param is not None and name in self._limits:
            self._watch()

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        self._watch()

    def _apply(self, *args: Any, **kwargs: Any) -> RangedModule:
        super()._apply(*args, **kwargs)
        self._watch()
        return self

    def _load_from_state_dict(self, *args: Any, **kwargs: Any) -> None:
        super()._load_from_state_dict(*args, **kwargs)
        self._watch()


class _PutBack:
    def __init__(self, low: float, high: float) -> None:
        self.low, self.high = low, high

    def __call__(self, parameter: Tensor) -> None:
        parameter.data.clamp_(self.low, self.high)  # .data: graphs that saved the parameter stay valid


def _hooks(parameter: Tensor) -> list[Any]:
    return list((parameter._post_accumulate_grad_hooks or {}).values())
