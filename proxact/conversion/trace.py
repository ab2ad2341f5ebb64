"""The channel axis of every site, read from traces of the single modules (torch.fx) without running the model."""

from __future__ import annotations

import functools
import inspect
import operator
import warnings
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NamedTuple

import torch
from torch import Tensor, fx, nn

from .axes import UNKNOWN, Channels, after_function, after_module
from .kinds import is_activation


class Probe(nn.Module):
    """Stands at a site while the model is studied."""

    def forward(self, x: Tensor) -> Tensor:
        return x.clamp(min=0)


_TRANSFORMER_LAYERS = (nn.TransformerEncoderLayer, nn.TransformerDecoderLayer)


class _Mode(NamedTuple):
    """How a module is traced: as trained or not, and what it hears when it asks whether a tensor is true."""

    training: bool
    answer: bool


_MODES = [_Mode(training, answer) for answer in (False, True) for training in (False, True)]


class _Tracer(fx.Tracer):
    """Children are single steps. Branches that depend on data take the side of ``answer``: for reading, not running."""

    proxy_buffer_attributes = True  # or the trace would count batches in the real buffers
    trace_asserts = True

    def __init__(self, answer: bool) -> None:
        super().__init__()
        self.answer, self.questions = answer, 0

    def is_leaf_module(self, m: nn.Module, module_qualified_name: str) -> bool:
        return True

    def create_args_for_root(
        self, root_fn: Any, is_module: bool, concrete_args: Any = None
    ) -> tuple[Callable[..., Any], list[Any]]:
        """Arguments that must be given are given; the others keep their defaults, as in most calls."""
        parameters = list(inspect.signature(root_fn).parameters.values())[1:]
        needed = [p for p in parameters if p.default is p.empty and p.kind is not p.VAR_KEYWORD] or parameters[:1]
        proxies = {p.name: self.create_proxy("placeholder", p.name, (), {}) for p in needed}
        by_name = {p.name: proxies.pop(p.name) for p in needed if p.kind is p.KEYWORD_ONLY}
        return functools.partial(root_fn, **by_name), [self.root, *proxies.values()]

    def to_bool(self, obj: fx.Proxy) -> bool:
        self.questions += 1
        return self.answer and self.questions < _PATIENCE


_PATIENCE = 20
"""Questions after which the answer is no: a loop must end."""


class StaticStudy:
    """Follow the channels from module to module, as far as the single modules can be traced.

    After :meth:`follow`, ``seen[probe]`` holds the channels that arrive at a probe and ``calls[probe]`` how often the
    module that owns it calls it, where that does not depend on data.
    """

    def __init__(self) -> None:
        self.seen: dict[Probe, set[Channels]] = defaultdict(set)
        self.calls: Counter[Probe] = Counter()
        self._asked: set[tuple[nn.Module, bool]] = set()
        self._graphs: dict[tuple[nn.Module, _Mode], fx.Graph | None] = {}
        self._done: dict[tuple[nn.Module, _Mode, Channels], Channels] = {}

    def follow(self, model: nn.Module, probes: Mapping[Probe, nn.Module]) -> None:
        """Study the whole model, then the owners of probes not met on the way; in further modes while doubts remain."""
        for mode in _MODES:
            if mode != _MODES[0] and not self._asked and not self._missing(probes):
                break
            self._module(model, UNKNOWN, mode)
            for owner in self._missing(probes):
                self._module(owner, UNKNOWN, mode)

    def _missing(self, probes: Mapping[Probe, nn.Module]) -> list[nn.Module]:
        return list({o: None for p, o in probes.items() if all(c.axis is None for c in self.seen[p])})

    def _module(self, module: nn.Module, channels: Channels, mode: _Mode) -> Channels:
        key = (module, mode, channels)
        if key not in self._done:
            self._done[key] = UNKNOWN  # a module that calls itself
            self._done[key] = self._study(module, channels, mode)
        return self._done[key]

    def _study(self, module: nn.Module, channels: Channels, mode: _Mode) -> Channels:
        if isinstance(module, Probe):
            self.seen[module].add(channels)
        if isinstance(module, Probe) or is_activation(module):
            return channels
        if _class_of_forward(module) is nn.Sequential:
            for child in module.children():
                channels = self._module(child, channels, mode)
            return channels
        if isinstance(module, _TRANSFORMER_LAYERS) and isinstance(module.activation, Probe):
            self.seen[module.activation].add(Channels(-1, module.linear1.out_features))
        if _class_of_forward(module).__module__.startswith("torch.nn."):
            result = after_module(module)
            for child in module.children():
                self._module(child, UNKNOWN, mode)
            return channels if result is None else result
        if type(module).__name__ == "Conv1D" and type(module).__module__.startswith("transformers"):
            return Channels(-1, int(module.nf))  # type: ignore[arg-type]  # a linear layer, its weight transposed
        graph = self._graph(module, mode)
        if graph is None:
            for child in module.children():
                self._module(child, UNKNOWN, mode)
            return UNKNOWN
        return self._run(module, graph, channels, mode)

    def _graph(self, module: nn.Module, mode: _Mode) -> fx.Graph | None:
        if (module, mode.training) not in self._asked:
            mode = _Mode(mode.training, False)  # the answer makes no difference
        key = (module, mode)
        if key not in self._graphs:
            self._graphs[key], is_certain = _trace(module, mode)
            if not is_certain:
                self._asked.add((module, mode.training))
            graph = self._graphs[key] if is_certain else None
            calls = Counter(node.target for node in graph.nodes if node.op == "call_module") if graph else {}
            for name, count in calls.items():
                if isinstance(child := module.get_submodule(str(name)), Probe):
                    self.calls[child] = max(self.calls[child], count)
        return self._graphs[key]

    def _run(self, module: nn.Module, graph: fx.Graph, channels: Channels, mode: _Mode) -> Channels:
        known: dict[fx.Node, Channels] = {}
        first = next((node for node in graph.nodes if node.op == "placeholder"), None)
        for node in graph.nodes:
            inputs = [known.get(argument, UNKNOWN) for argument in node.all_input_nodes]
            if node.op == "placeholder":
                known[node] = channels if node is first else UNKNOWN
            elif node.op == "call_module":
                child = module.get_submodule(str(node.target))
                known[node] = self._module(child, inputs[0] if inputs else UNKNOWN, mode)
            elif node.op == "output":
                return inputs[0] if inputs else UNKNOWN
            elif node.target is operator.getitem:
                known[node] = inputs[0] if _is_part_of_result(node) else UNKNOWN
            elif node.op in ("call_function", "call_method"):
                name = node.target if isinstance(node.target, str) else getattr(node.target, "__name__", "")
                known[node] = after_function(name, node.args, inputs)
        return UNKNOWN


def _is_part_of_result(node: fx.Node) -> bool:
    """Whether x[i] takes one of several results and not a part of a tensor."""
    source, index = node.args
    if not isinstance(source, fx.Node) or not isinstance(index, int):
        return False
    return source.op == "call_module" or source.target in ("chunk", "split", torch.chunk, torch.split)


def _class_of_forward(module: nn.Module) -> type:
    return next(cls for cls in type(module).__mro__ if "forward" in vars(cls))


def _trace(module: nn.Module, mode: _Mode) -> tuple[fx.Graph | None, bool]:
    """The graph of a module's own calls, None if it cannot be traced, and whether it is the same for all data."""
    tracer = _Tracer(mode.answer)
    try:
        with _put_back(module), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            module.training = mode.training
            return tracer.trace(module), tracer.questions == 0
    except Exception:  # whatever a forward does with values that are not there
        return None, False


@contextmanager
def _put_back(module: nn.Module) -> Iterator[None]:
    """Undo what a forward stores in its module: attributes, and the contents of lists, dicts and sets."""
    attributes = dict(vars(module))
    contents = [(value, value.copy()) for value in attributes.values() if isinstance(value, (list, dict, set))]
    try:
        yield
    finally:
        for value, content in [*contents, (vars(module), attributes)]:
            value.clear()
            (value.extend if isinstance(value, list) else value.update)(content)
