"""The paper's first experiment: shallow networks fit two functions from R^2 to R^2.

7 activations x 2 targets x hidden widths 2..39 x 3 seeds = 1,596 trainings of 50 epochs, in minutes on two cores: all
widths and seeds of one activation are one batched computation (population.py), with the numbers each network has alone.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

import torch
from torch import Tensor, nn

from .._checks import check_positive_int
from ..project import cone
from ..registry import get
from .population import Population
from .progress import Progress
from .runs import Run

ACTIVATIONS = ("relu", "prelu", "leaky_relu", "wta", "maxout", "crelu", "mpu2")
TARGETS = ("cone", "leaky_relu")
LEARNING_RATES = {"cone": 5e-4, "leaky_relu": 1e-3}
GRID = (1e-4, 5e-4, 1e-3)
UNIT_ANGLE = math.atan(1.19)  # the published networks keep this tangent
TARGET_ANGLES = {"paper": math.pi / 3, "code": math.atan(math.pi / 3)}  # the code takes pi/3 for the tangent
_WEIGHTS = ([[0.9016, 0.1787], [0.0437, 0.5363]], [[0.5426, 0.4668], [0.4043, 0.9253]])
_EVALUATED_AT_ONCE = 2500


@dataclass(frozen=True)
class Fit:
    """What one batch of trainings does: one activation, one target, every width and seed."""

    activation: str
    target: str
    widths: tuple[int, ...] = tuple(range(2, 40))
    seeds: tuple[int, ...] = (1, 2, 3)
    epochs: int = 50
    batch: int = 128
    samples: int = 40_000
    test_samples: int = 10_000
    learning_rate: float = 5e-4
    target_angle: Literal["paper", "code"] = "paper"
    learn_angle: bool = False
    remainder: Literal["pad", "relu"] = "pad"
    dtype: Literal["float32", "float64"] = "float32"

    def __post_init__(self) -> None:
        for name in ("epochs", "batch", "samples", "test_samples"):
            check_positive_int(name, getattr(self, name))

    @property
    def label(self) -> str:
        """The run's folder below the experiment's: what differs from the paper's setting is named."""
        target = self.target + ("-code" if self.target == "cone" and self.target_angle == "code" else "")
        parts = [self.activation]
        if "mpu" in self.activation:
            parts += ["learned"] * self.learn_angle + ["remainder-relu"] * (self.remainder == "relu")
        if self.learning_rate != LEARNING_RATES[self.target]:
            parts.append(f"lr{self.learning_rate:g}")
        return f"{target}/{'-'.join(parts)}"


def parse_widths(value: str) -> tuple[int, ...]:
    """``"2:40"`` or ``"2:40:3"``, as in Python."""
    parts = value.split(":")
    if len(parts) not in (2, 3) or not all(part.isdigit() for part in parts):
        raise ValueError(f"widths must be start:stop or start:stop:step, such as 2:40, got {value!r}")
    found = tuple(range(*(int(part) for part in parts)))
    if not found or found[0] < 2:
        raise ValueError(f"widths must start at 2 or more and not be empty, got {value!r}")
    return found


def target_function(x: Tensor, target: str, angle: float) -> Tensor:
    """A2 s(A1 x) for samples x (n, 2); A1 and A2 have norm 1."""
    first, second = (torch.tensor(weights, dtype=torch.float64) for weights in _WEIGHTS)
    first, second = (weights / torch.linalg.matrix_norm(weights, 2) for weights in (first, second))
    hidden = x.double() @ first.T
    hidden = cone(hidden, angle) if target == "cone" else nn.functional.leaky_relu(hidden)
    return (hidden @ second.T).to(x.dtype)


def build_net(fit: Fit, width: int, seed: int) -> nn.Sequential:
    """One network, as it is trained alone. CReLU has twice as many outputs, Maxout twice as many inputs."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        if "mpu" in fit.activation:
            angle = {"alpha": UNIT_ANGLE, "learnable": fit.learn_angle, "remainder": fit.remainder}
            unit = get(fit.activation, dim=-1, **angle)
        else:
            unit = get(fit.activation, dim=-1)
        inputs, outputs = {"maxout": (2 * width, width), "crelu": (width, 2 * width)}.get(fit.activation, (width,) * 2)
        return nn.Sequential(nn.Linear(2, inputs), unit, nn.Linear(outputs, 2)).to(getattr(torch, fit.dtype))


def make_data(fit: Fit, seed: int) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """x and y to train on, x and y to test on; uniform on [-10, 10]^2, samples first."""
    generator = torch.Generator().manual_seed(seed)
    total = fit.samples + fit.test_samples
    x = (20 * torch.rand(total, 2, generator=generator, dtype=torch.float64) - 10).to(getattr(torch, fit.dtype))
    y = target_function(x, fit.target, TARGET_ANGLES[fit.target_angle])
    return x[: fit.samples], y[: fit.samples], x[fit.samples :], y[fit.samples :]


def epoch_order(fit: Fit, seed: int, epoch: int) -> Tensor:
    """The order of the samples: new in every epoch, the same for every activation and width."""
    return torch.randperm(fit.samples, generator=torch.Generator().manual_seed(1_000_003 * seed + epoch))


def learning_rate(fit: Fit, epoch: int) -> float:
    return fit.learning_rate * 0.9 ** (epoch // 10)


class Trainer:
    """All networks of one :class:`Fit` in one computation; its state can be saved after every epoch."""

    def __init__(self, fit: Fit) -> None:
        self.fit = fit
        self.population = Population([[build_net(fit, w, seed) for w in fit.widths] for seed in fit.seeds])
        data = [make_data(fit, seed) for seed in fit.seeds]
        self.x, self.y, self.x_test, self.y_test = (torch.stack(parts) for parts in zip(*data, strict=True))
        self.epoch = 0
        self.best = torch.full((len(fit.seeds), len(fit.widths)), math.inf, dtype=self.x.dtype)
        self.last = self.best

    def train_epoch(self) -> None:
        orders = [epoch_order(self.fit, seed, self.epoch) for seed in self.fit.seeds]
        x, y = _with_ones(_shuffled(self.x, orders)), _shuffled(self.y, orders)
        for start in range(0, self.fit.samples, self.fit.batch):
            part = slice(start, start + self.fit.batch)
            self.population.step(x[:, :, part], y[:, :, part], learning_rate(self.fit, self.epoch))
        self.epoch += 1
        self.last = self.test()
        self.best = torch.minimum(self.best, self.last)

    @torch.no_grad()
    def test(self) -> Tensor:
        """Mean squared errors on the test samples, (seeds, widths)."""
        x, y = (values.transpose(1, 2).contiguous() for values in (self.x_test, self.y_test))
        total = torch.zeros((), dtype=self.x.dtype)
        for start in range(0, x.shape[2], _EVALUATED_AT_ONCE):
            part = slice(start, start + _EVALUATED_AT_ONCE)
            errors = self.population.errors(_with_ones(x[:, :, part]), y[:, :, part])
            total = total + errors * y[:, :, part].shape[2]
        return self.population.in_order(total / x.shape[2])

    def state(self) -> dict[str, Any]:
        parameters = [parameter.detach() for parameter in self.population.parameters]
        return {
            "epoch": self.epoch,
            "best": self.best,
            "last": self.last,
            "parameters": parameters,
            "momentum": self.population.momentum,
        }

    def load(self, state: dict[str, Any]) -> None:
        self.epoch, self.best, self.last = state["epoch"], state["best"], state["last"]
        self.population.momentum = state["momentum"]
        for parameter, value in zip(self.population.parameters, state["parameters"], strict=True):
            parameter.data.copy_(value)


def _shuffled(values: Tensor, orders: list[Tensor]) -> Tensor:
    """(seeds, samples, coordinates) to (seeds, coordinates, samples), each seed in its own order."""
    return torch.stack([value[order] for value, order in zip(values, orders, strict=True)]).transpose(1, 2).contiguous()


def _with_ones(x: Tensor) -> Tensor:
    return torch.cat([x, x.new_ones(x.shape[0], 1, x.shape[2])], 1)


def run(fit: Fit, folder: Path) -> dict[str, Any]:
    """Train, or go on training, and return the summary."""
    config = asdict(fit)
    with Run(folder, "fit", fit.activation, list(fit.seeds), config) as record:
        if record.is_finished:
            return record.summary
        trainer = Trainer(fit)
        state = record.load()
        if state is not None:
            trainer.load(state)
        with Progress(f"fit {fit.label}", fit.epochs) as progress:
            while trainer.epoch < fit.epochs:
                trainer.train_epoch()
                means = {str(w): float(f"{mse:.4g}") for w, mse in zip(fit.widths, trainer.last.mean(0), strict=True)}
                rate = learning_rate(fit, trainer.epoch - 1)
                record.log({"epoch": trainer.epoch, "learning_rate": rate, "mse": means})
                progress.update(trainer.epoch, f"mse {trainer.last.log().mean().exp():.2e}")
                record.save(trainer.state())
        return record.finish(_metrics(trainer))


def _metrics(trainer: Trainer) -> dict[str, Any]:
    """The score is the best test error over the epochs, as in the paper's code; the last is kept beside it."""

    def by_width(values: Tensor) -> dict[str, list[float]]:
        return {str(w): [float(v) for v in column] for w, column in zip(trainer.fit.widths, values.T, strict=True)}

    found: dict[str, Any] = {"best_mse": by_width(trainer.best), "last_mse": by_width(trainer.last)}
    if trainer.fit.learn_angle and "mpu" in trainer.fit.activation:
        theta = trainer.population.parameters[3].detach()
        found["angle"] = by_width((math.pi / 4 + theta).view(len(trainer.fit.seeds), -1))
    return found


def plan(
    activations: tuple[str, ...], targets: tuple[str, ...], grid_search: bool, template: dict[str, Any]
) -> Iterator[Fit]:
    """Every batch of trainings, in the order in which they run."""
    for activation in activations:
        get(activation)  # a wrong name is told before hours of work, not after
    for target in targets:
        rates = GRID if grid_search else (LEARNING_RATES[target],)
        for rate in rates:
            for activation in activations:
                yield Fit(activation, target, learning_rate=rate, **template)
