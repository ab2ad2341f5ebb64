"""Any function of the catalogue as a layer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from .._checks import check_choice, check_float_tensor, check_positive_int
from ..prox import CATALOGUE, Entry
from ._dims import channel_dim
from ._ranged import RangedModule


class Prox(RangedModule):
    """A function of :mod:`proxact.prox` along the channels.

    Args:
        entry: its name, or the function itself.
        learnable: names of the parameters to train. They stay in their ranges, a little inside an open end.
        num_parameters: entries of each learnable parameter: 1 for the layer, or one for each channel (functions of
            numbers) or each group of channels (functions of vectors).
        group: for functions of vectors: so many neighbouring channels are a vector; ``None`` makes one of all channels.
        dim: the channel axis, as in :class:`proxact.MPU` but for ``"flat"``. Not needed for functions of numbers with
            one parameter for all channels.
        inplace: accepted so that the layer fits where ``nn.ReLU(inplace=True)`` stood; the input is never changed.
        parameters: of the function.

    Shape:
        any; the output has the shape and dtype of the input.

    Example:
        >>> Prox("leaky_relu", a=0.1, learnable="a")(torch.tensor([-2.0, 3.0]))
        tensor([-0.2000,  3.0000], grad_fn=...)
    """

    def __init__(
        self,
        entry: str | Entry,
        *,
        learnable: str | Sequence[str] = (),
        num_parameters: int = 1,
        group: int | None = None,
        dim: int | None = None,
        inplace: bool = False,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
        **parameters: Any,
    ) -> None:
        super().__init__()
        if isinstance(entry, str):
            check_choice("entry", entry, sorted(CATALOGUE))
            entry = CATALOGUE[entry]
        check_positive_int("num_parameters", num_parameters)
        if group is not None:
            check_positive_int("group", group)
        if dim is not None and (isinstance(dim, bool) or not isinstance(dim, int)):
            raise TypeError(f"dim must be an int or None, got {dim!r}")
        if group is not None and entry.is_elementwise:
            raise ValueError(f"group must be None for {entry.__name__}, a function of numbers, got {group}")
        self.entry, self.group, self.dim = entry, group, dim
        names = [learnable] if isinstance(learnable, str) else list(learnable)
        for name in names:
            if name not in parameters or name not in entry.ranges:
                allowed = ", ".join(name for name in entry.ranges if name in parameters) or "nothing"
                raise ValueError(f"learnable must name parameters given here ({allowed}), got {name!r}")
        self.names = tuple(parameters)
        for name, value in parameters.items():
            if name in names:
                start = torch.as_tensor(value, dtype=dtype or torch.get_default_dtype(), device=device)
                self.register_ranged(name, start.expand(num_parameters).clone(), entry.ranges[name])
            elif isinstance(value, Tensor):
                self.register_buffer(name, value)
            else:
                if name in entry.ranges:
                    entry.ranges[name].check(name, value, takes_tensor=False)
                setattr(self, name, value)

    def forward(self, x: Tensor) -> Tensor:
        check_float_tensor("x", x)
        if self.entry.is_elementwise:
            return self.entry(x, **self._values(x))
        axis, values = channel_dim(self.dim, x.ndim), self._values(x)
        if self.group is None:
            return self.entry(x, dim=axis, **values)
        if x.shape[axis] % self.group:
            raise ValueError(f"the number of channels must be divisible by {self.group}, got {x.shape[axis]}")
        return self.entry(x.unflatten(axis, (-1, self.group)), dim=axis + 1, **values).flatten(axis, axis + 1)

    def _values(self, x: Tensor) -> dict[str, Any]:
        """The parameters, with those for each channel or group placed on its axis."""
        values = {name: getattr(self, name) for name in self.names}
        for name in self._limits:
            value = self.ranged(name)
            trailing = x.ndim - 1 - channel_dim(self.dim, x.ndim) if value.numel() > 1 else 0
            values[name] = value.reshape(-1, *[1] * trailing) if value.numel() > 1 else value.reshape(())
        return values

    def extra_repr(self) -> str:
        shown = {"group": self.group, "dim": self.dim} | {name: getattr(self, name) for name in self.names}
        values = [f"{name}={_plain(value)}" for name, value in shown.items() if value is not None]
        return ", ".join(([self.entry.__name__] if type(self) is Prox else []) + values)


def _plain(value: object) -> object:
    if not isinstance(value, Tensor) or value.device.type == "meta":
        return value if not isinstance(value, Tensor) else tuple(value.shape)
    return round(value.item(), 6) if value.numel() == 1 else tuple(value.shape)
