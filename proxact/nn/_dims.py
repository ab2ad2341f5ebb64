"""Which axis holds the channels."""

from __future__ import annotations

import math
from typing import Literal

from torch import Tensor, nn

from .._checks import check_dim, check_float_tensor

Dim = int | Literal["flat"] | None


def check_dim_argument(dim: object) -> None:
    if dim is None or dim == "flat" or (isinstance(dim, int) and not isinstance(dim, bool)):
        return
    raise TypeError(f"dim must be an int, None or 'flat', got {dim!r}")


def channel_dim(dim: int | None, ndim: int) -> int:
    """The axis to use for an input with ``ndim`` axes; ``None`` picks it where it is plain."""
    if dim is not None:
        return check_dim(dim, ndim)
    if ndim in (1, 2):
        return ndim - 1
    if ndim in (4, 5):
        return 1
    raise ValueError(
        f"dim=None cannot tell the channel axis of an input with {ndim} axes: give dim=1 (convolutions) "
        "or dim=-1 (transformers)"
    )


class ChannelModule(nn.Module):
    """A module that acts along the channel axis, given by ``dim`` as in :class:`proxact.MPU`."""

    def __init__(self, dim: Dim = None) -> None:
        super().__init__()
        check_dim_argument(dim)
        self.dim = dim

    def forward(self, x: Tensor) -> Tensor:
        check_float_tensor("x", x)
        if self.dim != "flat":
            return self.along(x, channel_dim(self.dim, x.ndim))
        if x.ndim < 2:
            raise ValueError(f"dim='flat' needs a batch axis and at least one more, got an input with {x.ndim} axes")
        flat = self.along(x.flatten(1), 1)
        return flat.reshape(x.shape) if flat.shape[1] == math.prod(x.shape[1:]) else flat

    def along(self, x: Tensor, dim: int) -> Tensor:
        """The function itself, along axis ``dim`` >= 0."""
        raise TypeError(f"{type(self).__name__} must define along(x, dim)")

    def __prepare_scriptable__(self) -> None:
        raise TypeError(f"torch.jit.script cannot read {type(self).__name__}: use torch.export or torch.jit.trace")


__all__ = ["ChannelModule", "Dim", "channel_dim", "check_dim_argument"]
