"""torch's counter of operations, with formulas for activations and each module's share kept apart."""

from __future__ import annotations

import contextlib
import math
from collections import Counter
from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor, nn

from .result import PARTS, Cost, Row
from .rules import ACTIVATIONS, NORMS, ModuleRule, worth_of


class Tally:
    """What was counted so far, and what of it each module did itself."""

    def __init__(self, rule: str) -> None:
        from torch.utils.flop_counter import FlopCounterMode  # loads a good part of torch.compile

        self.rule = rule
        self.own: dict[nn.Module, Counter[str]] = {}
        self.calls: Counter[nn.Module] = Counter()
        self.unknown: Counter[str] = Counter()  # counted as 0 for want of a rule
        self._running: list[_Frame] = []
        self._replaced = 0  # how many running modules have a rule in place of the operations inside them
        self._by_modules: Counter[str] = Counter()
        self._parts: dict[Any, str] = {}  # of operations that are not matrix products
        self.counter = FlopCounterMode(display=False, custom_mapping=self._formulas())

    def _formulas(self) -> dict[Any, Any]:
        """For the counter, which counts 2 for each multiply-add."""
        aten = torch.ops.aten
        found: dict[Any, Any] = {
            aten.mv: lambda a, b, **_: 2 * math.prod(a),
            aten.dot: lambda a, b, **_: 2 * math.prod(a),
            aten.addmv: lambda c, a, b, **_: 2 * math.prod(a),
            aten.addbmm: lambda c, a, b, **_: 2 * math.prod(a) * b[-1],
            aten._trilinear: lambda a, weight, b, *_, **__: 2 * math.prod(a[:-1]) * math.prod(weight),  # nn.Bilinear
            aten._scaled_dot_product_flash_attention_for_cpu: _attention,
        }
        for table, part in ((NORMS, "norm"), (ACTIVATIONS, "activation")):
            for name, worth in table.items():
                for spelled in (name, name + "_"):
                    if operation := getattr(aten, spelled, None):
                        self._parts[operation] = part
                        found[operation] = self._formula(name, worth.by(self.rule))
        return found

    def _formula(self, name: str, each: Any) -> Any:
        def formula(x: torch.Size, *args: Any, **kwargs: Any) -> int:
            if self._replaced:
                return 0
            if each is None:
                self._note(name)
                return 0
            return 2 * math.prod(x) * (7 if kwargs.get("approximate") == "tanh" else each)

        return formula

    def _note(self, name: str) -> None:
        self.unknown[name] += 1
        if self._running:
            self._running[-1].is_noted = True

    def counted(self) -> Counter[str]:
        """MACs by part, so far."""
        parts = self._by_modules.copy()
        for operation, flops in self.counter.flop_counts["Global"].items():
            parts[self._parts.get(operation, "matmul")] += flops // 2
        return parts

    @contextlib.contextmanager
    def watching(self, model: nn.Module) -> Iterator[None]:
        handles = []
        try:
            for module in model.modules():
                handles.append(module.register_forward_pre_hook(self._enter))
                handles.append(module.register_forward_hook(self._leave, with_kwargs=True))
            yield
        finally:
            for handle in handles:
                handle.remove()

    def _enter(self, module: nn.Module, args: Any) -> None:
        worth = worth_of(module)
        self._replaced += worth is not None and not worth.adds
        self._running.append(_Frame(self.counted()))

    def _leave(self, module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any], output: Any) -> None:
        if (worth := worth_of(module)) is not None:
            self._replaced -= not worth.adds
            if not self._replaced:
                x = next(value for value in (*args, *kwargs.values()) if isinstance(value, Tensor))
                self._by_modules[worth.part] += self._apply(worth.by(self.rule), module, x)
        frame = self._running.pop()
        inclusive = self.counted() - frame.before
        own = inclusive - frame.of_children
        self.own[module] = self.own.get(module, Counter()) + own
        self.calls[module] += 1
        if self._running:
            self._running[-1].of_children.update(inclusive)
        if not own and worth is None and not frame.is_noted and _is_foreign_leaf(module):
            self.unknown[type(module).__name__] += 1

    def _apply(self, rule: ModuleRule | None, module: nn.Module, x: Tensor) -> int:
        if rule is None:
            self._note(type(module).__name__)
            return 0
        return rule * x.numel() if isinstance(rule, int) else rule(module, x)

    def result(self, model: nn.Module) -> Cost:
        rows = [
            Row(name or "(model)", type(module).__name__, self.calls[module], *(self.own[module][p] for p in PARTS))
            for name, module in model.named_modules()
            if self.own.get(module) or (module in self.own and worth_of(module))
        ]
        notes = []
        if self.unknown:
            listed = ", ".join(f"{name} ({calls})" for name, calls in sorted(self.unknown.items()))
            notes.append(f"Counted as 0, for rule {self.rule!r} has no count of it: {listed}. See register_cost.")
        counted = self.counted()
        return Cost(self.rule, **{part: counted[part] for part in PARTS}, rows=tuple(rows), notes=tuple(notes))


class _Frame:
    """A module that is running."""

    def __init__(self, before: Counter[str]) -> None:
        self.before = before
        self.of_children: Counter[str] = Counter()
        self.is_noted = False


def _is_foreign_leaf(module: nn.Module) -> bool:
    """Not torch's own, and nothing inside: it may be an activation that no table knows."""
    return next(module.children(), None) is None and not type(module).__module__.startswith("torch.")


def _attention(query: torch.Size, key: torch.Size, value: torch.Size, *_: Any, **__: Any) -> int:
    batch, heads, length, width = query
    return 2 * batch * heads * length * key[-2] * (width + value[-1])
