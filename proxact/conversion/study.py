"""What is known of every site: its channels and how often it is called."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Any

from torch import nn

from .axes import UNKNOWN, Channels
from .install import PerPass, Snapshot, install
from .kinds import Kinds
from .rewrite import Edit
from .sites import Site
from .trace import Probe, StaticStudy
from .watch import Watch, run

_UNSEEN = "no call of it was found: its angle may get no gradient"
_BY_RANK = "no producer known: the rank of the input decides the axis"


@dataclass(frozen=True)
class Finding:
    """The channels at a site; a remark; why it cannot be replaced; calls in one call of its owner, 0 if not known."""

    channels: Channels
    note: str
    problem: str
    calls: int


def study(
    model: nn.Module, sites: Sequence[Site], which: Kinds, example_input: Any
) -> tuple[list[Finding], list[tuple[nn.Module, str]]]:
    """Findings for all sites, and the (module, function name) of activations that run elsewhere.

    Probes stand at the sites meanwhile; they are gone afterwards.
    """
    probes = [Probe() for _ in sites]
    owners = [site.owner for site in sites]
    owner_of = dict(zip(probes, owners, strict=True))
    snapshot = Snapshot(owners)
    static, watch = StaticStudy(), Watch(model, which, owner_of)
    try:
        put_in(sites, probes)
        static.follow(model, owner_of)
        if example_input is not None:
            with watch.watching():
                run(model, example_input)
    finally:
        snapshot.restore()
    findings = []
    for probe in probes:
        calls = max(static.calls[probe], watch.calls[probe])
        findings.append(_judge(static.seen[probe], watch.seen[probe], watch.ranks[probe], calls))
    return findings, list(watch.missed)


def put_in(sites: Sequence[Site], values: Sequence[object]) -> None:
    """Install a value at each site; sites in loops get it as :class:`PerPass`, their calls count the passes."""
    slots: dict[nn.Module, dict[str, object]] = defaultdict(dict)
    edits: dict[nn.Module, list[Edit]] = defaultdict(list)
    for site, value in zip(sites, values, strict=True):
        new = site.edits
        if isinstance(value, Probe) and site.in_loop and new:
            value, new = PerPass([value]), tuple(replace(edit, per_pass=True) for edit in new)
        slots[site.owner][site.slot] = value
        edits[site.owner] += new
    for owner, values_of_owner in slots.items():
        install(owner, values_of_owner, edits[owner])


def _judge(static: Collection[Channels], dynamic: Collection[Channels], ranks: Collection[int], calls: int) -> Finding:
    """Put together what the trace and the run say; where both speak, the run is right."""
    traced, met = _agreed(static, ranks), _agreed(dynamic, ranks)
    channels, note = (met, "") if met.axis is not None else (traced, "")
    if met.axis is not None and traced.axis is not None:
        if any(met.axis % rank != traced.axis % rank for rank in ranks):
            note = f"the trace says axis {traced.axis}, the data {met.axis}"
        else:
            channels = Channels(traced.axis, met.size)
    if channels.axis is not None:
        return Finding(channels, note, "", calls)
    if any(rank not in (1, 2, 4, 5) for rank in ranks):
        problem = f"the channel axis of its {max(ranks)}-D input cannot be told"
        return Finding(UNKNOWN, "", problem, calls)
    if ranks and max(ranks) <= 2:
        return Finding(Channels(-1), "", "", calls)
    return Finding(UNKNOWN, _BY_RANK if static or dynamic else _UNSEEN, "", calls)


def _agreed(seen: Collection[Channels], ranks: Collection[int]) -> Channels:
    known = [c for c in seen if c.axis is not None and all(-rank <= c.axis < rank for rank in ranks)]
    if len({c.axis for c in known}) != 1:
        return UNKNOWN
    sizes = {c.size for c in known}
    return Channels(known[0].axis, sizes.pop() if len(sizes) == 1 else None)
