"""Readers of labelled 32 x 32 pictures: each returns (images uint8 (n, 3, 32, 32), labels int64) for train and test."""

from __future__ import annotations

import gzip
import importlib
import io
import pickle
import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ..runs import RunError

Split = tuple[Tensor, Tensor]
SIDE = 32
_PICKLED = {("numpy", "ndarray"), ("numpy", "dtype")} | {
    (module, "_reconstruct") for module in ("numpy.core.multiarray", "numpy._core.multiarray")
}


def read_parquet(folder: Path) -> dict[str, Split]:
    """``train-*.parquet`` and ``test-*.parquet`` with an encoded picture and a label in each row (Hugging Face)."""
    try:
        parquet = importlib.import_module("pyarrow.parquet")
    except ModuleNotFoundError as error:
        raise RunError("parquet files need pyarrow: pip install 'proxact[vision]'") from error

    def rows(split: str) -> Iterable[tuple[bytes, int]]:
        paths = sorted(folder.glob(f"{split}*.parquet"))
        named = re.search(r"-of-(\d+)", paths[0].name) if paths else None
        if not paths or (named and len(paths) != int(named[1])):
            expected = f"{int(named[1])} files" if named else "files"
            raise FileNotFoundError(f"{folder} must have {expected} {split}*.parquet, it has {len(paths)}")
        for path in paths:
            table = parquet.read_table(path)
            picture = _column(table.column_names, ("img", "image"), path)
            label = _column(table.column_names, ("label", "labels"), path)
            yield from ((img["bytes"], int(y)) for img, y in zip(*_lists(table, picture, label), strict=True))

    return {split: _decoded(rows(split)) for split in ("train", "test")}


def read_hub(name: str) -> dict[str, Split]:
    """A dataset of the Hugging Face hub, by the package ``datasets``."""
    try:
        datasets = importlib.import_module("datasets")
    except ModuleNotFoundError as error:
        raise RunError(f"hub:{name} needs the package datasets: pip install datasets") from error
    found = {}
    for split in ("train", "test"):
        loaded = datasets.load_dataset(name, split=split)
        picture = _column(loaded.column_names, ("img", "image"), name)
        label = _column(loaded.column_names, ("label", "labels"), name)
        images = np.stack([_as_array(row) for row in loaded[picture]])
        found[split] = (_as_tensor(images), torch.tensor(loaded[label]))
    return found


def read_batches(folder: Path) -> dict[str, Split]:
    """``cifar-10-batches-py``, as its authors publish it."""

    def split(names: list[str]) -> Split:
        parts = [_Unpickler(io.BytesIO((folder / name).read_bytes()), encoding="bytes").load() for name in names]
        images = np.concatenate([part[b"data"] for part in parts]).reshape(-1, 3, SIDE, SIDE)
        return torch.from_numpy(images), torch.tensor([label for part in parts for label in part[b"labels"]])

    return {"train": split([f"data_batch_{i}" for i in range(1, 6)]), "test": split(["test_batch"])}


def read_idx(folder: Path) -> dict[str, Split]:
    """MNIST's and Fashion-MNIST's files; grey 28 x 28 pictures get a black frame of 2 and three equal channels."""

    def array(name: str, axes: int) -> np.ndarray:
        path = folder / name
        path = path if path.exists() else folder / f"{name}.gz"
        content = path.read_bytes()
        content = gzip.decompress(content) if path.suffix == ".gz" else content
        if content[:4] != bytes([0, 0, 8, axes]):
            raise ValueError(f"{path} does not start as an idx file of {axes} axes does")
        sizes = np.frombuffer(content, ">i4", axes, 4)
        return np.frombuffer(content, np.uint8, int(sizes.prod()), 4 + 4 * axes).reshape(sizes)

    def split(prefix: str) -> Split:
        grey = array(f"{prefix}-images-idx3-ubyte", 3)
        frame = (SIDE - grey.shape[1]) // 2
        images = np.pad(grey, ((0, 0), (frame, frame), (frame, frame)))[:, None].repeat(3, 1)
        return torch.from_numpy(images), torch.from_numpy(array(f"{prefix}-labels-idx1-ubyte", 1).astype(np.int64))

    return {"train": split("train"), "test": split("t10k")}


def make_up(train: int = 640, test: int = 200) -> dict[str, Split]:
    """Noisy pictures of ten colours and stripes, for tests; an accuracy on them says nothing."""

    def split(count: int, seed: int) -> Split:
        random = torch.Generator().manual_seed(seed)
        labels = torch.arange(count) % 10
        colour = torch.rand(10, 3, 1, 1, generator=torch.Generator().manual_seed(0))
        stripes = torch.sin(torch.arange(SIDE) * (1 + torch.arange(10.0))[:, None] / 3)[:, None, None, :]
        noise = torch.randn(count, 3, SIDE, SIDE, generator=random)
        images = 120 * colour[labels] + 40 * stripes[labels] + 64 + 32 * noise
        return images.clamp(0, 255).to(torch.uint8), labels

    return {"train": split(train, 1), "test": split(test, 2)}


def recognise(folder: Path) -> tuple[str, Callable[[Path], dict[str, Split]]] | None:
    """The kind of data in a folder, and its reader."""
    nested = folder / "cifar-10-batches-py"
    if any(folder.glob("train*.parquet")):
        return "parquet", read_parquet
    if below := sorted(folder.glob("*/train*.parquet")):  # as the hub lays a dataset out
        return "parquet", lambda _: read_parquet(below[0].parent)
    if (folder / "data_batch_1").exists():
        return "batches", read_batches
    if nested.exists():
        return "batches", lambda _: read_batches(nested)
    if any(folder.glob("train-images-idx3-ubyte*")):
        return "idx", read_idx
    return None


class _Unpickler(pickle.Unpickler):
    """Arrays only: a file of pictures has no business running code."""

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) not in _PICKLED:
            raise ValueError(f"it asks for {module}.{name}, which no file of pictures needs")
        return super().find_class(module, name)


def _column(names: list[str], wanted: tuple[str, ...], where: object) -> str:
    for name in wanted:
        if name in names:
            return name
    raise ValueError(f"{where} must have a column {' or '.join(wanted)}, it has {', '.join(names)}")


def _lists(table: Any, *columns: str) -> list[list[Any]]:
    return [table.column(column).to_pylist() for column in columns]


def _decoded(rows: Iterable[tuple[bytes, int]]) -> Split:
    from PIL import Image

    images, labels = [], []
    for content, label in rows:
        images.append(_as_array(Image.open(io.BytesIO(content))))
        labels.append(label)
    return _as_tensor(np.stack(images)), torch.tensor(labels)


def _as_array(picture: Any) -> np.ndarray:
    return np.asarray(picture.convert("RGB"))


def _as_tensor(images: np.ndarray) -> Tensor:
    return torch.from_numpy(images).permute(0, 3, 1, 2).contiguous()
