"""ImageNet: recipes, networks, augmentation, pictures."""

import importlib.util
import tarfile

import numpy as np
import pytest
import torch
from imagenet_cases import DEIT, TINY, one
from PIL import Image
from torch import nn
from vision_cases import make_folders

import proxact
from proxact.experiments import imagenet
from proxact.experiments.imagenet import build, describe, plan, transforms
from proxact.experiments.runs import RunError
from proxact.experiments.vision.folders import Folders, find
from proxact.experiments.vision.optimise import groups
from proxact.experiments.vision.parallel import Machine, Share
from proxact.report.sections.paper_tables import PAPER, matching

pytest.importorskip("lightning.fabric")
pytest.importorskip("timm")
CPU = torch.device("cpu")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return make_folders(tmp_path_factory.mktemp("pictures"))


def test_the_papers_recipes():
    resnet, deit = vars(one("resnet18")), vars(one("deit_tiny"))
    expected = {"epochs": 100, "batch": 256, "micro_batch": 32, "rate": 0.1, "milestones": (30, 60, 90)}
    expected |= {"momentum": 0.9, "weight_decay": 1e-4, "clip": None, "mixup": 0.0, "randaugment": "", "size": 224}
    assert {name: resnet[name] for name in expected} == expected
    expected = {"epochs": 500, "batch": 1024, "micro_batch": 128, "rate": 1e-3, "low": 1e-5, "first_epochs": 20}
    expected |= {"warm_up": False, "weight_decay": 0.05, "decay": "weights", "clip": 5.0, "label_smoothing": 0.1}
    expected |= {"mixup": 0.8, "cutmix": 1.0, "erasing": 0.25, "size": 224}
    assert {name: deit[name] for name in expected} == expected
    assert "rand-m9-mstd0.5" in deit["randaugment"]
    assert "0.7854 rad" in describe(one("deit_tiny"))
    assert "the last, a transformer's channels" in describe(one("deit_tiny"))


def test_every_row_of_the_papers_tables_is_planned():
    planned = [run for model in imagenet.MODELS for run in plan(model, None, (1,), {})]
    data = {"data": "imagenet, 1000 classes, 1281167 pictures"}
    made = [{"experiment": "imagenet", "activation": run.activation, "config": vars(run) | data} for run in planned]
    tables = [entry for entry in PAPER["tables"].values() if entry["experiment"] == "imagenet"]
    assert len(tables) == 2
    for entry in tables:
        for row in entry["rows"]:
            assert len(matching(row, entry, made)) == 1, row
    shorter = one("resnet18", epochs=10)
    assert (shorter.preset, shorter.milestones) == ("paper-epochs10", (3, 6, 9))
    relu = next(plan("resnet18", ("relu",), (1,), {"decay": "all"}))
    assert (relu.preset, relu.decay) == ("paper", "all-but-angles")  # there is no angle to decay
    assert one("resnet18", decay="all").preset == "paper-decayall"


@pytest.mark.parametrize(("model", "sites"), [("resnet18", 17), ("deit_tiny", 12)])
def test_networks(model, sites):
    net, relu = (build(one(model, name, size=32), 10) for name in ("mpu2", "relu"))
    units = [module for module in net.modules() if isinstance(module, proxact.MPU)]
    assert len(set(units)) == sites
    assert not any(isinstance(module, (nn.ReLU, nn.GELU)) for module in net.modules())
    state, other = net.state_dict(), relu.state_dict()
    assert all(torch.equal(state[name], other[name]) for name in other)  # weights of a seed are shared
    x = torch.randn(2, 3, 32, 32)
    torch.testing.assert_close(net.eval()(x), relu.eval()(x), rtol=0, atol=1e-5)
    if model == "resnet18":
        assert (net.layer1[0].bn2.weight == 0).all()  # zero-init residual
        return
    names = {id(parameter): name for name, parameter in net.named_parameters()}
    spared = {names[id(p)] for p in groups(net, 0.05, "weights")[1]["params"]}
    assert {"cls_token", "pos_embed", "norm.weight", "blocks.0.mlp.act.theta", "blocks.0.mlp.fc1.bias"} <= spared
    assert not any(name.endswith(("fc1.weight", "qkv.weight", "proj.weight")) for name in spared)


def test_augmentation_depends_on_seed_epoch_and_picture_alone(folder):
    run = one("deit_tiny", **DEIT)

    def epoch(number, share=Share(parts=2), first_step=0, workers=0):  # noqa: B008 - frozen
        source = Folders(folder, transforms(run), share, 16, 1, device=CPU, workers=workers)
        source.mix = imagenet.mixing(run, source.classes)
        return [pair for _, pairs in source.epoch(number, first_step) for pair in pairs]

    whole = epoch(0)
    assert len(whole) == 8
    again = epoch(0, workers=1)
    shared = [epoch(0, Share(rank, 2, 2)) for rank in range(2)]
    late = epoch(0, first_step=3)
    for i, (x, y) in enumerate(whole):
        assert torch.equal(x, again[i][0])
        assert torch.equal(x, shared[i % 2][i // 2][0])
        assert torch.equal(y, shared[i % 2][i // 2][1])
        if i >= 6:
            assert torch.equal(x, late[i - 6][0])
    assert not torch.equal(whole[0][0], epoch(1)[0][0])


def test_the_strongest_augmentation_is_drawn_too(monkeypatch):
    """One in forty draws of a magnitude is 10; Pillow 13 fails there on what timm asks of it."""
    picture = Image.fromarray(np.random.default_rng(0).integers(0, 255, (40, 48, 3), dtype=np.uint8))
    train, _ = transforms(one("deit_tiny", **DEIT))
    (augment,) = [part for part in train.transforms if hasattr(part, "ops")]
    monkeypatch.setattr("random.gauss", lambda mean, deviation: mean + 9 * deviation)
    found = {operation.name: [operation(picture) for _ in range(20)] for operation in augment.ops}
    assert len(found) == 15
    black = [shown for shown in found["PosterizeIncreasing"] if shown.getextrema() == ((0, 0),) * 3]
    assert 0 < len(black) < 20  # an operation is applied to half of the pictures


@pytest.mark.parametrize("model", ["resnet18", "deit_tiny"])
def test_both_presets_start_and_train(tmp_path, folder, model):
    given = {**(DEIT if model == "deit_tiny" else TINY), "epochs": 2}
    summary = imagenet.run(one(model, **given), tmp_path, folder, Machine(workers=0))
    assert [row["epoch"] for row in summary["curve"]] == [1, 2]
    assert summary["curve"][0]["angle0"] != summary["curve"][1]["angle0"]
    assert summary["metrics"]["score"] == summary["curve"][-1]["accuracy"]
    assert (tmp_path / "model.pt").exists()


def test_archives_are_unpacked_once(tmp_path, folder, capsys):
    archive = tmp_path / "small.tar.gz"
    with tarfile.open(archive, "w:gz") as file:
        file.add(folder, "small")
    found = find(archive, tmp_path / "cache")
    assert found.name == "small"
    assert len(list(found.rglob("*.JPEG"))) == len(list(folder.rglob("*.JPEG"))) == 84
    assert "Unpacking" in capsys.readouterr().out
    assert find(archive, tmp_path / "cache") == found
    assert capsys.readouterr().out == ""
    archive.write_bytes(archive.read_bytes()[:5000])
    with pytest.raises(RunError, match=r"(?s)damaged or no archive.*ILSVRC 2012"):
        find(archive, tmp_path / "cache")


@pytest.mark.parametrize("where", [0.3, 0.6, 0.9])
def test_a_damaged_archive_is_no_archive_of_fewer_pictures(tmp_path, folder, where):
    archive = tmp_path / "small.tar.gz"
    with tarfile.open(archive, "w:gz") as file:
        file.add(folder, "small")
    content = bytearray(archive.read_bytes())
    place = int(where * len(content))
    content[place : place + 64] = bytes(64)
    archive.write_bytes(content)
    with pytest.raises(RunError, match=r"(?s)damaged or no archive.*ILSVRC 2012"):
        find(archive, tmp_path / "cache")


def test_a_recipe_says_what_it_uses():
    deit, resnet = describe(one("deit_tiny")), describe(one("resnet18"))
    for words in ("AdamW, betas 0.9 and 0.999", "clip            5.0", "erasing         0.25", "the last"):
        assert words in deit
    for words in ("SGD", "(30, 60, 90)", "branches start at zero", "1, channels"):
        assert words in resnet
    assert "milestones" not in deit
    assert "mixup" not in resnet


def test_missing_and_damaged_pictures(tmp_path):
    with pytest.raises(RunError, match=r"(?s)there is no .*nowhere.*train/<class>"):
        find(tmp_path / "nowhere", tmp_path)
    with pytest.raises(RunError, match="no folders train and val"):
        find(tmp_path, tmp_path)
    folder = make_folders(tmp_path / "pictures", classes=2, train=4, val=1)
    for path in (folder / "train").rglob("*.JPEG"):
        path.write_bytes(path.read_bytes()[:100])
    source = Folders(folder, transforms(one("resnet18", **TINY)), Share(), 4, 1, device=CPU, workers=0)
    with pytest.raises(RunError, match=r"JPEG is damaged"):
        next(source.epoch(0))


@pytest.mark.skipif(torch.cuda.is_available(), reason="works there")
def test_settings_that_cannot_be():
    with pytest.raises(ValueError, match="sync_bn needs GPUs"):
        one("resnet18", sync_bn=True)
    with pytest.raises(ValueError, match="size must be a multiple of 16"):
        one("deit_tiny", size=30)
    with pytest.raises(ValueError, match="first_epochs must be in"):
        one("deit_tiny", epochs=10)
    with pytest.raises(ValueError, match="warm_up must be left out for resnet18"):
        one("resnet18", warm_up=True)
    with pytest.raises(ValueError, match="alpha must be a float in"):
        one("resnet18", alpha=9.0)
    with pytest.raises(ValueError, match="activation must keep the channels, got 'maxout', which makes 8 of 16"):
        one("resnet18", "maxout")
    with pytest.raises(ValueError, match="divisible by the number of processes, 16, got 8: start fewer processes"):
        Share(0, 16, 8)


def test_what_is_missing_is_named(tmp_path, monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "timm" else name)
    with pytest.raises(RunError, match=r"needs timm: pip install 'proxact\[vision\]'"):
        imagenet.prepare(tmp_path, tmp_path)
