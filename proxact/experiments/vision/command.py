"""``proxact cifar10`` and ``proxact imagenet``: flags to trainings. They import what they need when called."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import tyro

if TYPE_CHECKING:
    from ..cifar10 import Cifar10
    from ..imagenet import Imagenet

Decay = Literal["all", "all-but-angles", "weights"]
Precision = Literal["fp32", "bf16", "fp16"]


@dataclass(frozen=True)
class Recipe:
    """Instead of the preset's values. A run with any of these is no longer named after the preset alone."""

    model: Literal["resnet18", "resnet18+", "resnet34", "resnet50", "resnet101", "fast"] | None = None
    """The network."""
    width: int | None = None
    """Channels of its first stage."""
    epochs: int | None = None
    """To train."""
    extra_epochs: int | None = None
    """On top, as in the paper's table with two more."""
    batch: int | None = None
    """Of all processes together."""
    micro_batch: int | None = None
    """Of one forward pass: a batch is accumulated from several. By default batch / processes."""
    optimizer: Literal["sgd", "muon"] | None = None
    """Muon makes the steps of convolutions orthogonal."""
    peak: float | None = None
    """The largest learning rate."""
    momentum: float | None = None
    """Of the optimiser."""
    nesterov: bool | None = None
    """Nesterov's momentum."""
    rest_scale: float | None = None
    """Learning rate of all but the convolutions (norms, angles, the last layer), as a multiple of theirs."""
    weight_decay: float | None = None
    """Of what is decayed."""
    decay: Decay | None = None
    """What is decayed: everything (as the paper does), all but the units' angles, or weight matrices alone."""
    schedule: Literal["cosine", "one-cycle"] | None = None
    """Of the learning rate."""
    low: float | None = None
    """The last learning rate."""
    warmup: float | None = None
    """Epochs up to the peak, one-cycle only."""
    label_smoothing: float | None = None
    """Of the training loss."""
    padding: int | None = None
    """Pixels around a picture before it is cropped."""
    pad: Literal["zero", "reflect"] | None = None
    """What these pixels are."""
    flip: Literal["random", "alternate"] | None = None
    """Half of the pictures at random, or each one in every second epoch."""
    keep_last: bool | None = None
    """Train on the smaller batch at the end of an epoch, too."""
    small: int | None = None
    """Side in pixels of the crops in the first epoch."""
    small_share: float | None = None
    """In this part of the epochs the side grows to 32, in steps of four pixels."""
    bn_momentum: float | None = None
    """Of batch norm's running statistics."""
    precision: Precision | None = None
    """bf16 and fp16 are automatic mixed precision."""
    sync_bn: bool | None = None
    """Batch norm over all processes; GPUs only."""
    grouping: Literal["channels", "text", "last"] | None = None
    """An MPU's group: neighbouring channels, neighbours after flattening as the paper writes, or the last axis."""
    alpha: float | None = None
    """An MPU's angle at the start, in radians."""
    learn_angle: bool | None = None
    """Train the angle."""


def cifar10(
    preset: str | None = None,
    activations: tuple[str, ...] | None = None,
    seeds: tuple[int, ...] | None = None,
    data: str | None = None,
    recipe: Annotated[Recipe, tyro.conf.OmitArgPrefixes] = Recipe(),  # noqa: B008 - frozen
    as_published: bool = False,
    from_: Annotated[Path | None, tyro.conf.arg(name="from")] = None,
    channels_last: bool = True,
    compiled: bool = False,
    save_seconds: float = 60.0,
    dry_run: bool = False,
    runs: Path = Path("runs"),
    cache: Path | None = None,
) -> None:
    """The paper's second experiment: ResNets on CIFAR10, in one process or under torchrun.

    Presets: paper (the default on a GPU), paper-deeper, paper-plus2, paper-resnet18+, paper-resnet101 and paper-m are
    the paper's tables; cpu (the default without a GPU) is a ResNet18 of a quarter of the width for two cores, cpu-fast
    a small net in the style of the CIFAR speed records.

    Args:
        preset: one of those above; it is printed in full.
        activations: names of the library, see proxact.names(); by default the preset's.
        seeds: for initial weights, order and augmentation; all activations share them.
        data: a folder of parquet files, cifar-10-batches-py or Fashion-MNIST's idx files; hub:<name>; or made-up, small
            noise for trying things. By default data/cifar10, data/cifar-10-batches-py or ../shared/data/cifar10, the
            first there is.
        recipe: in place of the preset's values.
        as_published: units as in the published code: last axis, tangent 0, angle frozen but in the leaky unit.
        from_: folder of a finished run to start from; its ReLUs become the activations asked for.
        channels_last: memory layout.
        compiled: by torch.compile.
        save_seconds: from one checkpoint to the next.
        dry_run: only print the configurations.
        runs: where the run folders go; finished runs are not run again, unfinished ones go on.
        cache: where decoded pictures are kept, in place of runs; several commands can share it.
    """
    import torch

    from ...bench.timing import keep_freed_memory
    from .. import cifar10 as experiment
    from ..runs import RunError
    from .finetune import read_start
    from .parallel import Machine, is_first
    from .presets import plan

    keep_freed_memory()
    given = {name: value for name, value in asdict(recipe).items() if value is not None}
    preset = preset or ("paper" if torch.cuda.is_available() else "cpu")
    machine = Machine(channels_last, compiled, save_seconds=save_seconds)
    try:
        begin = read_start(from_) if from_ is not None else None
        planned = list(plan(preset, activations, seeds, given, as_published, begin))
        if is_first():
            print("\n".join(experiment.describe(one) for one in planned if one.seed == planned[0].seed))
            print(_seeds(planned), flush=True)
        if dry_run:
            return
        pictures = experiment.data(data, cache or runs)
        for one in planned:
            experiment.run(one, runs / "cifar10" / one.label, pictures, machine, begin)
    except (RunError, ValueError) as error:
        raise SystemExit(str(error)) from error
    if is_first():
        print(f"{len(planned)} runs in {runs / 'cifar10'}; a page of them: proxact report {runs}")


def _seeds(planned: Sequence[Cifar10] | Sequence[Imagenet]) -> str:
    seeds = dict.fromkeys(one.seed for one in planned)
    return f"each with seed{'s' * (len(seeds) > 1)} {', '.join(map(str, seeds))}: {len(planned)} trainings"


@dataclass(frozen=True)
class ImagenetRecipe:
    """Instead of the paper's values. A run with any of these is no longer named after the paper alone."""

    epochs: int | None = None
    """To train: 100 for ResNets, 500 for DeiT."""
    batch: int | None = None
    """Of all processes together: 8 x 32 for ResNets, 8 x 128 for DeiT."""
    micro_batch: int | None = None
    """Of one forward pass; a batch is accumulated from several where there are fewer than 8 processes."""
    size: int | None = None
    """Side of the pictures in pixels."""
    rate: float | None = None
    """The learning rate at the start."""
    warm_up: bool | None = None
    """DeiT: rise to the rate over the first epochs, as mmpretrain does; the paper's text keeps it."""
    first_epochs: int | None = None
    """DeiT: these epochs come before the cosine."""
    weight_decay: float | None = None
    """Of what is decayed."""
    decay: Decay | None = None
    """What is decayed: everything (the paper's ResNets), all but the units' angles, or weight matrices alone (DeiT)."""
    precision: Precision | None = None
    """bf16 and fp16 are automatic mixed precision."""
    sync_bn: bool | None = None
    """Batch norm over all processes; GPUs only."""
    alpha: float | None = None
    """An MPU's angle at the start, in radians."""
    learn_angle: bool | None = None
    """Train the angle."""


def imagenet(
    data: Path = Path("data/imagenet"),
    model: Literal["resnet18", "resnet34", "resnet50", "deit_tiny"] = "resnet18",
    activations: tuple[str, ...] | None = None,
    seeds: tuple[int, ...] = (1,),
    recipe: Annotated[ImagenetRecipe, tyro.conf.OmitArgPrefixes] = ImagenetRecipe(),  # noqa: B008 - frozen
    channels_last: bool = True,
    compiled: bool = False,
    workers: int = 2,
    save_seconds: float = 300.0,
    dry_run: bool = False,
    runs: Path = Path("runs"),
    cache: Path | None = None,
) -> None:
    """The paper's third experiment: ResNets and DeiT-tiny on ImageNet, in one process or under torchrun.

    Args:
        data: folder with train/<class>/ and val/<class>/, or an archive of one, which is unpacked once.
        model: the network, by timm; each has the paper's recipe for it, which is printed in full.
        activations: names of the library, see proxact.names(); by default the paper's for this network.
        seeds: for initial weights, order and augmentation; all activations share them.
        recipe: in place of the paper's values.
        channels_last: memory layout.
        compiled: by torch.compile.
        workers: processes that read pictures, for each training process.
        save_seconds: from one checkpoint to the next.
        dry_run: only print the configurations.
        runs: where the run folders go; finished runs are not run again, unfinished ones go on.
        cache: where an archive is unpacked, in place of runs; several commands can share it.
    """
    from ...bench.timing import keep_freed_memory
    from .. import imagenet as experiment
    from ..runs import RunError
    from .parallel import Machine, is_first

    keep_freed_memory()
    given = {name: value for name, value in asdict(recipe).items() if value is not None}
    machine = Machine(channels_last, compiled, workers, save_seconds)
    try:
        planned = list(experiment.plan(model, activations, seeds, given))
        if is_first():
            print("\n".join(experiment.describe(one) for one in planned if one.seed == seeds[0]))
            print(_seeds(planned), flush=True)
        if dry_run:
            return
        folder = experiment.prepare(data, cache or runs)
        for one in planned:
            experiment.run(one, runs / "imagenet" / one.label, folder, machine)
    except (RunError, ValueError) as error:
        raise SystemExit(str(error)) from error
    if is_first():
        print(f"{len(planned)} runs in {runs / 'imagenet'}; a page of them: proxact report {runs}")
