"""What really happens at every site when the model runs on an example."""

from __future__ import annotations

import re
import sys
import warnings
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from typing import Any

import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode
from torch.utils._pytree import tree_leaves

from .axes import UNKNOWN, Channels, after_function
from .kinds import FUNCTIONS, Kinds, is_activation
from .trace import Probe

_CONVOLUTION = re.compile(r"conv(?:_transpose)?(\d)d")
_REDUCTIONS = {"mean", "sum", "amax", "amin", "std", "var", "softmax", "normalize"}
_RESHAPES = {"view", "reshape", "flatten", "unflatten", "squeeze", "unsqueeze", "expand", "view_as", "reshape_as"}


def run(model: nn.Module, example_input: Any) -> Any:
    """The output for an example, in evaluation mode and without gradient; random state and buffers are put back."""
    training = {module: module.training for module in model.modules()}
    buffers = [(buffer, buffer.clone()) for buffer in model.buffers()]
    try:
        model.eval()
        with torch.no_grad(), torch.random.fork_rng():
            torch.manual_seed(0)
            if isinstance(example_input, Mapping):
                return model(**example_input)
            return model(*example_input) if isinstance(example_input, tuple) else model(example_input)
    finally:
        for module, flag in training.items():
            module.training = flag
        for buffer, value in buffers:
            if buffer.device.type != "meta" and not torch.equal(buffer, value):
                buffer.copy_(value)


class Watch(TorchFunctionMode):
    """Follow the channels through every operation of a run.

    ``seen[probe]``: the channels that arrived; ``ranks[probe]``: the numbers of axes; ``calls[probe]``: how often in
    one call of the module ``owners[probe]``; ``missed``: (module, function name) of activations computed elsewhere.
    """

    def __init__(self, model: nn.Module, which: Kinds, owners: Mapping[Probe, nn.Module]) -> None:
        super().__init__()
        self.which, self._modules = which, set(model.modules())
        self._probes: dict[nn.Module, list[Probe]] = defaultdict(list)
        for probe, owner in owners.items():
            self._probes[owner].append(probe)
        self.seen: dict[Probe, set[Channels]] = defaultdict(set)
        self.ranks: dict[Probe, set[int]] = defaultdict(set)
        self.calls: Counter[Probe] = Counter()
        self.missed: dict[tuple[nn.Module, str], None] = {}
        self._stack: list[nn.Module] = []
        self._since: dict[Probe, int] = {}

    def __torch_function__(
        self, func: Callable[..., Any], types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        result = func(*args, **(kwargs or {}))
        if FUNCTIONS.get(func) in self.which:
            by = next((module for module in reversed(self._stack) if module in self._modules), None)
            if by is not None:
                self.missed[by, func.__name__] = None
        outputs = [t for t in tree_leaves(result) if isinstance(t, Tensor)]
        if outputs and outputs[0].is_floating_point():
            self._mark(getattr(func, "__name__", ""), args, outputs)
        return result

    def _mark(self, name: str, args: tuple[Any, ...], outputs: list[Tensor]) -> None:
        inputs = [t for t in tree_leaves(args) if isinstance(t, Tensor)]
        if name.strip("_") in _RESHAPES and inputs:
            channels = _reshaped(_channels(inputs[0]), inputs[0].shape, outputs[0].shape)
        elif name == "transpose" and inputs and all(isinstance(d, int) for d in args[1:3]):
            channels = _transposed(_channels(inputs[0]), inputs[0].ndim, *args[1:3])
        elif name in _REDUCTIONS and inputs:
            channels = _reduced(_channels(inputs[0]), inputs[0].shape, outputs[0].shape)
        else:
            known = [_channels(t) for t in inputs if t.ndim == outputs[0].ndim]
            channels = after_function(name, args, known)
            if (match := _CONVOLUTION.match(name)) and outputs[0].ndim == int(match[1]) + 1:
                channels = Channels(-outputs[0].ndim)  # no batch axis
        for output in outputs:
            if channels.axis is not None and -output.ndim <= channels.axis < output.ndim:
                output._proxact_channels = Channels(channels.axis, output.shape[channels.axis])  # type: ignore[attr-defined]

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Note which module runs, while this mode is on."""
        hooks = [
            nn.modules.module.register_module_forward_pre_hook(self._enter),
            nn.modules.module.register_module_forward_hook(self._leave),
        ]
        # Compiled parts run as they are written, or nothing would be seen; the module stack takes no harm from them.
        eager = torch.compiler.set_stance("force_eager") if "torch._dynamo" in sys.modules else nullcontext()
        try:
            with self, eager, warnings.catch_warnings():
                warnings.simplefilter("ignore")
                yield
        finally:
            for hook in hooks:
                hook.remove()

    def _enter(self, module: nn.Module, args: Any) -> None:
        self._stack.append(module)
        for probe in self._probes.get(module, ()):
            self._since[probe] = 0
        if isinstance(module, Probe) and args:
            x = args[0]
            self.seen[module].add(_channels(x))
            self.ranks[module].add(x.ndim)
            self._since[module] = self._since.get(module, 0) + 1
            self.calls[module] = max(self.calls[module], self._since[module])

    def _leave(self, module: nn.Module, args: Any, output: Any) -> None:
        self._stack.pop()
        if is_activation(module) and args and isinstance(output, Tensor) and output.shape == args[0].shape:
            output._proxact_channels = _channels(args[0])  # type: ignore[attr-defined]


def _channels(x: Tensor) -> Channels:
    return getattr(x, "_proxact_channels", UNKNOWN)


def _reshaped(channels: Channels, before: torch.Size, after: torch.Size) -> Channels:
    """The axis survives if it and all behind it, or it and all before it, stay as they were.

    The last axis also does if it is split (into heads) or merged (from heads).
    """
    if channels.axis is None or not after:
        return UNKNOWN
    axis, shift = channels.axis % len(before), len(after) - len(before)
    if axis + shift >= 0 and before[axis:] == after[axis + shift :]:
        return _counted_from_end(axis + shift, len(after), channels)
    if before[: axis + 1] == after[: axis + 1]:
        return _counted_from_end(axis, len(after), channels)
    sizes = sorted((before[-1], after[-1]))
    is_last = axis == len(before) - 1 and sizes[0] > 0 and sizes[1] % sizes[0] == 0
    return Channels(-1) if is_last else UNKNOWN


def _reduced(channels: Channels, before: torch.Size, after: torch.Size) -> Channels:
    """The axis survives if the number of axes and its own size do."""
    is_kept = channels.axis is not None and len(before) == len(after) and before[channels.axis] == after[channels.axis]
    return channels if is_kept else UNKNOWN


def _transposed(channels: Channels, ndim: int, first: int, second: int) -> Channels:
    if channels.axis is None:
        return UNKNOWN
    order = list(range(ndim))
    order[first], order[second] = order[second], order[first]
    return _counted_from_end(order.index(channels.axis % ndim), ndim, channels)


def _counted_from_end(axis: int, ndim: int, channels: Channels) -> Channels:
    return Channels(-1 if axis == ndim - 1 else axis, channels.size)
