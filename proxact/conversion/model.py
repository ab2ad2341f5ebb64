"""Exchange the activations of a model."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from torch import nn

from .install import Snapshot, uninstall
from .kinds import POINTWISE, Kinds, kind_of
from .plan import Plan, make_plan
from .report import ROOT, Replaced, Report, Skipped, Untied
from .sites import find, select
from .study import put_in
from .target import Factory, Target, is_relu
from .verify import check_unchanged
from .watch import run


def convert(
    model: nn.Module,
    to: str | Factory = "mpu2",
    *,
    which: type[nn.Module] | Sequence[type[nn.Module]] = POINTWISE,
    include: str | Sequence[str] | None = None,
    exclude: str | Sequence[str] | None = None,
    untie: bool = True,
    example_input: Any = None,
    verify: bool = True,
    dry_run: bool = False,
) -> tuple[nn.Module, Report]:
    """Exchange the activations of a model, in place, and report what was done.

    Activation modules are exchanged where they stand. Calls of functions (``F.relu(x)``, ``x.relu()``, ...) and further
    calls of a shared module are found in the source of the methods that ``forward`` reaches; the module that makes them
    gets a subclass of its class, with these single calls sent to modules of their own (``relu``, ``relu_1``, ...).
    Names of parameters stay. What cannot be replaced is listed in the report.

    Only the kinds in ``which`` are replaced. Gates (the sigmoid of squeeze-excite or GLU, LSTM) and softmax are not
    among them; the SiLU in a SwiGLU is, and can be left out by ``exclude``.

    Args:
        model: changed in place and returned; a model that is itself an activation is returned as a new module.
        to: a name of :func:`proxact.names`, or a callable that returns a new module for each site. It is given ``dim``,
            the channel axis, if it takes that argument: 1 after convolutions and batch norm, -1 after linear layers
            and layer norm, found per site.
        which: classes to replace; the functions of torch that compute the same belong to them.
        include: patterns as in a shell (``"layer1.*"``), matched against the names of the sites, where a loop counts as
            one; none means all.
        exclude: patterns of sites to leave.
        untie: give each call of a shared activation its own module, and each pass of a loop. Calls of which only one is
            made, on two sides of a branch, have one together. If not, shared ones stay shared.
        example_input: a tensor, a tuple of arguments or a dict of keyword arguments for ``model``. With it the channel
            axes are checked on the data, and activations computed where no source shows them (``getattr(F, name)``) are
            found and listed.
        verify: compare the outputs for ``example_input`` before and after, in evaluation mode, where every site was
            ReLU and is an MPU that equals it. A difference above 1e-5 undoes the conversion and raises.
        dry_run: change nothing, only report.

    Returns:
        the model and a :class:`Report`.

    Example:
        >>> model, report = convert(nn.Sequential(nn.Linear(4, 4), nn.ReLU()), example_input=torch.ones(1, 4))
        >>> print(report)
        replaced 1 site (ReLU) by mpu2
          site  was   now  axis  channels
          1     ReLU  MPU  -1    4
        outputs: unchanged, largest difference 0
    """
    if not isinstance(model, nn.Module):
        raise TypeError(f"model must be an nn.Module, got {model!r}")
    target = Target(to)
    kinds = _kinds(which)
    if kind_of(model, kinds):
        return _convert_root(model, to=to, which=which, example_input=example_input, verify=verify, dry_run=dry_run)
    before = _first_run(model, example_input) if example_input is not None else None
    found = find(model, kinds, untie)
    chosen, left_out = select(found.sites, _patterns("include", include), _patterns("exclude", exclude))
    plan = make_plan(model, [*chosen, *(replace(s, keep=True) for s in left_out)], kinds, target, untie, example_input)
    skipped = [*found.skipped, *(Skipped(s.name, s.label, "left out by include or exclude") for s in left_out)]
    skipped += plan.skipped
    skipped += [missed for missed in plan.missed if not _is_listed(missed.name, skipped)]
    report = Report(target.name, _replaced(plan), _untied(plan), plan.tied, skipped, dict(found.left), dry_run=dry_run)
    if dry_run:
        report.verification = "not compared: a dry run"
        return model, report
    snapshot = Snapshot(step.site.owner for step in plan.steps)
    put_in([step.site for step in plan.steps], [step.new for step in plan.steps])
    try:
        report.verified, report.verification = _verify(model, plan, example_input, before, verify)
    except BaseException:
        snapshot.restore()
        raise
    return model, report


def revert(model: nn.Module) -> nn.Module:
    """Put back what :func:`convert` exchanged, in place, and return the model.

    Example:
        >>> model, _ = convert(nn.Sequential(nn.Linear(4, 4), nn.ReLU()))
        >>> revert(model)[1]
        ReLU()
    """
    if not isinstance(model, nn.Module):
        raise TypeError(f"model must be an nn.Module, got {model!r}")
    if "_proxact_was" in vars(model):
        return vars(model)["_proxact_was"]
    for module in list(model.modules()):
        uninstall(module)
    return model


def _convert_root(model: nn.Module, **arguments: Any) -> tuple[nn.Module, Report]:
    """Convert a model that is an activation: inside a container."""
    holder, report = convert(nn.Sequential(model), **arguments)
    report.replaced = [replace(site, name=ROOT) for site in report.replaced]
    report.skipped = [replace(site, name=ROOT) for site in report.skipped]
    new = next(holder.children())
    if new is not model:
        vars(new)["_proxact_was"] = model
    return new, report


def _is_listed(name: str, skipped: Sequence[Skipped]) -> bool:
    """Whether a module that was seen to compute an activation is in the list: itself, its owner, or what it is in."""
    return any(
        name == one.name or name == (one.name.rpartition(".")[0] or ROOT) or name.startswith(f"{one.name}.")
        for one in skipped
    )


def _verify(model: nn.Module, plan: Plan, example_input: Any, before: Any, verify: bool) -> tuple[bool | None, str]:
    replaced = [step for step in plan.steps if not step.site.keep]
    if not replaced:
        return None, "unchanged: nothing was replaced"
    if not all(step.site.kind is nn.ReLU and all(map(is_relu, step.modules)) for step in replaced):
        return None, "expected to change: not every site went from ReLU to an MPU that equals it"
    if example_input is None or not verify:
        return None, f"not compared: {'verify=False' if example_input is not None else 'no example_input'}"
    return check_unchanged(before, run(model, example_input))


def _replaced(plan: Plan) -> list[Replaced]:
    return [
        Replaced(name, step.site.label, type(module).__name__, step.channels.axis, step.channels.size, step.note)
        for step in plan.steps
        for name, module in zip(step.names, step.modules, strict=True)
    ]


def _untied(plan: Plan) -> list[Untied]:
    """Groups of sites that one module or function attribute served, and now several do."""
    groups: dict[int, dict[nn.Module, str]] = defaultdict(dict)
    for step in plan.steps:
        if step.site.original is not None:
            groups[id(step.site.original)] |= zip(step.modules, step.names, strict=True)
    names = [tuple(group.values()) for group in groups.values()]
    return [Untied(group[0], group) for group in names if len(group) > 1]


def _first_run(model: nn.Module, example_input: Any) -> Any:
    try:
        return run(model, example_input)
    except Exception as error:
        raise ValueError(f"example_input must be what the model takes, but the model failed on it: {error}") from error


def _kinds(which: object) -> Kinds:
    kinds = (which,) if isinstance(which, type) else tuple(which) if isinstance(which, Sequence) else ()
    if not kinds or not all(isinstance(kind, type) and issubclass(kind, nn.Module) for kind in kinds):
        raise TypeError(f"which must be classes of nn.Module, such as (nn.ReLU, nn.GELU), got {which!r}")
    return kinds


def _patterns(argument: str, patterns: str | Sequence[str] | None) -> tuple[str, ...]:
    listed = [] if patterns is None else [patterns] if isinstance(patterns, str) else patterns
    if not isinstance(listed, Sequence) or not all(isinstance(pattern, str) for pattern in listed):
        raise TypeError(f"{argument} must be a pattern such as 'layer1.*' or several of them, got {patterns!r}")
    return tuple(listed)
