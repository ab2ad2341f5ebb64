"""The paper's third experiment: ResNets and DeiT-tiny on ImageNet, on timm's models and augmentation.

The paper trains on 8 GPUs: ``torchrun --nproc-per-node 8 -m proxact imagenet``. With fewer, gradients are accumulated
over the same micro-batches (32 pictures each for ResNets, 128 for DeiT).
"""

from __future__ import annotations

import dataclasses
import functools
import importlib.util
import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from .._checks import check_choice, check_not_negative, check_positive_int
from ..registry import canonical, get
from .runs import RunError
from .vision.folders import Folders, Mix, find
from .vision.optimise import DECAYS, groups
from .vision.parallel import PRECISIONS, Machine, check_sync_bn, share_of, start
from .vision.recording import recorded
from .vision.schedule import Schedule, held_cosine, steps
from .vision.training import Trainer
from .vision.units import check_activation, decay_of, is_unit

MODELS = {"resnet18": "resnet18", "resnet34": "resnet34", "resnet50": "resnet50", "deit_tiny": "deit_tiny_patch16_224"}
ACTIVATIONS = {
    "resnet18": ("relu", "leaky_relu", "prelu", "wta", "mpu2", "leaky_mpu2", "mpu3"),
    "resnet34": ("relu",),
    "resnet50": ("relu",),
    "deit_tiny": ("relu", "mpu2", "mpu3"),
}
_OF_RESNETS = ("milestones", "momentum")
_OF_DEIT = ("low", "first_epochs", "warm_up", "clip", "label_smoothing", "mixup", "cutmix", "randaugment", "erasing")
_FIXED_OF_RESNETS = {
    "optimizer": "SGD",
    "schedule": "times 0.1 at each milestone",
    "augmentation": "random resized crop and flip",
    "residual": "branches start at zero",
}
_FIXED_OF_DEIT = {
    "optimizer": "AdamW, betas 0.9 and 0.999, eps 1e-8",
    "schedule": "first_epochs at the rate, or rising to it (warm_up); then a cosine to low",
    "augmentation": "random resized crop and flip, randaugment, erasing with noise of each pixel",
    "drop path, EMA": "none",
}
DEIT: dict[str, Any] = {
    "epochs": 500,
    "batch": 8 * 128,
    "micro_batch": 128,
    "rate": 1e-3,
    "low": 1e-5,
    "weight_decay": 0.05,
    "decay": "weights",
    "clip": 5.0,
    "first_epochs": 20,
    "label_smoothing": 0.1,
    "mixup": 0.8,
    "cutmix": 1.0,
    "randaugment": "rand-m9-mstd0.5-inc1",
    "erasing": 0.25,
}


@dataclass(frozen=True)
class Imagenet:
    """One training; the defaults are the paper's for ResNets, those for DeiT-tiny are in ``DEIT``."""

    activation: str
    seed: int = 1
    model: str = "resnet18"
    epochs: int = 100
    batch: int = 8 * 32
    micro_batch: int = 32
    size: int = 224
    rate: float = 0.1
    low: float = 0.0
    milestones: tuple[int, ...] = (30, 60, 90)
    first_epochs: int = 0
    warm_up: bool = False
    momentum: float = 0.9
    weight_decay: float = 1e-4
    decay: str = "all-but-angles"
    clip: float | None = None
    label_smoothing: float = 0.0
    mixup: float = 0.0
    cutmix: float = 0.0
    randaugment: str = ""
    erasing: float = 0.0
    precision: str = "fp32"
    sync_bn: bool = False
    alpha: float = math.pi / 4
    learn_angle: bool = True
    preset: str = "paper"

    def __post_init__(self) -> None:
        get(self.activation, **self.unit_arguments())
        check_choice("model", self.model, tuple(MODELS))
        check_choice("decay", self.decay, DECAYS)
        check_choice("precision", self.precision, tuple(PRECISIONS))
        for name in ("epochs", "batch", "micro_batch", "size"):
            check_positive_int(name, getattr(self, name))
        for name in ("rate", "weight_decay"):
            check_not_negative(name, getattr(self, name))
        if self.batch % self.micro_batch:
            raise ValueError(f"micro_batch must divide batch = {self.batch}, got {self.micro_batch}")
        if self.is_transformer and (self.size % 16 or self.micro_batch % 2):
            raise ValueError(
                "size must be a multiple of 16, the side of a patch, and micro_batch even, for mixup; "
                f"got {self.size} and {self.micro_batch}"
            )
        if not 0 <= self.first_epochs < self.epochs:
            raise ValueError(f"first_epochs must be in [0, {self.epochs}), got {self.first_epochs}")
        check_sync_bn(self.sync_bn)

    @property
    def is_transformer(self) -> bool:
        return self.model.startswith("deit")

    @property
    def label(self) -> str:
        return f"{self.preset}/{self.model}/{self.activation}/seed{self.seed}"

    def unit_arguments(self) -> dict[str, Any]:
        return {"alpha": self.alpha, "learnable": self.learn_angle} if is_unit(self.activation) else {}

    def learning_rate(self) -> Schedule:
        if self.is_transformer:
            return held_cosine(self.rate, self.epochs, self.first_epochs, self.warm_up, self.low)
        return steps(self.rate, self.milestones)


def plan(
    model: str, activations: Iterable[str] | None, seeds: Iterable[int], given: Mapping[str, Any]
) -> Iterator[Imagenet]:
    """Every training. ``given`` replaces fields of the paper's recipe, and is then named in the run's preset."""
    check_choice("model", model, tuple(MODELS))
    for name in ("warm_up", "first_epochs"):
        if name in given and not model.startswith("deit"):
            raise ValueError(f"{name} must be left out for {model}, whose recipe has none, got {given[name]}")
    fields = {field.name: field.default for field in dataclasses.fields(Imagenet)}
    base = {**fields, **(DEIT if model.startswith("deit") else {})}
    if "epochs" in given and not model.startswith("deit"):  # a shorter training has its milestones at the same shares
        base["milestones"] = tuple(round(one * given["epochs"] / base["epochs"]) for one in base["milestones"])
    for seed in seeds:
        for activation in map(canonical, activations or ACTIVATIONS[model]):
            check_activation(activation)
            own = {n: v for n, v in given.items() if is_unit(activation) or n not in ("alpha", "learn_angle")}
            if "decay" in own:
                own["decay"] = decay_of(activation, own["decay"], base["decay"])
            words = [f"{n.replace('_', '')}{v}".replace(" ", "") for n, v in own.items() if v != base[n]]
            named = {"activation": activation, "seed": seed, "model": model, "preset": "-".join(["paper", *words])}
            yield Imagenet(**{**base, **own, **named})


def build(run: Imagenet, classes: int) -> nn.Module:
    """timm's network. Weights come from the seed alone: all activations of a seed share them."""
    import timm

    own = {"img_size": run.size} if run.is_transformer else {"zero_init_last": True}
    # A transformer's channels lie last. The factory is called once for each site.
    layer = functools.partial(get, run.activation, dim=-1 if run.is_transformer else 1, **run.unit_arguments())
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(run.seed)
        return timm.create_model(MODELS[run.model], pretrained=False, num_classes=classes, act_layer=layer, **own)


def transforms(run: Imagenet) -> tuple[Any, Any]:
    """For training and testing: random resized crop and flip, with what the recipe adds; 7/8 of the centre."""
    from timm.data import create_transform

    interpolation = "bicubic" if run.is_transformer else "bilinear"
    shared: dict[str, Any] = {"input_size": run.size, "interpolation": interpolation}
    augment: dict[str, Any] = {"auto_augment": run.randaugment or None, "re_prob": run.erasing, "re_mode": "pixel"}
    train = create_transform(**shared, is_training=True, color_jitter=0.0, **augment)
    for operation in (operation for part in train.transforms for operation in getattr(part, "ops", ())):
        if operation.name.startswith("Posterize"):
            operation.aug_fn = _posterized
    return train, create_transform(**shared, is_training=False, crop_pct=0.875)


def _posterized(image: Any, bits: int, **_: Any) -> Any:
    """RandAugment's largest magnitude keeps no bits, which Pillow 13 refuses; older versions made the picture black."""
    from PIL import Image, ImageOps

    return ImageOps.posterize(image, bits) if bits else Image.new(image.mode, image.size)


def mixing(run: Imagenet, classes: int) -> Mix | None:
    if not (run.mixup or run.cutmix):
        return None
    from timm.data import Mixup

    return Mixup(run.mixup, run.cutmix, label_smoothing=run.label_smoothing, num_classes=classes)


def cross_entropy(output: Tensor, target: Tensor, smoothing: float) -> Tensor:
    """Of classes, smoothed here, or of probabilities, which mixup has smoothed already."""
    smoothing = 0.0 if target.is_floating_point() else smoothing
    return nn.functional.cross_entropy(output, target, label_smoothing=smoothing)


def optimizer(run: Imagenet, net: nn.Module) -> torch.optim.Optimizer:
    parameters = groups(net, run.weight_decay, run.decay)
    if run.is_transformer:
        return torch.optim.AdamW(parameters, lr=run.rate, betas=(0.9, 0.999), eps=1e-8)
    return torch.optim.SGD(parameters, lr=run.rate, momentum=run.momentum)


def run(run: Imagenet, folder: Path, data: Path, machine: Machine) -> dict[str, Any]:
    """Train, or go on training, and return the summary; ``data`` holds the folders train and val."""
    fabric = start(run.precision)
    source = Folders(
        data,
        transforms(run),
        share_of(fabric, run.batch, run.micro_batch),
        run.batch,
        run.seed,
        device=fabric.device,
        workers=machine.workers,
        channels_last=machine.channels_last,
    )
    source.mix = mixing(run, source.classes)
    config = {**asdict(run), "data": f"{data.name}, {source.classes} classes, {len(source.train_set)} pictures"}
    make = functools.partial(make_trainer, run, source, machine, fabric)
    return recorded(fabric, folder, "imagenet", run, config, make, machine.save_seconds)


def make_trainer(run: Imagenet, source: Folders, machine: Machine, fabric: Any) -> Trainer:
    net = build(run, source.classes)
    if run.sync_bn:
        net = nn.SyncBatchNorm.convert_sync_batchnorm(net)
    if machine.channels_last:
        net = net.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
    loss = functools.partial(cross_entropy, smoothing=run.label_smoothing)
    return Trainer(
        fabric,
        net,
        optimizer(run, net),
        run.learning_rate(),
        source,
        run.epochs,
        loss,
        clip=run.clip,
        compiled=machine.compiled,
    )


def prepare(data: Path, runs: Path) -> Path:
    """The folder with train and val; an archive is unpacked into ``runs/unpacked``."""
    for name in ("timm", "torchvision"):
        if importlib.util.find_spec(name) is None:
            raise RunError(f"proxact imagenet needs {name}: pip install 'proxact[vision]'")
    return find(data, runs / "unpacked")


def describe(run: Imagenet) -> str:
    """The configuration, line by line: what this network's recipe uses, and what of it has no flag, in words."""
    other = _OF_RESNETS if run.is_transformer else _OF_DEIT
    skipped = {"activation", "seed", "alpha", "learn_angle", *other}
    fixed = _FIXED_OF_DEIT if run.is_transformer else _FIXED_OF_RESNETS
    shown = {name: value for name, value in asdict(run).items() if name not in skipped} | fixed
    lines = [f"  {name:16}{value}" for name, value in shown.items()]
    if is_unit(run.activation):
        axis = "the last, a transformer's channels" if run.is_transformer else "1, channels"
        lines.append(f"  {'grouping axis':16}{axis}")
        learnt = "learnt" if run.learn_angle else "not learnt"
        lines.append(f"  {'initial angle':16}{run.alpha:.4f} rad, tangent {math.tan(run.alpha):.4g}, {learnt}")
    return "\n".join([f"imagenet, {run.activation}:", *lines])
