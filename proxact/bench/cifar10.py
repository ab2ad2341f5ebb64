"""``proxact bench cifar10``: our training against the usual script, other activations' steps against ReLU's.

All in one process. The usual script: fp32, NCHW, SGD, pictures cropped and flipped one by one by torchvision in a
DataLoader's workers. Ours: the recipe that each width is trained with, batch and optimiser included: the preset cpu's
for the small one, the paper's for the whole. All see whole pictures, and as many of them in one measurement.
"""

from __future__ import annotations

import importlib
import itertools
import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import torch
from rich.console import Console
from rich.table import Table
from torch import nn
from torch.utils.data import DataLoader, Dataset

from ..experiments.cifar10 import Cifar10, build, make_trainer
from ..experiments.vision.formats import make_up
from ..experiments.vision.parallel import Machine, fast_precision
from ..experiments.vision.pictures import Pictures
from ..experiments.vision.presets import ACTIVATIONS, plan
from ..info import origin
from .timing import interleaved, keep_freed_memory, ratios

FULL, USUAL_BATCH = 64, 128
OURS, USUAL = "proxact, {}", "the usual script, relu"
WORKERS = 2


class OneByOne(Dataset[tuple[Any, int]]):
    """Pictures as the usual script has them: each cropped, flipped and normalised alone."""

    def __init__(self, pictures: Pictures) -> None:
        transforms = importlib.import_module("torchvision.transforms")  # it has no types
        self.arrays, self.labels = pictures.train[0].permute(0, 2, 3, 1).numpy(), pictures.train[1].tolist()
        self.transform = transforms.Compose(
            [
                transforms.RandomCrop(32, padding=4),
                transforms.RandomHorizontalFlip(),
                transforms.ToTensor(),
                transforms.Normalize(pictures.mean, pictures.std),
            ]
        )

    def __len__(self) -> int:
        return len(self.labels)

    def __getitem__(self, index: int) -> tuple[Any, int]:
        from PIL import Image

        return self.transform(Image.fromarray(self.arrays[index])), self.labels[index]


def recipe(width: int, activation: str) -> Cifar10:
    """What we train, on whole pictures in every epoch and in the precision that is fastest here."""
    given = {"width": width, "small_share": 0.0, "precision": fast_precision()}
    (one,) = plan("paper" if width == FULL else "cpu", (activation,), (1,), given)
    return one


def usual(width: int, pictures: Pictures) -> Iterator[None]:
    """The usual script, step by step, for ever."""
    net = build(recipe(width, "relu"))
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9, weight_decay=5e-4)
    loader = DataLoader(OneByOne(pictures), USUAL_BATCH, shuffle=True, num_workers=WORKERS, drop_last=True)
    for _ in itertools.count():
        for x, y in loader:
            optimizer.zero_grad()
            nn.functional.cross_entropy(net(x), y).backward()
            optimizer.step()
            yield


def ours(activation: str, width: int, pictures: Pictures) -> Iterator[None]:
    """``proxact cifar10``, step by step, for ever."""
    trainer = make_trainer(recipe(width, activation), pictures, Machine())
    for _ in itertools.count():
        for _ in trainer.train():
            yield
        trainer.step = 0


def measure(
    width: int, activations: Sequence[str], pictures: Pictures, count: int, rounds: int
) -> dict[str, dict[str, float]]:
    """Images a second of each, and times relative to our ReLU, from ``rounds`` measurements of ``count`` pictures."""
    ours_takes = recipe(width, "relu").batch

    def call(stepping: Iterator[None], batch: int) -> Callable[[], None]:
        if count % batch:
            raise ValueError(f"count must be a multiple of the batch, {batch}, got {count}")

        def several() -> None:
            for _ in range(count // batch):
                next(stepping)

        return several

    base = OURS.format("relu")
    relu = call(ours("relu", width, pictures), ours_takes)
    others = {OURS.format(name): call(ours(name, width, pictures), ours_takes) for name in activations}
    others[USUAL] = call(usual(width, pictures), USUAL_BATCH)
    found: dict[str, dict[str, float]] = {}
    # One after the other: the workers of the usual script fill their queue while somebody else's steps are timed.
    for name, other in others.items():
        pair = ratios(interleaved({base: relu, name: other}, rounds, seconds=3600), base)
        found |= {name: pair[name]} if found else pair
    # Each was timed at another moment, in turn with ReLU: only its ratio can be compared with the others.
    speed = 1e6 * count / found[base]["microseconds"]
    return {name: {**row, "images_per_second": speed / row["ratio"]} for name, row in found.items()}


def run_cifar10(out: Path, quick: bool) -> None:
    """Print the figures and write ``cifar10.json``."""
    keep_freed_memory()
    splits = make_up(train=1280 if quick else 12_800, test=100)
    pictures = Pictures("made-up", splits["train"], splits["test"], (0.5,) * 3, (0.25,) * 3)
    record: dict[str, Any] = {**origin(), "precision": fast_precision(), "widths": {}}
    console, table = Console(width=120), Table("ResNet18 of width", "training", "images a second", "time / our ReLU's")
    out.mkdir(parents=True, exist_ok=True)
    settings = {16: (("mpu2",), 256, 3)} if quick else {16: (ACTIVATIONS[1:], 1024, 9), FULL: (("mpu2",), 256, 9)}
    for width, (activations, count, rounds) in settings.items():
        rows = measure(width, activations, pictures, count, rounds)
        record["widths"][str(width)] = rows
        for name, row in rows.items():
            spread = f"{row['ratio']:.3f} ({row['ratio_low']:.3f} to {row['ratio_high']:.3f})"
            table.add_row(str(width), name, f"{row['images_per_second']:.0f}", spread)
        # The whole width takes minutes: what is known is kept if it is stopped.
        (out / "cifar10.json").write_text(json.dumps(record, indent=1) + "\n")
    console.print(table)
    batches = f"ours of {recipe(16, 'relu').batch} and {recipe(FULL, 'relu').batch}, the usual of {USUAL_BATCH}"
    console.print(f"Ours in {fast_precision()}, the fastest on this processor; batches: {batches}; {WORKERS} workers.")
    console.print(f"Written: {out / 'cifar10.json'}")
