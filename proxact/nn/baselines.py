"""The multivariate activations that the paper compares with."""

from __future__ import annotations

import torch
from torch import Tensor

from .._checks import check_positive_int
from ..kernels import winners
from ._dims import ChannelModule, Dim


class WTA(ChannelModule):
    """Winner takes all: the largest ``floor(ratio * n)`` of n channels (at least one) pass, the others become 0.

    Args:
        ratio: share of winners, in (0, 1].
        dim: as in :class:`proxact.MPU`.
        inplace: accepted for compatibility; the input is never changed.

    Example:
        >>> WTA(0.5)(torch.tensor([[3.0, -1.0, 2.0, -5.0]]))
        tensor([[3., 0., 2., 0.]])
    """

    def __init__(self, ratio: float = 0.5, *, dim: Dim = None, inplace: bool = False) -> None:
        super().__init__(dim)
        if not isinstance(ratio, (int, float)) or not 0 < ratio <= 1:
            raise ValueError(f"ratio must be a float in (0, 1], got {ratio!r}")
        self.ratio = ratio

    def winners(self, channels: int) -> int:
        return max(1, int(self.ratio * channels + 1e-9))  # 0.58 * 100 is 57.99... in binary

    def along(self, x: Tensor, dim: int) -> Tensor:
        if x.shape[dim] == 0:
            return x.clone()
        count = self.winners(x.shape[dim])
        if winners.applies(x, dim):
            return winners.keep_winners(x, count, dim)
        values, index = x.topk(count, dim, sorted=False)  # half the time of sorted ones
        return torch.zeros_like(x).scatter(dim, index, values)

    def extra_repr(self) -> str:
        return f"{self.ratio}, dim={self.dim}"


class Maxout(ChannelModule):
    """The largest of each k neighbouring channels: n channels in, n / k out.

    Args:
        k: channels in a group; must divide the number of channels.
        dim: as in :class:`proxact.MPU`.
        inplace: accepted for compatibility.

    Example:
        >>> Maxout(2)(torch.tensor([[3.0, -1.0, 2.0, 5.0]]))
        tensor([[3., 5.]])
    """

    def __init__(self, k: int = 2, *, dim: Dim = None, inplace: bool = False) -> None:
        super().__init__(dim)
        check_positive_int("k", k)
        self.k = k

    def along(self, x: Tensor, dim: int) -> Tensor:
        if x.shape[dim] % self.k:
            raise ValueError(f"Maxout needs a number of channels divisible by k={self.k}, got {x.shape[dim]}")
        return x.unflatten(dim, (-1, self.k)).amax(dim + 1)

    def extra_repr(self) -> str:
        return f"{self.k}, dim={self.dim}"


class CReLU(ChannelModule):
    """ReLU of x and of -x side by side: n channels in, 2 n out.

    Args:
        dim: as in :class:`proxact.MPU`.
        inplace: accepted for compatibility.

    Example:
        >>> CReLU()(torch.tensor([[3.0, -1.0]]))
        tensor([[3., 0., 0., 1.]])
    """

    def __init__(self, *, dim: Dim = None, inplace: bool = False) -> None:
        super().__init__(dim)

    def along(self, x: Tensor, dim: int) -> Tensor:
        return torch.cat([torch.relu(x), torch.relu(-x)], dim)

    def extra_repr(self) -> str:
        return f"dim={self.dim}"
