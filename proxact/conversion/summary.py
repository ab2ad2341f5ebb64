"""List the activations of a model that this library made."""

from __future__ import annotations

from dataclasses import dataclass

from torch import nn

from ..nn import MPU
from .install import PerPass, converted_slots
from .report import ROOT, table


@dataclass(frozen=True)
class Row:
    """One activation: its path, class, group size, channel axis and angles (``()`` where there are none)."""

    name: str
    kind: str
    m: int | None
    axis: int | str | None
    alpha: tuple[float, ...]


class Summary(list[Row]):
    """The rows of :func:`summary`; ``print`` shows them as a table."""

    def __str__(self) -> str:
        rows = [(row.name, row.kind, row.m, row.axis, _angles(row.alpha)) for row in self]
        return table(("site", "kind", "m", "axis", "alpha"), rows) if rows else "no activations of proxact"


def summary(model: nn.Module) -> Summary:
    """Every activation of this library in a model, and whatever :func:`proxact.convert` put in, with its angle.

    Example:
        >>> print(summary(nn.Sequential(nn.Linear(4, 6), proxact.MPU(3, dim=-1))))
          site  kind  m  axis  alpha
          1     MPU   3  -1    0.7854
    """
    if not isinstance(model, nn.Module):
        raise TypeError(f"model must be an nn.Module, got {model!r}")
    converted = set()
    for name, owner in model.named_modules():
        for slot in converted_slots(owner):
            path = f"{name}.{slot}" if name else slot
            new = owner._modules[slot]
            converted |= {f"{path}.{i}" for i in range(len(new))} if isinstance(new, PerPass) else {path}
    return Summary(
        _row(name or ROOT, module)
        for name, module in model.named_modules()
        if name in converted or type(module).__module__.startswith("proxact.nn")
    )


def _row(name: str, module: nn.Module) -> Row:
    alpha: tuple[float, ...] = ()
    if isinstance(module, MPU) and module.theta.device.type != "meta":
        alpha = tuple(module.alpha.detach().tolist())
    return Row(name, type(module).__name__, getattr(module, "m", None), getattr(module, "dim", None), alpha)


def _angles(alpha: tuple[float, ...]) -> str | None:
    if not alpha:
        return None
    if len(alpha) == 1:
        return f"{alpha[0]:.4f}"
    return f"{min(alpha):.4f} to {max(alpha):.4f} ({len(alpha)})"
