"""The leaky version of any activation."""

from __future__ import annotations

from collections.abc import Callable

from torch import Tensor, nn

from .._checks import check_float_tensor
from ..prox import Interval

_RANGE = Interval("[0, inf)")


class Leaky(nn.Module):
    r"""The paper's leaky version of an activation f: :math:`\tfrac{1}{1+\lambda} f(x) + \tfrac{\lambda}{1+\lambda} x`.

    If f is the prox of a penalty :math:`\phi`, this is the prox of the Moreau envelope of :math:`\phi / (1 + \lambda)`:
    ``proxact.prox.moreau_envelope(lambda y: phi(y) / (1 + lam), lam)``. For a projection that is
    :math:`\tfrac{1}{2\lambda} \mathrm{dist}^2`.

    Args:
        activation: a module or function that keeps the shape of its input.
        lam: >= 0. The leak of :class:`proxact.MPU` is lam / (1 + lam); its 0.01 is lam = 1/99, the default here.

    Shape:
        any that the activation takes.

    Example:
        >>> Leaky(torch.relu)(torch.tensor([-2.0, 3.0]))
        tensor([-0.0200,  3.0000])
    """

    def __init__(self, activation: Callable[[Tensor], Tensor], lam: float = 1 / 99) -> None:
        super().__init__()
        if not callable(activation):
            raise TypeError(f"activation must be a module or a function, got {activation!r}")
        _RANGE.check("lam", lam, takes_tensor=False)
        self.activation = activation
        self.lam = lam

    @property
    def leak(self) -> float:
        """The weight of x."""
        return self.lam / (1 + self.lam)

    def forward(self, x: Tensor) -> Tensor:
        check_float_tensor("x", x)
        leaked = self.leak * x  # before the activation, which may work in place
        y = self.activation(x)
        if y.shape != leaked.shape:
            raise ValueError(
                f"activation must keep the shape of its input, {tuple(leaked.shape)}, got {tuple(y.shape)}"
            )
        return (1 - self.leak) * y + leaked

    def extra_repr(self) -> str:
        name = "" if isinstance(self.activation, nn.Module) else f"{getattr(self.activation, '__name__', 'function')}, "
        return f"{name}lam={self.lam:.4g}"
