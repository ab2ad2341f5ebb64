"""Single activations over sizes, layouts, dtypes and m; training steps; each as ratios to ReLU."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from ..models import cifar_resnet, mlp
from ..nn import MPU, WTA
from ..project import cone
from .timing import interleaved, ratios


@dataclass(frozen=True)
class Case:
    """One shape. ``layout``: nchw, channels_last (both along channels), last, split (along the last axis) or flat."""

    layout: str
    shape: tuple[int, ...]
    dtype: torch.dtype = torch.float32
    ms: tuple[int, ...] = (2, 3, 4, 8)
    backward: bool = True

    @property
    def elements(self) -> int:
        return torch.Size(self.shape).numel()

    @property
    def label(self) -> str:
        kind = str(self.dtype).removeprefix("torch.")
        return f"{self.layout} {'x'.join(map(str, self.shape))} {kind} {'fwd+bwd' if self.backward else 'fwd'}"


def cases(quick: bool) -> Iterator[Case]:
    images = [(128, 64, 32, 32)] if quick else [(8, 64, 32, 32), (32, 64, 32, 32), (128, 64, 32, 32)]
    for shape in images:
        yield Case("nchw", shape)
        yield Case("channels_last", shape)
    if not quick:
        yield Case("flat", (128, 64, 32, 32), ms=(2, 3))
        yield Case("nchw", (128, 64, 32, 32), backward=False)
        for layout in ("nchw", "channels_last"):
            yield Case(layout, (128, 66, 32, 32), ms=(3,))  # 3 divides the channels: no remainder
        yield Case("last", (8192, 1026), ms=(3,))
        yield Case("last", (12, 128))
    rows = [16, 256, 1024, 8192] if quick else [2, 4, 16, 32, 128, 512, 1024, 2048, 8192]
    for count in rows:
        yield Case("last", (count, 1024))
    if not quick:
        yield Case("last", (65536, 1024), ms=(2,))
        yield Case("split", (8192, 1024))
        yield Case("last", (8192, 1024), backward=False)
    yield Case("nchw", (128, 64, 32, 32), torch.bfloat16, ms=(2, 3))
    yield Case("last", (8192, 1024), torch.bfloat16, ms=(2, 3))
    if not quick:
        yield Case("nchw", (128, 64, 32, 32), torch.bfloat16, ms=(2, 3), backward=False)


def measure(case: Case, rounds: int, seconds: float, with_compile: bool) -> dict[str, dict[str, float]]:
    """Ratios to ``F.relu`` of the usual activations, the plain function, the kernel, and it in a compiled graph."""
    if with_compile:
        torch.compiler.reset()  # else the ninth case would run uncompiled: the limit on recompiling one function
    x, g = (torch.randn(case.shape).to(case.dtype) for _ in range(2))
    if case.layout == "channels_last":
        x, g = (value.contiguous(memory_format=torch.channels_last) for value in (x, g))
    x.requires_grad_(case.backward)
    dim: Any = {"nchw": 1, "channels_last": 1, "flat": "flat"}.get(case.layout, -1)
    grouping = "split" if case.layout == "split" else "adjacent"
    slope = torch.full((1,), 0.25).to(case.dtype).requires_grad_(case.backward)
    functions: dict[str, Callable[[Tensor], Tensor]] = {
        "relu": F.relu,
        "leaky_relu": F.leaky_relu,
        "prelu": lambda v: F.prelu(v, slope),
        "gelu": F.gelu,
        "silu": F.silu,
        "wta": WTA(dim=dim),
    }
    axis = -1 if dim == "flat" else dim
    parameters = {"prelu": slope}
    for m in case.ms:
        unit = MPU(m, dim=dim, grouping=grouping)
        functions[f"mpu{m}"], parameters[f"mpu{m}"] = unit, unit.theta
    for m in case.ms:
        alpha = torch.tensor([0.8], requires_grad=case.backward)

        def plain(v: Tensor, m: int = m, alpha: Tensor = alpha) -> Tensor:
            v = v.flatten(1) if dim == "flat" else v
            return cone(v, alpha, m, axis, grouping=grouping, impl="torch")

        functions[f"plain{m}"], parameters[f"plain{m}"] = plain, alpha
        if with_compile and m == case.ms[0]:
            unit = MPU(m, dim=dim, grouping=grouping)
            functions[f"compiled{m}"], parameters[f"compiled{m}"] = torch.compile(unit, dynamic=False), unit.theta
    candidates = {
        name: _step(function, x, g, parameters.get(name), case.backward) for name, function in functions.items()
    }
    candidates["memcpy"] = _copy(x.detach(), 5 if case.backward else 2)
    return ratios(interleaved(candidates, rounds, seconds), "relu")


def _step(
    function: Callable[[Tensor], Tensor], x: Tensor, g: Tensor, parameter: Tensor | None, backward: bool
) -> Callable[[], None]:
    """One forward pass, or a forward and a backward pass that leaves no gradient behind, as optimisers do."""

    def call() -> None:
        y = function(x)
        if backward:
            y.backward(g.reshape(y.shape))
            x.grad = None
            if parameter is not None:
                parameter.grad = None

    return call


def _copy(x: Tensor, streams: int) -> Callable[[], None]:
    """The physical limit: ReLU reads and writes x (2 streams), and its backward reads two and writes one (3)."""
    target = torch.empty_like(x)

    def call() -> None:
        for _ in range(streams // 2):
            target.copy_(x)
        if streams % 2:
            target.view(-1)[: x.numel() // 2].copy_(x.view(-1)[: x.numel() // 2]) if x.is_contiguous() else None

    return call


def training_steps(quick: bool, rounds: int) -> dict[str, dict[str, dict[str, float]]]:
    """Whole training steps with MPU in place of ReLU."""
    names = ("relu", "mpu2", "mpu3")
    found = {}
    x, target = torch.randn(4096, 60), torch.randn(4096, 8)
    nets: dict[str, nn.Module] = {name: mlp(activation=name) for name in names}
    found["MLP 60-256-128-64-8, batch 4096"] = _train(nets, x, target, F.mse_loss, 4 * rounds)
    images, labels = torch.randn(128, 3, 32, 32), torch.randint(0, 10, (128,))
    nets = {name: cifar_resnet("resnet18", name) for name in names[:2]}
    found["ResNet18, batch 128, 32x32"] = _train(nets, images, labels, F.cross_entropy, 3 if quick else 8)
    return found


def _train(
    nets: dict[str, nn.Module], x: Tensor, target: Tensor, loss: Callable[[Tensor, Tensor], Tensor], rounds: int
) -> dict[str, dict[str, float]]:
    def step(net: nn.Module) -> Callable[[], None]:
        optimizer = torch.optim.SGD(net.parameters(), lr=1e-3, momentum=0.9)

        def call() -> None:
            optimizer.zero_grad()
            loss(net(x), target).backward()
            optimizer.step()

        return call

    return ratios(interleaved({name: step(net) for name, net in nets.items()}, max(rounds, 3), 600.0), "relu")
