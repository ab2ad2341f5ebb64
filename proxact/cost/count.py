"""The count of one forward pass, which leaves the model as it was."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from typing import Any

import torch
from torch import Tensor, nn

from .._checks import check_choice
from .result import Cost
from .rules import RULES
from .tally import Tally


def cost(model: nn.Module, input: Any, rule: str = "paper") -> Cost:
    """Count the multiply-adds (MACs) of one forward pass.

    Matrix products, convolutions and attention are counted by ``torch.utils.flop_counter``, activations and
    normalisations by the tables in :mod:`proxact.cost.rules`, whether they are modules or calls of functions.

    The model runs once, in eval mode and without gradients; its training flags and the random state are put back. On
    the meta device nothing is computed, so a large model and batch take no time.

    Args:
        model: any module.
        input: a tensor; a tuple or list of arguments; or a dict of keyword arguments.
        rule: ``"paper"``, as the MAC columns of the paper are counted, or ``"exact"``, the multiplications that are
            done; :mod:`proxact.cost.rules` defines both, and its ``register_cost`` adds activations of your own.

    Returns:
        a :class:`Cost`: ``total``, ``matmul``, ``norm``, ``activation``, ``rows`` for each module, ``notes`` on what
        was counted as 0.

    Example:
        >>> with torch.device("meta"):
        ...     model, x = torch.nn.Sequential(torch.nn.Linear(60, 8), proxact.MPU(2)), torch.empty(100, 60)
        >>> result = cost(model, x)
        >>> result.matmul, result.activation  # 60 * 8, and 3 m + 5 for each of 4 groups, 100 times
        (48000, 4400)
    """
    check_choice("rule", rule, RULES)
    if not isinstance(model, nn.Module):
        raise TypeError(f"model must be a torch.nn.Module, got {type(model).__name__}")
    args, kwargs = _arguments(input)
    model = getattr(model, "_orig_mod", model)  # a graph that torch.compile made hides the modules
    tally = Tally(rule)
    with tally.watching(model), _undisturbed(model), torch.no_grad(), tally.counter:
        model(*args, **kwargs)
    return tally.result(model)


def _arguments(input: Any) -> tuple[tuple[Any, ...], dict[str, Any]]:
    if isinstance(input, Tensor):
        return (input,), {}
    if isinstance(input, Mapping):
        return (), dict(input)
    if isinstance(input, (tuple, list)):
        return tuple(input), {}
    raise TypeError(f"input must be a tensor, a tuple of arguments or a dict of them, got {type(input).__name__}")


@contextlib.contextmanager
def _undisturbed(model: nn.Module) -> Iterator[None]:
    """Eval mode; training flags and random state are put back."""
    flags = [(module, module.training) for module in model.modules()]
    devices = {p.device.index or 0 for p in model.parameters() if p.device.type == "cuda"}
    with torch.random.fork_rng(devices=sorted(devices)), _without_fused_layers(model):
        try:
            model.eval()
            yield
        finally:
            for module, is_training in flags:
                module.training = is_training


@contextlib.contextmanager
def _without_fused_layers(model: nn.Module) -> Iterator[None]:
    """Whole layers as one operation hide what is inside: nn.TransformerEncoderLayer's fast path, LSTMs of libraries."""
    switches: Any = torch._C  # torch.backends' own setters warn, or refuse after torch's test tools were loaded
    switched = [(switches._get_mkldnn_enabled, switches._set_mkldnn_enabled)]
    switched += [(switches._get_cudnn_enabled, switches._set_cudnn_enabled)]
    if not any(isinstance(module, nn.RNNBase) for module in model.modules()):
        switched = []
    switched.append((torch.backends.mha.get_fastpath_enabled, torch.backends.mha.set_fastpath_enabled))
    before = [get() for get, _ in switched]
    try:
        for _, put in switched:
            put(False)
        yield
    finally:
        for (_, put), value in zip(switched, before, strict=True):
            put(value)
