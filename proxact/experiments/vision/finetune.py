"""Start from the network of a finished run, with its activations or with others in their place."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch import nn

from ..runs import RunError
from .units import is_unit, unit_arguments

if TYPE_CHECKING:
    from ..cifar10 import Cifar10


@dataclass(frozen=True)
class Start:
    """A finished run of ``proxact cifar10``: its identity and its weights."""

    label: str
    config: dict[str, Any]
    state: dict[str, torch.Tensor]

    def net(self, run: Cifar10) -> nn.Module:
        """Its network. If it was trained with ReLU and ``run`` asks for another activation, that is put in its place;
        an MPU of m = 2 at pi/4 leaves the outputs unchanged, which is checked."""
        from ..cifar10 import Cifar10, build

        own = {name: value for name, value in self.config.items() if name in Cifar10.__dataclass_fields__}
        # How it was synchronised says nothing about its weights, and without a GPU it may not be asked for.
        net = build(Cifar10(**{**own, "sync_bn": False}), len(self.state["head.bias"]))
        net.load_state_dict(self.state)
        before = self.config["activation"]
        if run.activation == before:
            for name in ("grouping", "alpha", "learn_angle") if is_unit(before) else ():
                if getattr(run, name) != own[name]:
                    raise RunError(f"{name} must be {own[name]}, that of {self.label}, got {getattr(run, name)}")
            return net
        if before != "relu":
            raise RunError(f"activation must be {before}, that of {self.label}, or start from a run with relu")
        from ...conversion import convert
        from ...registry import get

        arguments = unit_arguments(run.activation, run.grouping, run.alpha, run.learn_angle)
        example = torch.randn(4, 3, 32, 32, generator=torch.Generator().manual_seed(0))
        converted, report = convert(
            net, lambda dim=1: get(run.activation, **{"dim": dim, **arguments}), which=nn.ReLU, example_input=example
        )
        print(f"{len(report.replaced)} activations exchanged; outputs: {report.verification}", flush=True)
        return converted


def read_start(folder: Path) -> Start:
    """The run in a folder.

    Args:
        folder: with ``config.json``, ``summary.json`` and ``model.pt``.
    """
    for name in ("config.json", "summary.json", "model.pt"):
        if not (folder / name).exists():
            raise RunError(f"from must be the folder of a finished run of proxact cifar10; {folder} has no {name}")
    found = json.loads((folder / "config.json").read_text())
    if found["experiment"] != "cifar10":
        raise RunError(f"from must be a run of proxact cifar10, {folder} is one of {found['experiment']}")
    path = folder / "model.pt"
    digest = hashlib.sha256(path.read_bytes()).hexdigest()[:12]
    config = {**found["config"], "activation": found["activation"], "seed": found["seed"]}
    label = f"{config['preset']}/{config['model']}/{found['activation']}/seed{found['seed']} {digest}"
    return Start(label, config, torch.load(path, map_location="cpu", weights_only=True))
