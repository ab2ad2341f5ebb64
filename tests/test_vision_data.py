"""Reading small pictures, and saying what is missing."""

import gzip
import io
import pickle
import sys
import types

import numpy as np
import pytest
import torch
from vision_cases import SHARED

from proxact.experiments.runs import RunError
from proxact.experiments.vision.pictures import load

RANDOM = np.random.default_rng(0)
IMAGES = {
    "train": RANDOM.integers(0, 256, (20, 32, 32, 3), np.uint8),
    "test": RANDOM.integers(0, 256, (10, 32, 32, 3), np.uint8),
}
LABELS = {"train": np.arange(20) % 10, "test": np.arange(10)}


def write_parquet(folder):
    pyarrow = pytest.importorskip("pyarrow")
    from PIL import Image
    from pyarrow import parquet

    for split, images in IMAGES.items():
        rows = []
        for picture, label in zip(images, LABELS[split], strict=True):
            content = io.BytesIO()
            Image.fromarray(picture).save(content, "PNG")
            rows.append({"img": {"bytes": content.getvalue(), "path": None}, "label": int(label)})
        parquet.write_table(pyarrow.Table.from_pylist(rows), folder / f"{split}-00000-of-00001.parquet")


def write_batches(folder):
    flat = {split: images.transpose(0, 3, 1, 2).reshape(len(images), -1) for split, images in IMAGES.items()}
    for i in range(5):
        part = slice(4 * i, 4 * i + 4)
        content = {b"data": flat["train"][part], b"labels": LABELS["train"][part].tolist()}
        (folder / f"data_batch_{i + 1}").write_bytes(pickle.dumps(content))
    (folder / "test_batch").write_bytes(pickle.dumps({b"data": flat["test"], b"labels": LABELS["test"].tolist()}))


def write_idx(folder, squeeze=gzip.compress):
    for split, prefix in (("train", "train"), ("test", "t10k")):
        grey, labels = IMAGES[split][:, 2:30, 2:30, 0], LABELS[split].astype(np.uint8)
        for name, array in ((f"{prefix}-images-idx3-ubyte.gz", grey), (f"{prefix}-labels-idx1-ubyte.gz", labels)):
            header = bytes([0, 0, 8, array.ndim]) + np.array(array.shape, ">i4").tobytes()
            (folder / name).write_bytes(squeeze(header + array.tobytes()))


WRITERS = {"parquet": write_parquet, "batches": write_batches, "idx": write_idx}


@pytest.mark.parametrize("kind", WRITERS)
def test_every_layout_gives_the_pictures_that_were_written(tmp_path, kind, capsys):
    folder = tmp_path / "data"
    folder.mkdir()
    WRITERS[kind](folder)
    found = load(str(folder), tmp_path / "cache")
    assert "Decoding" in capsys.readouterr().out
    for split, (images, labels) in {"train": found.train, "test": found.test}.items():
        expected = IMAGES[split]
        if kind == "idx":
            expected = np.zeros_like(expected)
            expected[:, 2:30, 2:30] = IMAGES[split][:, 2:30, 2:30, :1]
        assert np.array_equal(images.numpy(), expected.transpose(0, 3, 1, 2))
        assert np.array_equal(labels.numpy(), LABELS[split])
    values = found.train[0].numpy() / 255
    assert found.mean == pytest.approx(values.mean((0, 2, 3)))
    assert found.classes == 10
    again = load(str(folder), tmp_path / "cache")
    assert capsys.readouterr().out == ""  # from the cache
    assert again.name == found.name


@pytest.mark.parametrize("kind", WRITERS)
def test_a_damaged_file_is_named_with_what_to_get(tmp_path, kind):
    WRITERS[kind](tmp_path)
    torn = max(tmp_path.iterdir(), key=lambda path: path.stat().st_size)
    torn.write_bytes(torn.read_bytes()[: torn.stat().st_size // 2])
    with pytest.raises(RunError, match=r"(?s)damaged or incomplete.*uoft-cs/cifar10"):
        load(str(tmp_path), tmp_path / "cache")
    assert not list((tmp_path / "cache").glob("*.pt"))


def test_missing_files_are_named(tmp_path):
    for kind, missing, named in (
        ("idx", "t10k-labels-idx1-ubyte.gz", "t10k-labels-idx1-ubyte"),
        ("batches", "data_batch_3", "data_batch_3"),
        ("parquet", "test-00000-of-00001.parquet", r"must have files test\*.parquet, it has 0"),
    ):
        folder = tmp_path / kind
        folder.mkdir()
        WRITERS[kind](folder)
        (folder / missing).unlink()
        with pytest.raises(RunError, match=rf"(?s)damaged or incomplete.*{named}"):
            load(str(folder), tmp_path / "cache")
    write_parquet(folder)
    (folder / "train-00000-of-00001.parquet").rename(folder / "train-00000-of-00002.parquet")
    with pytest.raises(RunError, match=r"must have 2 files train\*.parquet, it has 1"):
        load(str(folder), tmp_path / "cache")


def test_a_snapshot_of_the_hub_has_its_files_one_folder_deeper(tmp_path):
    (tmp_path / "data" / "plain_text").mkdir(parents=True)
    write_parquet(tmp_path / "data" / "plain_text")
    assert len(load(str(tmp_path / "data"), tmp_path).train[0]) == 20


def test_the_hub_by_the_package_datasets(tmp_path, monkeypatch):
    """Not downloaded: what the package is asked for, and what becomes of its answer."""
    from PIL import Image

    class Loaded:
        column_names = ("img", "label")

        def __init__(self, split):
            self.columns = {"img": [*map(Image.fromarray, IMAGES[split])], "label": LABELS[split].tolist()}

        def __getitem__(self, name):
            return self.columns[name]

    asked = []
    package = types.ModuleType("datasets")
    package.load_dataset = lambda name, split: asked.append((name, split)) or Loaded(split)
    monkeypatch.setitem(sys.modules, "datasets", package)
    found = load("hub:someone/pictures", tmp_path)
    assert asked == [("someone/pictures", "train"), ("someone/pictures", "test")]
    assert np.array_equal(found.test[0].numpy(), IMAGES["test"].transpose(0, 3, 1, 2))
    assert found.name.startswith("other: hub ")


def test_missing_data(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(RunError, match=r"(?s)No pictures found.*cifar-10-python.tar.gz.*data/cifar10"):
        load(None, tmp_path)
    with pytest.raises(RunError, match=r"(?s)no folder nowhere.*--data"):
        load("nowhere", tmp_path)
    (tmp_path / "empty").mkdir()
    with pytest.raises(RunError, match="no pictures in a known layout"):
        load("empty", tmp_path)


def test_a_pickle_runs_no_code(tmp_path):
    class Evil:
        def __reduce__(self):
            return (print, ("executed",))

    write_batches(tmp_path)
    (tmp_path / "test_batch").write_bytes(pickle.dumps(Evil()))
    with pytest.raises(RunError, match=r"builtins.print"):
        load(str(tmp_path), tmp_path / "cache")


@pytest.mark.slow
@pytest.mark.skipif(not (SHARED / "cifar10").exists(), reason="needs ../shared/data/cifar10")
def test_the_real_pictures(tmp_path):
    pytest.importorskip("pyarrow")
    found = load(str(SHARED / "cifar10"), tmp_path)
    assert found.name == "parquet fa386ef182bd"  # what the runs in results/cifar10 are made with
    assert torch.bincount(found.train[1]).tolist() == [5000] * 10
    assert torch.bincount(found.test[1]).tolist() == [1000] * 10
    assert found.train[0].double().mean().item() / 255 == pytest.approx(0.473, abs=0.005)
