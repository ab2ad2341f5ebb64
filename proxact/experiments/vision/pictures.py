"""Small pictures in memory: found, decoded once into uint8 tensors, checked, and kept beside the runs."""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor

from ..runs import RunError
from .formats import SIDE, Split, make_up, read_hub, recognise
from .parallel import one_at_a_time

MADE_UP = "made-up"
OTHER = "other:"
"""The names of pictures that are not CIFAR10's start with this: reports keep their runs apart."""
PLACES = (Path("data/cifar10"), Path("data/cifar-10-batches-py"), Path("../shared/data/cifar10"))
HELP = f"""Get one of these and name it with --data:
  a folder with train-*.parquet and test-*.parquet, such as the files of the Hugging Face dataset uoft-cs/cifar10;
  cifar-10-batches-py, the unpacked https://www.cs.toronto.edu/~kriz/cifar-10-python.tar.gz;
  hub:uoft-cs/cifar10, which the package datasets downloads;
  a folder with Fashion-MNIST's four idx files (Debian: apt install dataset-fashion-mnist puts them into
  /usr/share/datasets/fashion-mnist).
Without --data these places are looked at: {", ".join(map(str, PLACES))}."""
# Of the recipe that the paper took over; other pictures are normalised by their own numbers.
_CIFAR10 = ((0.4914, 0.4822, 0.4465), (0.2023, 0.1994, 0.2010))


@dataclass(frozen=True)
class Pictures:
    """Training and test pictures, uint8 (n, 3, 32, 32), their labels, and what the network's input is scaled by."""

    name: str
    train: Split
    test: Split
    mean: tuple[float, ...]
    std: tuple[float, ...]

    @property
    def classes(self) -> int:
        return int(self.train[1].max()) + 1


def load(data: str | None, cache: Path) -> Pictures:
    """Pictures from a folder, the hub or nowhere (``made-up``).

    Args:
        data: a folder, ``hub:<name>``, ``made-up``, or None for the first of ``PLACES`` that exists.
        cache: folder for what was decoded.
    """
    if data == MADE_UP:
        return _checked(MADE_UP, make_up(), "the made-up data")
    if data is not None and data.startswith("hub:"):
        kind, where, reader = "hub", data, lambda: read_hub(data[4:])
        key = data
    else:
        folder = _find(data)
        found = recognise(folder)
        if found is None:
            raise RunError(f"{folder} holds no pictures in a known layout.\n{HELP}")
        kind, where = found[0], str(folder)
        reader, key = (lambda: found[1](folder)), _fingerprint(folder)
    path = cache / f"{kind}-{hashlib.sha256(key.encode()).hexdigest()[:12]}.pt"
    with one_at_a_time(cache):
        if not path.exists():
            print(f"Decoding {where} once into {path}", flush=True)
            _keep(_read(reader, where), path)
    return _checked(kind, torch.load(path, weights_only=True), where)


def _find(data: str | None) -> Path:
    if data is not None:
        if not Path(data).is_dir():
            raise RunError(f"data must be a folder, hub:<name> or {MADE_UP}, and there is no folder {data}.\n{HELP}")
        return Path(data)
    for place in PLACES:
        if place.is_dir():
            return place
    raise RunError(f"No pictures found.\n{HELP}")


def _read(reader: object, where: str) -> dict[str, Split]:
    assert callable(reader)
    try:
        return reader()
    except RunError:
        raise
    except Exception as error:  # whatever a torn file makes a decoder raise
        raise RunError(f"{where} is damaged or incomplete ({type(error).__name__}: {error}).\n{HELP}") from error


def _checked(kind: str, splits: dict[str, Split], where: str) -> Pictures:
    for name, (images, labels) in splits.items():
        if images.dtype != torch.uint8 or images.shape[1:] != (3, SIDE, SIDE) or len(images) != len(labels):
            raise RunError(f"{where}: {name} has pictures {tuple(images.shape)} for {len(labels)} labels.\n{HELP}")
    (images, _), whole = splits["train"], (len(splits["train"][0]), len(splits["test"][0])) == (50_000, 10_000)
    digest = hashlib.sha256()
    for split in splits.values():
        for part in split:
            digest.update(part.numpy().tobytes())
    is_cifar10 = whole and kind != "idx" and int(splits["train"][1].max()) == 9
    mean, std = _CIFAR10 if is_cifar10 else _moments(images)
    name = f"{kind} {digest.hexdigest()[:12]}" if is_cifar10 else f"{OTHER} {kind} {digest.hexdigest()[:12]}"
    return Pictures(name, splits["train"], splits["test"], mean, std)


def _moments(images: Tensor) -> tuple[tuple[float, ...], tuple[float, ...]]:
    values = images.double() / 255
    return tuple(values.mean((0, 2, 3)).tolist()), tuple(values.std((0, 2, 3)).tolist())


def _fingerprint(folder: Path) -> str:
    """Changes when a file does."""
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return repr([(str(path.relative_to(folder)), path.stat().st_size, path.stat().st_mtime_ns) for path in files])


def _keep(splits: dict[str, Split], path: Path) -> None:
    """The file appears whole or not at all."""
    temporary = path.with_suffix(".new")
    torch.save(splits, temporary)
    os.replace(temporary, path)
