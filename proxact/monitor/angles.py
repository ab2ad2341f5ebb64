"""What happens to the angles, and to the groups they project, while a network trains."""

from __future__ import annotations

import os
import warnings
from pathlib import Path
from typing import Any

import torch
from torch import nn

from .._checks import check_positive_int
from ..nn import MPU
from .collapse import CollapseWarning, collapse
from .rows import drop_rows_after, write_rows
from .site import Site, Switch

_NOTHING_SEEN = (
    "no unit saw a forward pass in training mode, so only angles are recorded. If the model is compiled, make the "
    "monitor before its first forward pass"
)


class AngleMonitor:
    """Record the angle of every :class:`proxact.MPU` of a model and the shares of groups it leaves, moves and kills.

    Call :meth:`step` after the optimiser's step. The first step and every ``every``-th are recorded: the angles as they
    then are, the groups of all forward passes in training mode since the step before. A recording takes about 1.5 ms
    for each unit on one core of a CPU, a step in between some 4 microseconds. Nothing of the model changes: hooks only
    read, its state_dict has no new entries, copies and pickles of it are not watched; :meth:`close` removes the hooks.

    With torch.compile, make the monitor before the first forward pass: hooks that come later are not in the graph. They
    do not break the graph; recorded and other steps are compiled apart. With DistributedDataParallel each process
    watches its share of the batch and the first one writes; there is no communication.

    Args:
        model: holds the units.
        every: steps from one recording to the next.
        path: file to which the rows are appended as JSON lines as they come. ``angles.jsonl`` in the folder of a run
            is drawn by ``proxact report``.
        start: number of the step from which training goes on; rows of the file after it are dropped.
        window: recordings that a group has to be 0 in, for every sample looked at, to count as dead.
        elements: of an input that are looked at, in whole samples from all over the batch; this bounds the cost.

    Attributes:
        rows: a dict for each recorded step and unit: ``step``, ``site`` (the name in the model), ``m``, ``angle``
            (radians; the mean if the unit has several), ``angle_min``, ``angle_max``, the shares ``inside``,
            ``surface`` and ``zero`` (None if there was no forward pass), ``groups`` of channels and how many of them
            are ``dead``, and ``collapse``: None, "angle", "zero" or "identity". A unit's first collapse of each kind
            is also a :class:`CollapseWarning`.

    Example:
        >>> model = torch.nn.Sequential(torch.nn.Linear(4, 4), proxact.MPU())
        >>> optimiser = torch.optim.SGD(model.parameters(), 0.01)
        >>> with AngleMonitor(model) as monitor:
        ...     for _ in range(3):
        ...         optimiser.zero_grad()
        ...         model(torch.randn(32, 4)).square().mean().backward()
        ...         optimiser.step()
        ...         monitor.step()
        >>> [(row["step"], row["site"]) for row in monitor.rows]
        [(1, '1'), (2, '1'), (3, '1')]
    """

    def __init__(
        self,
        model: nn.Module,
        every: int = 1,
        path: str | os.PathLike[str] | None = None,
        *,
        start: int = 0,
        window: int = 10,
        elements: int = 2**16,
    ) -> None:
        check_positive_int("every", every)
        check_positive_int("window", window)
        check_positive_int("elements", elements)
        if isinstance(start, bool) or not isinstance(start, int) or start < 0:
            raise ValueError(f"start must be an int >= 0, got {start!r}")
        units = {_plain(name): unit for name, unit in model.named_modules() if isinstance(unit, MPU)}
        if not units:
            raise ValueError(f"model must have at least one proxact.MPU, got a {type(model).__name__} without")
        self.every = every
        self.path = Path(path) if path is not None and _is_first_process() else None
        self.rows: list[dict[str, Any]] = []
        self._steps = start
        self._start = start
        self._switch = Switch()
        self._sites = [Site(name, unit, window, elements, self._switch) for name, unit in units.items()]
        self._handles = [site.watch() for site in self._sites]
        self._warned: set[str] = set()
        if self.path is not None:
            drop_rows_after(start, self.path)
        self._arm()

    def step(self) -> None:
        """Count one step of the optimiser, and record if it is one to record."""
        self._steps += 1
        if self._is_recorded(self._steps) and self._handles:
            rows = [site.row(self._steps) for site in self._sites]
            for site, row in zip(self._sites, rows, strict=True):
                self._check(site, row)
            if all(row["groups"] is None for row in rows):
                self._warn("nothing", f"step {self._steps}: {_NOTHING_SEEN}", RuntimeWarning)
            self.rows += rows
            if self.path is not None:
                write_rows(rows, self.path, "a")
        self._arm()

    def close(self) -> None:
        """Remove the hooks. The rows stay."""
        for handle in self._handles:
            handle.remove()
        self._handles = []

    def to_json(self, path: str | os.PathLike[str]) -> None:
        """Write all rows as JSON lines."""
        write_rows(self.rows, Path(path))

    def __enter__(self) -> AngleMonitor:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _is_recorded(self, step: int) -> bool:
        return step % self.every == 0 or step == self._start + 1

    def _arm(self) -> None:
        self._switch.is_on = self._is_recorded(self._steps + 1)

    def _check(self, site: Site, row: dict[str, Any]) -> None:
        found = collapse(site.unit, row)
        row["collapse"] = found and found[0]
        if found:
            self._warn(site.name + found[0], f"{site.name}, step {row['step']}: {found[1]}", CollapseWarning)

    def _warn(self, key: str, message: str, kind: type[Warning]) -> None:
        if key not in self._warned:
            self._warned.add(key)
            warnings.warn(message, kind, stacklevel=4)


def _plain(name: str) -> str:
    """Without what DistributedDataParallel and torch.compile put before it."""
    return name.replace("_orig_mod.", "").removeprefix("module.")


def _is_first_process() -> bool:
    distributed = torch.distributed
    return not (distributed.is_available() and distributed.is_initialized()) or distributed.get_rank() == 0
