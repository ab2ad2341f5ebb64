"""Can this function be the prox of a convex penalty?"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from ._classification import Classification, no
from ._jacobians import classify_vectors
from ._slopes import classify_numbers
from .verify import in_dtype

_COORDINATES = 4


def classify(
    f: Callable[[Tensor], Tensor],
    shape: Sequence[int] | None = None,
    *,
    radius: float = 20.0,
    dtype: torch.dtype = torch.float64,
) -> Classification:
    r"""Decide whether f can be :math:`\arg\min_y \phi(y) + \tfrac12 \|y - x\|^2` for some convex :math:`\phi`.

    A function of one number can if and only if it is nondecreasing and 1-Lipschitz; a function of vectors if and only
    if it is 1-Lipschitz and its Jacobians are symmetric with eigenvalues in [0, 1]. (:math:`\phi` is then the conjugate
    of a primitive of f, less :math:`\tfrac12 \|y\|^2`.) Slopes and Jacobians are taken from values of f, not from its
    autograd formula.

    *No* is certain: it comes with the point and the number. *Yes* means that no violation was found on about 25,000
    numbers, or 64 Jacobians and 400 pairs of vectors, of size up to ``radius`` and a little beyond.

    Args:
        f: a function or module (the copy of a module is moved to ``dtype``; its mode, training or not, stays).
        shape: of one argument. By default 4 numbers; a function that treats each alike is classified as one of numbers.
        radius: the size of the arguments.
        dtype: of the arguments; float64 unless f cannot compute in it.

    Example:
        >>> print(classify(torch.nn.GELU()))
        no prox: not monotone: slope -0.1289 at x = -1.414
        >>> classify(torch.nn.Softmax(-1)).is_prox
        True
    """
    event = torch.Size((_COORDINATES,) if shape is None else tuple(shape))
    function = _on_copies(in_dtype(f, dtype))
    generator = torch.Generator().manual_seed(0)
    probe = torch.randn(event, dtype=dtype, generator=generator)
    y = function(probe)
    if y.shape != event:
        return no(f"not a map into the same space: shape {tuple(event)} becomes {tuple(y.shape)}", probe)
    for x in (probe, -probe):
        if not torch.equal(function(x).nan_to_num(), function(x).nan_to_num()):
            return no("not a function: two calls with the same argument differ", x)
    if len(event) == 1 and _is_elementwise(function, event, dtype, generator):
        return classify_numbers(function, radius, dtype)
    return classify_vectors(function, event, radius, dtype, generator)


def _on_copies(f: Callable[[Tensor], Tensor]) -> Callable[[Tensor], Tensor]:
    @torch.no_grad()
    def function(x: Tensor) -> Tensor:
        return f(x.clone())  # it may work in place

    return function


def _is_elementwise(
    function: Callable[[Tensor], Tensor], event: torch.Size, dtype: torch.dtype, generator: torch.Generator
) -> bool:
    """Whether each output depends on its own input alone, all in the same way. Jacobians would not tell: k-WTA."""
    eps = torch.finfo(dtype).eps
    for scale in (0.5, 1.0, 3.0, 9.0) * 4:
        x, other = (scale * torch.randn(event, dtype=dtype, generator=generator) for _ in range(2))
        y = function(x)
        for i in range(event.numel()):
            mixed = other.clone()
            mixed[i] = x[i]
            if not torch.allclose(function(mixed)[i], y[i], rtol=8 * eps, atol=eps, equal_nan=True):
                return False
        if not torch.allclose(function(x.flip(0)), y.flip(0), rtol=8 * eps, atol=eps, equal_nan=True):
            return False
    return True
