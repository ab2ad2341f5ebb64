"""Decide for every site what comes there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from torch import nn

from .axes import Channels
from .install import PerPass
from .kinds import Kinds
from .report import ROOT, Skipped
from .sites import Site
from .study import Finding, study
from .target import Target, neighbour


@dataclass
class Step:
    """A site, the modules that come there (one for each pass, if it is in a loop), and what is known of it."""

    site: Site
    modules: list[nn.Module]
    channels: Channels = field(default_factory=Channels)
    note: str = ""

    @property
    def new(self) -> object:
        """What goes into the slot."""
        if self.site.keep:
            return self.site.original
        return self.modules[0] if len(self.modules) == 1 else PerPass(self.modules)

    @property
    def names(self) -> list[str]:
        name, many = self.site.name, len(self.modules) > 1
        return [f"{name}.{i}" if many else name for i, _ in enumerate(self.modules)]


@dataclass
class Plan:
    """The steps to take, the names of activations that stay tied, and what was skipped."""

    steps: list[Step] = field(default_factory=list)
    tied: list[str] = field(default_factory=list)
    skipped: list[Skipped] = field(default_factory=list)
    missed: list[Skipped] = field(default_factory=list)


def make_plan(
    model: nn.Module, sites: Sequence[Site], which: Kinds, target: Target, untie: bool, example_input: Any
) -> Plan:
    """Study the sites and make their new activations; the model is as before afterwards."""
    plan = Plan()
    findings, missed = study(model, sites, which, example_input)
    names = {module: name or ROOT for name, module in model.named_modules()}
    reason = "called where no source of the model shows it"
    plan.missed = [Skipped(names[module], function, reason) for module, function in missed]
    shared: dict[tuple[int, int | None], nn.Module] = {}
    for site, finding in zip(sites, findings, strict=True):
        if site.keep:
            plan.steps.append(Step(site, []))
        elif target.takes_dim and finding.problem:
            plan.skipped.append(Skipped(site.name, site.label, finding.problem))
            plan.steps.append(Step(replace(site, keep=True), []))
        else:
            plan.steps.append(_step(model, site, finding, target, None if untie else shared))
            if len(plan.steps[-1].modules) == 1 and (finding.calls > 1 or (site.in_loop and not finding.calls)):
                plan.tied.append(site.name)
    plan.steps = _needed(plan.steps)
    return plan


def _needed(steps: Sequence[Step]) -> list[Step]:
    """Without the sites that stay, unless other calls of the same module go: then their calls need their own slot."""
    split = {(step.site.owner, id(step.site.original)) for step in steps if step.modules and step.site.edits}
    return [
        step
        for step in steps
        if step.modules or (step.site.original is not None and (step.site.owner, id(step.site.original)) in split)
    ]


def _step(
    model: nn.Module,
    site: Site,
    finding: Finding,
    target: Target,
    shared: dict[tuple[int, int | None], nn.Module] | None,
) -> Step:
    parameter = neighbour(_ancestors(model, site))
    per_pass = site.in_loop and finding.calls > 1 and shared is None
    axis = finding.channels.axis
    modules = [target.make(axis, parameter, site.owner.training) for _ in range(finding.calls if per_pass else 1)]
    if shared is not None and site.original is not None:
        modules = [shared.setdefault((id(site.original), axis), modules[0])]
    if per_pass:
        site = replace(site, edits=tuple(replace(edit, per_pass=True) for edit in site.edits))
    notes = [finding.note if target.takes_dim else "", _padding(modules[0], finding.channels), _hooks(site.original)]
    return Step(site, modules, finding.channels, "; ".join(note for note in notes if note))


def _ancestors(model: nn.Module, site: Site) -> list[tuple[nn.Module, str]]:
    """(module, name of the child towards the site), from the owner of the site up to the model."""
    path, pairs = site.name.split("."), []
    for depth in range(len(path) - 1, -1, -1):
        pairs.append((model.get_submodule(".".join(path[:depth])), path[depth]))
    return pairs


def _padding(module: nn.Module, channels: Channels) -> str:
    m, remainder = getattr(module, "m", 1), getattr(module, "remainder", "")
    if channels.size is None or channels.size % m == 0:
        return ""
    done = "padded" if remainder == "pad" else f"remainder={remainder!r}"
    return f"{channels.size} channels are no multiple of {m}: {done}"


def _hooks(original: object) -> str:
    kinds = ("_forward_hooks", "_forward_pre_hooks", "_backward_hooks", "_backward_pre_hooks")
    count = sum(len(getattr(original, kind, ())) for kind in kinds)
    return f"{count} hooks stay with the old module" if count else ""
