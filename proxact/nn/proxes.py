"""Proximal layers with a name of their own, which torch has not."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from .prox import Prox


class SoftThreshold(Prox):
    """:func:`proxact.prox.soft_threshold` with a threshold that is learned and stays >= 0.

    Args:
        lam: the threshold at the start.
        learnable: train it.
        options: ``num_parameters``, ``dim``, ``inplace``, ``device``, ``dtype`` as in :class:`Prox`.

    Example:
        >>> SoftThreshold(0.5)(torch.tensor([-2.0, 0.3]))
        tensor([-1.5000,  0.0000], grad_fn=...)
    """

    def __init__(self, lam: float = 0.5, *, learnable: bool = True, **options: Any) -> None:
        super().__init__("soft_threshold", lam=lam, learnable=["lam"] if learnable else [], **options)


class GroupSoftThreshold(Prox):
    """:func:`proxact.prox.group_soft_threshold` of m neighbouring channels; the threshold is learned and stays >= 0.

    Args:
        m: channels in a group; must divide their number.
        lam: the threshold at the start.
        learnable: train it.
        options: ``num_parameters``, ``dim``, ``inplace``, ``device``, ``dtype`` as in :class:`Prox`.

    Example:
        >>> GroupSoftThreshold(2, 2.5)(torch.tensor([[3.0, 4.0]]))
        tensor([[1.5000, 2.0000]], grad_fn=...)
    """

    def __init__(self, m: int = 2, lam: float = 0.5, *, learnable: bool = True, **options: Any) -> None:
        super().__init__("group_soft_threshold", group=m, lam=lam, learnable=["lam"] if learnable else [], **options)


class ModReLU(Prox):
    """:func:`proxact.prox.modrelu` of complex numbers; the bias is learned and stays <= 0.

    Args:
        b: the bias at the start.
        learnable: train it.
        options: ``num_parameters``, ``dim``, ``inplace``, ``device``, ``dtype`` as in :class:`Prox`.

    Shape:
        complex, any; or real, with the two parts in neighbouring channels.

    Example:
        >>> ModReLU(-2.5, learnable=False)(torch.tensor([3 + 4j]))
        tensor([1.5000+2.j])
    """

    def __init__(self, b: float = -0.5, *, learnable: bool = True, **options: Any) -> None:
        super().__init__("modrelu", group=2, b=b, learnable=["b"] if learnable else [], **options)

    def forward(self, x: Tensor) -> Tensor:
        if not (isinstance(x, Tensor) and x.is_complex()):
            return super().forward(x)
        return torch.view_as_complex(self.entry(torch.view_as_real(x), **self._values(x)).contiguous())


class Squash(Prox):
    """:func:`proxact.prox.squash` of capsules of m neighbouring channels.

    Args:
        m: channels in a capsule; ``None`` makes one of all channels.
        options: ``dim``, ``inplace`` as in :class:`Prox`.

    Example:
        >>> Squash(2)(torch.tensor([[0.6, 0.8]]))
        tensor([[0.3000, 0.4000]])
    """

    def __init__(self, m: int | None = None, **options: Any) -> None:
        super().__init__("squash", group=m, **options)


class Sparsemax(Prox):
    """:func:`proxact.prox.sparsemax` along ``dim``.

    Example:
        >>> Sparsemax(-1)(torch.tensor([1.0, 0.6, -1.0]))
        tensor([0.7000, 0.3000, 0.0000])
    """

    def __init__(self, dim: int = -1, **options: Any) -> None:
        super().__init__("sparsemax", dim=dim, **options)


class Entmax(Prox):
    """:func:`proxact.prox.entmax` along ``dim``; alpha, where learned, stays in [1, 2].

    Args:
        dim: the axis of x that holds the vectors.
        alpha: from 1, softmax, to 2, sparsemax.
        learnable: train it.
        options: ``inplace``, ``device``, ``dtype`` as in :class:`Prox`.

    Example:
        >>> Entmax(-1)(torch.tensor([1.0, 0.0, -2.0]))
        tensor([0.8307, 0.1693, 0.0000])
    """

    def __init__(self, dim: int = -1, alpha: float = 1.5, *, learnable: bool = False, **options: Any) -> None:
        super().__init__("entmax", dim=dim, alpha=alpha, learnable=["alpha"] if learnable else [], **options)
