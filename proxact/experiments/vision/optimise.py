"""Optimisers and what they decay."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

from ...nn import MPU
from .muon import Muon

DECAYS = ("all", "all-but-angles", "weights")


def groups(net: nn.Module, weight_decay: float, decay: str) -> list[dict[str, Any]]:
    """Two groups, with and without weight decay.

    Args:
        net: the network.
        weight_decay: of the first group.
        decay: ``"all"`` parameters, as the paper's recipes do; ``"all-but-angles"`` of the units; or ``"weights"`` of
            convolutions and linear layers alone: no norms, biases, class tokens or position embeddings.
    """
    angles = {id(unit.theta) for unit in net.modules() if isinstance(unit, MPU)}
    weights = {
        id(module.weight)
        for module in net.modules()
        if isinstance(module, (nn.Linear, nn.modules.conv._ConvNd))  # what has a matrix to shrink
    }
    chosen: dict[bool, list[nn.Parameter]] = {True: [], False: []}
    for parameter in net.parameters():
        if not parameter.requires_grad:
            continue
        decayed = {"all": True, "all-but-angles": id(parameter) not in angles, "weights": id(parameter) in weights}
        chosen[decayed[decay]].append(parameter)
    found = [
        {"params": chosen[True], "weight_decay": weight_decay},
        {"params": chosen[False], "weight_decay": 0.0},
    ]
    return [group for group in found if group["params"]]


def _by_shape(found: list[dict[str, Any]], rest_scale: float) -> list[dict[str, Any]]:
    """Each group's filter banks apart from its rest, whose learning rate is multiplied by ``rest_scale``."""
    parts = []
    for group in found:
        banks = [parameter for parameter in group["params"] if parameter.ndim == 4]
        rest = [parameter for parameter in group["params"] if parameter.ndim != 4]
        parts += [{**group, "params": banks}, {**group, "params": rest, "scale": rest_scale}]
    return [part for part in parts if part["params"]]


def sgd(
    net: nn.Module, momentum: float, nesterov: bool, weight_decay: float, decay: str, rest_scale: float = 1.0
) -> torch.optim.SGD:
    found = _by_shape(groups(net, weight_decay, decay), rest_scale)
    return torch.optim.SGD(found, lr=0.1, momentum=momentum, nesterov=nesterov)


def muon(
    net: nn.Module, momentum: float, nesterov: bool, weight_decay: float, decay: str, rest_scale: float = 1.0
) -> torch.optim.Optimizer:
    """Convolutions by orthogonal steps, which keep their norms instead of decaying them; the rest by SGD."""
    found = _by_shape(groups(net, weight_decay, decay), rest_scale)
    for group in found:
        if group["params"][0].ndim == 4:
            group |= {"orthogonal": True, "weight_decay": 0.0}
    return Muon(found, momentum=momentum, nesterov=nesterov)


OPTIMIZERS = {"sgd": sgd, "muon": muon}
