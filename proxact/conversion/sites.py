"""The activation sites of a model: every place that calls one."""

from __future__ import annotations

import fnmatch
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import torch
from torch import nn

from .calls import Call, read
from .install import can_specialise, edits_of, original_class
from .kinds import Kinds, is_activation, kind_of
from .report import ROOT, Skipped
from .rewrite import Edit


@dataclass(frozen=True)
class Site:
    """One place that calls an activation.

    name: path of the module that will stand there; owner: the module that calls it; slot: its attribute there;
    original: the module or function found there, None for a function called by name; edit: the call to rewrite, None
    if exchanging the attribute is enough; in_loop: the call may run several times.
    """

    name: str
    owner: nn.Module
    slot: str
    label: str
    kind: type[nn.Module]
    original: object
    edit: Edit | None = None
    in_loop: bool = False
    keep: bool = False


@dataclass
class Found:
    """What a search through a model finds."""

    sites: list[Site] = field(default_factory=list)
    skipped: list[Skipped] = field(default_factory=list)
    left: Counter[str] = field(default_factory=Counter)


def find(model: nn.Module, which: Kinds, untie: bool) -> Found:
    """All sites of the kinds ``which``, in the order of the model's modules."""
    found = Found()
    closed: list[str] = []
    for name, owner in model.named_modules():
        if any(not path or name == path or name.startswith(f"{path}.") for path in closed):
            continue
        reason = _closed(owner)
        if reason is not None:
            found.skipped.append(Skipped(name or ROOT, type(owner).__name__, reason))
        if reason is not None or is_activation(owner) or kind_of(owner, which):
            closed.append(name)
            if reason is None and kind_of(owner, which) is None and not type(owner).__module__.startswith("proxact"):
                found.left[type(owner).__name__] += 1
            continue
        _look(name, owner, which, untie, found)
    return found


def _look(path: str, owner: nn.Module, which: Kinds, untie: bool, found: Found) -> None:
    name, prefix = path or ROOT, f"{path}." if path else ""
    edited = {(edit.method, edit.number) for edit in edits_of(owner)}
    reading = read(owner, original_class(owner), edited, which)
    if not can_specialise(original_class(owner)):
        for call in reading.calls:
            if call.slot is None:
                reason = f"{type(owner).__name__} copies itself in its own way: convert the model it was made from"
                found.skipped.append(Skipped(name, call.label, reason))
        reading.calls = []
    found.skipped += [Skipped(name, what, why) for what, why in reading.problems]
    for attribute, value in vars(owner).items():
        held = value.values() if isinstance(value, dict) else value if isinstance(value, (list, tuple)) else ()
        if not attribute.startswith("_") and any(kind_of(one, which) for one in held):
            reason = f"activations in a plain {type(value).__name__} are not replaced"
            found.skipped.append(Skipped(prefix + attribute, type(value).__name__, reason))
    taken = _Names(owner)
    for slot, value in [*owner._modules.items(), *vars(owner).items()]:
        kind = kind_of(value, which)
        if kind is None or (isinstance(value, nn.Module) and _closed(value)):
            continue
        label = type(value).__name__ if isinstance(value, nn.Module) else f"self.{slot}"
        if slot in reading.blocked:
            found.skipped.append(Skipped(prefix + slot, label, reading.blocked[slot]))
            continue
        site = Site(prefix + slot, owner, slot, label, kind, value)
        calls = [call for call in reading.calls if call.slot == slot]
        is_simple = len(calls) <= 1 and not any(call.place.in_loop for call in calls)
        if all(call.is_plain for call in calls) and (is_simple or not untie):
            found.sites.append(site)
            continue
        for index, call in enumerate(calls):
            own = slot if index == 0 else taken.new(slot)
            found.sites.append(_rewritten(replace(site, name=prefix + own, slot=own), call))
    for call in reading.calls:
        if call.slot is None:
            slot = taken.new(call.label.split(".")[-1].removesuffix("()").rstrip("_"))
            site = Site(prefix + slot, owner, slot, call.label, call.kind, None)
            found.sites.append(_rewritten(site, call))


def _rewritten(site: Site, call: Call) -> Site:
    # Inside an inner function a counter of passes would start anew with each call.
    in_loop = call.place.in_loop and not call.place.in_inner_function
    return replace(site, edit=Edit(call.method, call.place.number, site.slot), in_loop=in_loop)


class _Names:
    """New attribute names on a module: relu, relu_1, ..."""

    def __init__(self, owner: nn.Module) -> None:
        self.owner = owner
        self.given: set[str] = set()

    def new(self, stem: str) -> str:
        stem = stem if stem.isidentifier() else "activation"
        names = (stem if index == 0 else f"{stem}_{index}" for index in range(10**6))
        name = next(n for n in names if n not in self.given and not hasattr(self.owner, n))
        self.given.add(name)
        return name


_WRAPPERS = {"DistributedDataParallel", "FullyShardedDataParallel", "FSDPModule"}


def _closed(module: nn.Module) -> str | None:
    """Why a module cannot be looked into, or None."""
    if isinstance(module, torch.jit.ScriptModule):
        return "TorchScript: convert the model before it is scripted or traced"
    home, name = type(module).__module__, type(module).__name__
    if not _WRAPPERS.isdisjoint(cls.__name__ for cls in type(module).__mro__):
        return "new angles would not be synchronised: convert the model before it is wrapped"
    if ".quantized" in home or ".qat" in home:
        return "quantised: convert the float model" if "relu" in name.lower() or is_activation(module) else None
    return None


def select(sites: Sequence[Site], include: Sequence[str], exclude: Sequence[str]) -> tuple[list[Site], list[Site]]:
    """The sites to replace and those left out by the patterns; every pattern must match some name."""
    names = [site.name for site in sites]
    for argument, patterns in (("include", include), ("exclude", exclude)):
        for pattern in patterns:
            if not any(fnmatch.fnmatchcase(name, pattern) for name in names):
                shown = ", ".join(names[:8]) + (", ..." if len(names) > 8 else "") or "no sites"
                raise ValueError(f"{argument} must match the name of a site, got {pattern!r}; there are: {shown}")

    def wanted(name: str) -> bool:
        kept = not include or any(fnmatch.fnmatchcase(name, pattern) for pattern in include)
        return kept and not any(fnmatch.fnmatchcase(name, pattern) for pattern in exclude)

    return [s for s in sites if wanted(s.name)], [s for s in sites if not wanted(s.name)]
