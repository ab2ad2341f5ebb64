"""The paper's second experiment: ResNets on CIFAR10, and a protocol for two CPU cores.

A run of the paper's recipe (200 epochs, full width) takes hours on a GPU; one of the preset ``cpu`` (a quarter of the
width, one-cycle, bf16 where the CPU has it) 13 minutes on two cores that have none. Any number of processes:
``torchrun --nproc-per-node 8 -m proxact cifar10``.
"""

from __future__ import annotations

import dataclasses
import functools
import math
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from .._checks import check_choice, check_fraction, check_not_negative, check_positive_int
from ..models import CIFAR_RESNETS, CifarFast, cifar_resnet
from ..registry import get
from .vision.augment import InMemory
from .vision.finetune import Start
from .vision.optimise import DECAYS, OPTIMIZERS
from .vision.parallel import PRECISIONS, Machine, check_sync_bn, share_of, start
from .vision.pictures import Pictures, load
from .vision.recording import recorded
from .vision.schedule import Schedule, cosine, one_cycle
from .vision.training import Trainer
from .vision.units import GROUPINGS, is_unit, unit_arguments

MODELS = (*CIFAR_RESNETS, "fast")
_WHITENED_BY = 2000
SCHEDULES = ("cosine", "one-cycle")


@dataclass(frozen=True)
class Cifar10:
    """One training; the defaults are the paper's recipe, with the angles spared from weight decay.

    ``width`` is that of a ResNet's first stage; the stages of ``fast`` have half of it, twice and twice of it.
    ``grouping``, ``alpha`` and ``learn_angle`` say what an MPU is: its group's axis, the angle it starts from, and
    whether that is learnt. ``batch`` is that of all processes together, ``micro_batch`` of one forward pass.
    """

    activation: str
    seed: int = 1
    model: str = "resnet18"
    width: int = 64
    epochs: int = 200
    extra_epochs: int = 0
    batch: int = 128
    micro_batch: int = 128
    optimizer: str = "sgd"
    peak: float = 0.1
    momentum: float = 0.9
    nesterov: bool = False
    rest_scale: float = 1.0
    weight_decay: float = 5e-4
    decay: str = "all-but-angles"
    schedule: str = "cosine"
    low: float = 1e-4
    warmup: float = 0.0
    label_smoothing: float = 0.0
    padding: int = 4
    pad: str = "zero"
    flip: str = "random"
    keep_last: bool = True
    small: int = 32
    small_share: float = 0.0
    bn_momentum: float = 0.1
    precision: str = "fp32"
    sync_bn: bool = False
    grouping: str = "channels"
    alpha: float = math.pi / 4
    learn_angle: bool = True
    preset: str = "paper"

    def __post_init__(self) -> None:
        check_choice("grouping", self.grouping, tuple(GROUPINGS))
        get(self.activation, **unit_arguments(self.activation, self.grouping, self.alpha, self.learn_angle))
        check_choice("model", self.model, MODELS)
        check_choice("optimizer", self.optimizer, tuple(OPTIMIZERS))
        check_choice("decay", self.decay, DECAYS)
        check_choice("schedule", self.schedule, SCHEDULES)
        check_choice("pad", self.pad, ("zero", "reflect"))
        check_choice("flip", self.flip, ("random", "alternate"))
        check_choice("precision", self.precision, tuple(PRECISIONS))
        for name in ("width", "epochs", "batch", "micro_batch"):
            check_positive_int(name, getattr(self, name))
        if self.batch % self.micro_batch:
            raise ValueError(f"micro_batch must divide batch = {self.batch}, got {self.micro_batch}")
        if self.width < 8:
            # oneDNN (torch 2.13, AVX2) writes past its buffers in the backward pass of narrower 1 x 1 convolutions.
            raise ValueError(f"width must be at least 8, got {self.width}")
        if not 8 <= self.small <= 32:
            raise ValueError(f"small must be a side from 8 to 32 pixels, got {self.small}")
        for name in ("label_smoothing", "momentum", "bn_momentum", "small_share"):
            check_fraction(name, getattr(self, name))
        for name in ("peak", "low", "rest_scale", "weight_decay"):
            check_not_negative(name, getattr(self, name))
        for name in ("padding", "extra_epochs"):
            check_not_negative(name, getattr(self, name), whole=True)
        if not 0 <= self.warmup < self.all_epochs:
            raise ValueError(f"warmup must be in [0, {self.all_epochs}) epochs, got {self.warmup}")
        check_sync_bn(self.sync_bn)

    @property
    def all_epochs(self) -> int:
        return self.epochs + self.extra_epochs

    @property
    def label(self) -> str:
        """The run's folder below the experiment's."""
        width = "" if self.width == 64 else f"-w{self.width}"
        extra = f"-plus{self.extra_epochs}" if self.extra_epochs else ""
        model = self.model.replace("+", "-plus")
        return f"{self.preset}{extra}/{model}{width}/{self.activation}/seed{self.seed}"

    def learning_rate(self) -> Schedule:
        if self.schedule == "cosine":
            return cosine(self.peak, self.all_epochs, self.low)
        return one_cycle(self.peak, self.all_epochs, self.warmup, self.low)


def build(run: Cifar10, classes: int = 10) -> nn.Module:
    """The network at the start. Weights come from the seed alone: all activations of a seed share them."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(run.seed)
        arguments = unit_arguments(run.activation, run.grouping, run.alpha, run.learn_angle)
        if run.model == "fast":
            widths = (run.width // 2, 2 * run.width, 2 * run.width)
            return CifarFast(run.activation, classes, widths=widths, **arguments)
        return cifar_resnet(run.model, run.activation, classes, width=run.width, **arguments)


def run(run: Cifar10, folder: Path, pictures: Pictures, machine: Machine, begin: Start | None = None) -> dict[str, Any]:
    """Train, or go on training, and return the summary.

    Args:
        run: what to train.
        folder: of this run.
        pictures: to train and test on.
        machine: how, without effect on what is learnt but for rounding.
        begin: the finished run to start from.
    """
    fabric = start(run.precision)
    config = {**asdict(run), "data": pictures.name, "start": begin.label if begin else ""}
    make = functools.partial(make_trainer, run, pictures, machine, begin, fabric)
    return recorded(fabric, folder, "cifar10", run, config, make, machine.save_seconds)


def make_trainer(
    run: Cifar10, pictures: Pictures, machine: Machine, begin: Start | None = None, fabric: Any = None
) -> Trainer:
    fabric = fabric or start(run.precision)
    source = InMemory(
        pictures,
        share_of(fabric, run.batch, run.micro_batch),
        run.batch,
        run.seed,
        device=fabric.device,
        padding=run.padding,
        pad=run.pad,
        flip=run.flip,
        keep_last=run.keep_last,
        small=run.small,
        small_epochs=round(run.small_share * run.all_epochs),
        channels_last=machine.channels_last,
    )
    net = begin.net(run) if begin else build(run, pictures.classes)
    if isinstance(net, CifarFast) and not begin:
        net.whiten(source.scaled(pictures.train[0][:_WHITENED_BY].to(fabric.device)).cpu())
    for module in net.modules():
        if isinstance(module, nn.BatchNorm2d):
            module.momentum = run.bn_momentum
    if run.sync_bn:
        net = nn.SyncBatchNorm.convert_sync_batchnorm(net)
    if machine.channels_last:
        net = net.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
    loss = functools.partial(_cross_entropy, smoothing=run.label_smoothing)
    optimizer = OPTIMIZERS[run.optimizer](net, run.momentum, run.nesterov, run.weight_decay, run.decay, run.rest_scale)
    return Trainer(fabric, net, optimizer, run.learning_rate(), source, run.all_epochs, loss, compiled=machine.compiled)


def _cross_entropy(output: Tensor, target: Tensor, smoothing: float) -> Tensor:
    return nn.functional.cross_entropy(output, target, label_smoothing=smoothing)


def describe(run: Cifar10) -> str:
    """The configuration, line by line, the unit's in words."""
    skipped = {"activation", "seed", "grouping", "alpha", "learn_angle"}
    lines = [f"  {name:16}{value}" for name, value in asdict(run).items() if name not in skipped]
    if is_unit(run.activation):
        learnt = "learnt" if run.learn_angle else "not learnt"
        lines.append(f"  {'grouping axis':16}{run.grouping}: {GROUPINGS[run.grouping]}")
        lines.append(f"  {'initial angle':16}{run.alpha:.4f} rad, tangent {math.tan(run.alpha):.4g}, {learnt}")
    return "\n".join([f"cifar10, {run.activation}:", *lines])


def data(source: str | None, runs: Path) -> Pictures:
    """The pictures; what is decoded is kept in ``runs/decoded``."""
    return load(source, runs / "decoded")


FIELDS = {field.name: field.default for field in dataclasses.fields(Cifar10)}
