"""Parameter groups for optimisers."""

from __future__ import annotations

from typing import Any

from torch import nn


def param_groups(
    model: nn.Module,
    lr: float,
    weight_decay: float = 0.0,
    *,
    angle_lr: float | None = None,
    decay_norm_and_bias: bool = True,
    **options: Any,
) -> list[dict[str, Any]]:
    """The parameters of a model in groups for any optimiser of torch, each parameter once.

    Angles, that is what the activations of this library hold, have their own learning rate and no weight decay.

    Args:
        model: with or without such activations.
        lr: for everything else.
        weight_decay: for everything else.
        angle_lr: for the angles; ``lr`` if not given.
        decay_norm_and_bias: if not, parameters with less than two axes (biases, scales of norms) have no weight decay.
        options: further settings for all groups, such as ``momentum``.

    Example:
        >>> model = nn.Sequential(nn.Linear(4, 4), proxact.MPU())
        >>> optimizer = torch.optim.SGD(param_groups(model, lr=0.1, weight_decay=1e-4, angle_lr=0.01))
    """
    if not isinstance(model, nn.Module):
        raise TypeError(f"model must be an nn.Module, got {model!r}")
    for name, value in (("lr", lr), ("weight_decay", weight_decay), ("angle_lr", lr if angle_lr is None else angle_lr)):
        if not isinstance(value, (int, float)) or isinstance(value, bool) or not value >= 0:
            raise ValueError(f"{name} must be a number >= 0, got {value!r}")
    angles = {
        parameter
        for module in model.modules()
        if type(module).__module__.startswith("proxact.nn")
        for parameter in module.parameters(recurse=False)
    }
    decayed, plain, own = [], [], []
    for parameter in model.parameters():
        if parameter in angles:
            own.append(parameter)
        elif decay_norm_and_bias or parameter.ndim >= 2:
            decayed.append(parameter)
        else:
            plain.append(parameter)
    groups = [
        {"params": decayed, "lr": lr, "weight_decay": weight_decay, **options},
        {"params": plain, "lr": lr, "weight_decay": 0.0, **options},
        {"params": own, "lr": lr if angle_lr is None else angle_lr, "weight_decay": 0.0, **options},
    ]
    return [group for group in groups if group["params"]]
