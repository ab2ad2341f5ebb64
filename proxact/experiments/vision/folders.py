"""Pictures in folders, one for each class (ImageFolder), read by worker processes and augmented by timm."""

from __future__ import annotations

import hashlib
import importlib
import lzma
import random
import shutil
import signal
import tarfile
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.utils.data import DataLoader, Dataset

from ..runs import RunError
from .augment import Batch
from .parallel import Share, one_at_a_time

HELP = """Get ImageNet-1k (ILSVRC 2012, https://image-net.org) and lay it out as train/<class>/*.JPEG and
val/<class>/*.JPEG; name the folder that holds train and val, or a .tar.gz of it, with --data."""
Mix = Callable[[Tensor, Tensor], Batch]


def find(data: Path, cache: Path) -> Path:
    """The folder that holds ``train`` and ``val``; an archive is unpacked once into ``cache``."""
    if not data.exists():
        raise RunError(f"data must be a folder or an archive of pictures, and there is no {data}.\n{HELP}")
    if data.is_file():
        stamp = f"{data.name} {data.stat().st_size} {data.stat().st_mtime_ns}"
        target = cache / f"{data.name.split('.')[0]}-{hashlib.sha256(stamp.encode()).hexdigest()[:12]}"
        with one_at_a_time(cache):
            if not target.exists():
                _unpack(data, target)
        data = target
    for folder in (data, *sorted(path for path in data.iterdir() if path.is_dir())):
        if (folder / "train").is_dir() and (folder / "val").is_dir():
            return folder
    raise RunError(f"{data} has no folders train and val.\n{HELP}")


def _unpack(archive: Path, target: Path) -> None:
    """The folder appears whole or not at all."""
    print(f"Unpacking {archive} once into {target}", flush=True)
    temporary = target.with_name(target.name + ".new")
    shutil.rmtree(temporary, ignore_errors=True)
    try:
        with tarfile.open(archive) as file:
            file.extractall(temporary, filter="data")
            # tarfile takes a damaged header for the end; a decompressor that reads on checks the whole.
            while file.fileobj and file.fileobj.read(1 << 20):
                pass
    except (tarfile.TarError, EOFError, OSError, zlib.error, lzma.LZMAError) as error:
        raise RunError(f"{archive} is damaged or no archive ({error}).\n{HELP}") from error
    temporary.rename(target)


class Seeded(Dataset[tuple[Tensor, int]]):
    """An ImageFolder whose augmentation of a picture depends on (seed, epoch, picture) alone, whoever reads it."""

    def __init__(self, folder: Path, transform: Callable[[Any], Tensor], seed: int) -> None:
        datasets = importlib.import_module("torchvision.datasets")  # it has no types
        try:
            self.folder = datasets.ImageFolder(str(folder), transform)
        except (FileNotFoundError, OSError) as error:
            raise RunError(f"{folder} holds no pictures ({error}).\n{HELP}") from error
        self.seed = seed

    def __len__(self) -> int:
        return len(self.folder)

    def __getitem__(self, key: tuple[int, int]) -> tuple[Tensor, int]:
        epoch, index = key
        reseed(self.seed, epoch, index)
        try:
            return self.folder[index]
        except (OSError, SyntaxError) as error:  # Pillow raises both for torn files
            raise RunError(f"{self.folder.samples[index][0]} is damaged ({error}).\n{HELP}") from error


class Folders:
    """The micro-batches of one process, from pictures on disk.

    Args:
        folder: holds ``train`` and ``val``.
        transforms: of a picture, for training and for testing.
        share: which part of a batch this process takes.
        batch: of all processes together; a smaller one at the end of an epoch is left out.
        seed: of order and augmentation.
        workers: processes that read and augment.
        mix: what becomes of a micro-batch at last, such as mixup.
    """

    def __init__(
        self,
        folder: Path,
        transforms: tuple[Callable[[Any], Tensor], Callable[[Any], Tensor]],
        share: Share,
        batch: int,
        seed: int,
        *,
        device: torch.device,
        workers: int = 2,
        channels_last: bool = False,
        mix: Mix | None = None,
    ) -> None:
        self.train_set, self.test_set = (
            Seeded(folder / name, transform, seed) for name, transform in zip(("train", "val"), transforms, strict=True)
        )
        if self.train_set.folder.classes != self.test_set.folder.classes:
            raise RunError(f"{folder}: train and val have different classes.\n{HELP}")
        self.share, self.batch, self.seed, self.mix, self.device = share, batch, seed, mix, device
        self.memory_format = torch.channels_last if channels_last else torch.contiguous_format
        self.loading: dict[str, Any] = {
            "num_workers": workers,
            "pin_memory": device.type == "cuda",
            "worker_init_fn": _ignore_interrupts,
        }
        self.steps = len(self.train_set) // batch
        if self.steps == 0:
            raise ValueError(
                f"batch must be at most the number of training pictures, {len(self.train_set)}, got {batch}"
            )

    @property
    def classes(self) -> int:
        return len(self.train_set.folder.classes)

    def epoch(self, epoch: int, first_step: int = 0) -> Iterator[tuple[int, list[Batch]]]:
        """For each step the size of the whole batch and the micro-batches of this process."""
        order = torch.randperm(len(self.train_set), generator=torch.Generator().manual_seed(_mixed(self.seed, epoch)))
        mine = list(self.share.of(self.batch))
        keys = [
            [(epoch, index) for index in order[step * self.batch :][part].tolist()]
            for step in range(first_step, self.steps)
            for part in mine
        ]
        loaded = iter(DataLoader(self.train_set, batch_sampler=keys, **self.loading))
        for step in range(first_step, self.steps):
            yield self.batch, [self._mixed_up(next(loaded), epoch, step, part.start) for part in mine]

    def test(self, batch: int = 100) -> Iterator[Batch]:
        """This process's share of the test pictures."""
        mine = range(self.share.rank, len(self.test_set), self.share.world)
        keys = [[(0, index) for index in mine[start : start + batch]] for start in range(0, len(mine), batch)]
        for x, y in DataLoader(self.test_set, batch_sampler=keys, **self.loading):
            yield self._placed(x), y.to(self.device)

    def _mixed_up(self, batch: Batch, epoch: int, step: int, first: int) -> Batch:
        x, y = self._placed(batch[0]), batch[1].to(self.device)
        if self.mix is not None:
            reseed(self.seed, epoch, step, first)
            x, y = self.mix(x, y)
        return x, y

    def _placed(self, x: Tensor) -> Tensor:
        return x.to(self.device, non_blocking=True).contiguous(memory_format=self.memory_format)


def _ignore_interrupts(_worker: int) -> None:
    """Ctrl-C reaches every process; the trainer saves, and its readers must last until then."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def reseed(*numbers: int) -> None:
    """All three generators that augmentations draw from."""
    seed = _mixed(*numbers)
    random.seed(seed)
    np.random.seed(seed % 2**32)
    torch.manual_seed(seed)


def _mixed(*numbers: int) -> int:
    """One seed from several numbers; neighbours give unrelated ones."""
    return int.from_bytes(hashlib.blake2b(repr(numbers).encode(), digest_size=7).digest(), "big")
