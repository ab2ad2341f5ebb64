"""Put modules into the slots of a model, and take them out again."""

from __future__ import annotations

import functools
import types
from collections.abc import Iterable, Mapping
from typing import Any

from torch import nn

from .rewrite import Edit, rewrite

_RECORD = "_proxact_originals"
_FAST_PATH = "activation_relu_or_gelu"
"""What nn.TransformerEncoderLayer asks before it computes ReLU or GELU itself and passes ``activation`` by."""


class PerPass(nn.ModuleList):
    """One activation for each pass of a loop; passes beyond the last share the last."""

    def __getitem__(self, index: Any) -> Any:
        return super().__getitem__(min(index, len(self) - 1) if isinstance(index, int) else index)


def original_class(owner: nn.Module) -> type[nn.Module]:
    return vars(type(owner)).get("_proxact_base", type(owner))


def edits_of(owner: nn.Module) -> tuple[Edit, ...]:
    return vars(type(owner)).get("_proxact_edits", ())


def install(owner: nn.Module, slots: Mapping[str, object], edits: Iterable[Edit] = ()) -> None:
    """Set ``owner.<slot>`` for each slot and rewrite the methods as the edits say; what was there is remembered."""
    record = vars(owner).setdefault(_RECORD, {})
    for slot, value in slots.items():
        was_module = slot in owner._modules
        record.setdefault(slot, owner._modules[slot] if was_module else vars(owner).get(slot))
        _set(owner, slot, value)
    if _FAST_PATH in vars(owner) and "activation" in slots:
        record.setdefault(_FAST_PATH, vars(owner)[_FAST_PATH])
        vars(owner)[_FAST_PATH] = 0
    if edits := tuple(edits):
        owner.__class__ = specialise(original_class(owner), (*edits_of(owner), *edits))  # type: ignore[arg-type]


def uninstall(owner: nn.Module) -> None:
    """Undo every :func:`install` on a module."""
    record = vars(owner).pop(_RECORD, {})
    for slot, original in record.items():
        if isinstance(original, nn.Module):
            _follow(original.train(owner.training), owner._modules.get(slot))
        _set(owner, slot, original)
    owner.__class__ = original_class(owner)


class Snapshot:
    """The state of modules with respect to :func:`install`."""

    def __init__(self, owners: Iterable[nn.Module]) -> None:
        self._states = {owner: (type(owner), _copy(vars(owner)), dict(owner._modules)) for owner in owners}

    def restore(self) -> None:
        for owner, (cls, attributes, modules) in self._states.items():
            owner.__class__ = cls
            vars(owner).clear()
            vars(owner).update(attributes)
            owner._modules.clear()
            owner._modules.update(modules)


def _copy(attributes: dict[str, Any]) -> dict[str, Any]:
    return {name: dict(value) if name == _RECORD else value for name, value in attributes.items()}


def converted_slots(owner: nn.Module) -> list[str]:
    """The slots of a module that hold something new."""
    record = vars(owner).get(_RECORD, {})
    kept = [id(original) for original in record.values()]
    return [slot for slot in record if slot in owner._modules and id(owner._modules[slot]) not in kept]


def _follow(module: nn.Module, other: nn.Module | None) -> None:
    """Move a module, which was not part of the model, where the one in its place went."""
    parameter = next(other.parameters(), None) if other is not None else None
    if parameter is not None:
        module.to(parameter.device, parameter.dtype)


def _set(owner: nn.Module, slot: str, value: object) -> None:
    # Not setattr: the order of the children stays, and classes that override it are not asked.
    if isinstance(value, nn.Module):
        vars(owner).pop(slot, None)
        owner._modules[slot] = value
        return
    owner._modules.pop(slot, None)
    if value is None:
        vars(owner).pop(slot, None)
    else:
        vars(owner)[slot] = value


@functools.lru_cache(maxsize=1024)  # blocks of one class share one specialised class, and its compiled code
def specialise(base: type[nn.Module], edits: tuple[Edit, ...]) -> type[nn.Module]:
    """A subclass of ``base``, under its name, with rewritten methods; its objects can be copied and pickled."""
    methods: dict[str, dict[int, Edit]] = {}
    for edit in edits:
        methods.setdefault(edit.method, {})[edit.number] = edit
    namespace: dict[str, Any] = {name: rewrite(getattr(base, name), name, one) for name, one in methods.items()}
    namespace |= {"__module__": base.__module__, "__qualname__": base.__qualname__, "__doc__": base.__doc__}
    namespace |= {"__reduce_ex__": _reduce, "_proxact_base": base, "_proxact_edits": edits}
    return types.new_class(base.__name__, (base,), exec_body=lambda body: body.update(namespace))


def can_specialise(cls: type) -> bool:
    """Whether objects of a class are copied in the usual way."""
    return cls.__reduce__ is object.__reduce__ and cls.__reduce_ex__ is object.__reduce_ex__


def _reduce(self: nn.Module, protocol: Any) -> tuple[Any, ...]:
    state = self.__getstate__() if hasattr(self, "__getstate__") else vars(self)
    return _blank, (original_class(self), edits_of(self)), state


def _blank(base: type[nn.Module], edits: tuple[Edit, ...]) -> nn.Module:
    cls = specialise(base, edits)  # type: ignore[arg-type]
    return cls.__new__(cls)
