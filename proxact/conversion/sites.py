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
from .walk import are_alternatives


@dataclass(frozen=True)
class Site:
    """One place that calls an activation.

    name: path of the module that will stand there; owner: the module that calls it; slot: its attribute there;
    original: the module or function found there, None for a function called by name; edits: the calls to rewrite, none
    if exchanging the attribute is enough; in_loop: a call may run several times.
    """

    name: str
    owner: nn.Module
    slot: str
    label: str
    kind: type[nn.Module]
    original: object
    edits: tuple[Edit, ...] = ()
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
    """Find the sites of one module."""
    name, prefix = path or ROOT, f"{path}." if path else ""
    edited = {(edit.method, edit.number) for edit in edits_of(owner)}
    reading = read(owner, original_class(owner), edited, which)
    if not can_specialise(original_class(owner)):
        reason = f"{type(owner).__name__} copies itself in its own way: convert the model it was made from"
        reading.problems += [(call.label, reason) for call in reading.calls if call.slot is None]
        reading.calls = []
    found.skipped += [Skipped(name, what, why) for what, why in reading.problems]
    for attribute, value in vars(owner).items():
        held = value.values() if isinstance(value, dict) else value if isinstance(value, (list, tuple)) else ()
        if not attribute.startswith("_") and any(kind_of(one, which) for one in held):
            what = type(value).__name__
            found.skipped.append(Skipped(prefix + attribute, what, f"activations in a plain {what} are not replaced"))
    names = _Names(owner)
    for slot, value in [*owner._modules.items(), *vars(owner).items()]:
        kind = kind_of(value, which)
        if kind is None or (isinstance(value, nn.Module) and _closed(value)):
            continue
        label = type(value).__name__ if isinstance(value, nn.Module) else f"self.{slot}"
        if slot in reading.blocked:
            found.skipped.append(Skipped(prefix + slot, label, reading.blocked[slot]))
        else:
            site = Site(prefix + slot, owner, slot, label, kind, value)
            found.sites += _of_slot(site, [call for call in reading.calls if call.slot == slot], prefix, names, untie)
    for kind in dict.fromkeys(call.kind for call in reading.calls):
        for turn in _turns([call for call in reading.calls if call.slot is None and call.kind is kind]):
            slot = names.new(turn[0].label.split(".")[-1].removesuffix("()").rstrip("_"))
            found.sites.append(_rewritten(Site(prefix + slot, owner, slot, turn[0].label, kind, None), turn))


def _of_slot(site: Site, calls: Sequence[Call], prefix: str, names: _Names, untie: bool) -> list[Site]:
    """The sites that the calls of one module or function attribute make; its own slot is the first."""
    turns = _turns(calls) if untie else [list(calls)]
    is_shared = untie and (len(turns) > 1 or any(call.place.in_loop for call in calls))
    if not is_shared and all(call.is_plain for call in calls):
        return [site]
    slots = [site.slot, *(names.new(site.slot) for _ in turns[1:])]
    own = [replace(site, name=prefix + slot, slot=slot) for slot in slots]
    return [_rewritten(one, turn) for one, turn in zip(own, turns, strict=True)]


def _turns(calls: Sequence[Call]) -> list[list[Call]]:
    """The first, second, ... calls on the way through a method. Calls on two sides of a branch can have the same turn.

    They share a site: what is learnt on one side (``if self.training``) must hold on the other.
    """
    turns: list[list[Call]] = []
    for call in calls:
        before = [i for i, turn in enumerate(turns) for c in turn if not are_alternatives(c.place, call.place)]
        index = max(before, default=-1) + 1
        if index == len(turns):
            turns.append([])
        turns[index].append(call)
    return turns


def _rewritten(site: Site, calls: Sequence[Call]) -> Site:
    # Inside an inner function a counter of passes would start anew with each call.
    in_loop = any(call.place.in_loop and not call.place.in_inner_function for call in calls)
    return replace(site, edits=tuple(Edit(c.method, c.place.number, site.slot) for c in calls), in_loop=in_loop)


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
