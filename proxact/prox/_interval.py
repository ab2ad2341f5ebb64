"""Ranges of parameters and domains, written as in the catalogue: ``"(0, 1]"``, ``"[-a, inf)"``."""

from __future__ import annotations

import math
from typing import Any

from torch import Tensor

from .._checks import check_float_tensor, raise_if

_CONSTANTS = {"inf": math.inf, "pi/2": math.pi / 2, "8/sqrt(27)": 8 / math.sqrt(27)}


class Interval:
    """An interval; a bound is a number, a constant or the name of a parameter, with a minus in front or not."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._low, self._high = text[1:-1].split(", ")
        self.is_low_open, self.is_high_open = text[0] == "(", text[-1] == ")"

    def __repr__(self) -> str:
        return self.text

    def bounds(self, parameters: dict[str, Any]) -> tuple[Any, Any]:
        """Both ends: numbers, or tensors where they are parameters given as tensors."""
        return _bound(self._low, parameters), _bound(self._high, parameters)

    def contains(self, value: Any) -> Any:
        """For a number a bool, for a tensor one for each entry. A nan is nowhere."""
        low, high = self.bounds({})
        above = value > low if self.is_low_open else value >= low
        below = value < high if self.is_high_open else value <= high
        return above & below

    def check(self, name: str, value: object, takes_tensor: bool) -> None:
        """Raise unless ``value`` is a number, or a tensor of numbers, in the interval."""
        allowed = f"a number{' or a floating-point tensor' if takes_tensor else ''} in {self.text}"
        if isinstance(value, Tensor) and takes_tensor:
            check_float_tensor(name, value)
            raise_if(~self.contains(value), ValueError, "{} must be {}, got {}", name, allowed, value)
        elif isinstance(value, bool) or not isinstance(value, (int, float)):
            raise TypeError(f"{name} must be {allowed}, got {value!r}")
        elif not self.contains(value):
            raise ValueError(f"{name} must be {allowed}, got {value}")


def _bound(text: str, parameters: dict[str, Any]) -> Any:
    name = text.removeprefix("-")
    size = parameters[name] if name in parameters else float(_CONSTANTS.get(name, name))
    return -size if text.startswith("-") else size
