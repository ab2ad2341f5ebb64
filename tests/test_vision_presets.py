"""Named recipes of CIFAR10: what the presets say, what they name their runs, what their networks start as."""

import math

import pytest
import torch

import proxact
from proxact.experiments.cifar10 import Cifar10, build, describe
from proxact.experiments.vision.presets import PRESETS, RECIPES, plan
from proxact.report.sections.paper_tables import PAPER, matching

pytest.importorskip("lightning.fabric")


def test_the_papers_recipe():
    run = Cifar10("mpu2")
    expected = {
        "epochs": 200,
        "batch": 128,
        "optimizer": "sgd",
        "peak": 0.1,
        "momentum": 0.9,
        "nesterov": False,
        "weight_decay": 5e-4,
        "schedule": "cosine",
        "low": 1e-4,
        "label_smoothing": 0.0,
        "padding": 4,
        "pad": "zero",
        "flip": "random",
        "width": 64,
        "precision": "fp32",
        "grouping": "channels",
        "alpha": math.pi / 4,
        "learn_angle": True,
        "decay": "all-but-angles",
    }
    assert {name: getattr(run, name) for name in expected} == expected


def test_every_row_of_the_papers_tables_has_a_preset():
    planned = [one for name in PRESETS for one in plan(name)]
    made = [
        {"experiment": "cifar10", "activation": one.activation, "config": vars(one), "seed": one.seed}
        for one in planned
    ]
    tables = [entry for entry in PAPER["tables"].values() if entry["experiment"] == "cifar10"]
    assert len(tables) == 5
    for entry in tables:
        for row in entry["rows"]:
            assert {run["seed"] for run in matching(row, entry, made)} == {1, 2, 3}, row


def test_a_changed_recipe_has_another_name_and_folder():
    names = {}
    for given in ({}, {"peak": 0.2}, {"decay": "all"}, {"grouping": "text"}, {"learn_angle": False}, {"width": 16}):
        (one,) = plan("paper", ("mpu2",), (1,), given)
        names[str(given)] = one.preset
        assert (one.preset == "paper") == (not given)
    (published,) = plan("paper", ("mpu2",), (1,), published=True)
    assert published.preset == "paper-as-published"
    assert len({*names.values(), published.preset}) == 7
    for relu in (
        *plan("paper", ("relu",), (1,), {"grouping": "text"}),
        *plan("paper", ("relu",), (1,), published=True),
        *plan("paper", ("relu",), (1,), {"decay": "all"}),
    ):
        assert relu.preset == "paper"  # there is no unit to change


def test_names_are_written_in_one_way():
    (one,) = plan("paper", ("Leaky-MPU",), (1,))
    assert (one.activation, one.label) == ("leaky_mpu2", "paper/resnet18/leaky_mpu2/seed1")


@pytest.mark.parametrize(
    ("given", "published", "said"),
    [
        ({}, False, ["epochs          200", "axis 1", "0.7854 rad, tangent 1, learnt"]),
        ({"grouping": "text"}, False, ["flattened"]),
        ({}, True, ["last axis", "0.0000 rad, tangent 0, not learnt"]),
    ],
)
def test_a_preset_says_what_it_is(given, published, said):
    (one,) = plan("paper", ("mpu2",), (1,), given, published)
    text = describe(one)
    assert all(part in text for part in said), text


def test_as_published_is_the_mean_of_neighbouring_pixels():
    (one,) = plan("paper", ("mpu2",), (1,), {"width": 8}, published=True)
    net = build(one)
    x = torch.randn(2, 8, 6, 8)
    means = x.unflatten(3, (4, 2)).mean(4, keepdim=True).relu().expand(-1, -1, -1, -1, 2)
    torch.testing.assert_close(net.stem[2](x), means.flatten(3))
    assert not any("theta" in name for name, _ in net.named_parameters())
    (leaky,) = plan("paper", ("leaky_mpu2",), (1,), {"width": 8}, published=True)
    unit = build(leaky).stem[2]  # the one whose angle trains there
    assert unit.theta.requires_grad
    assert unit.alpha.item() < 0.005


def test_text_flattens():
    (one,) = plan("paper", ("mpu3",), (1,), {"width": 8, "grouping": "text"})
    x = torch.randn(2, 8, 6, 8)
    flat = proxact.project.cone(x.flatten(1), math.pi / 4, 3, 1, remainder="pad").view_as(x)
    torch.testing.assert_close(build(one).stem[2](x), flat)


def test_all_activations_of_a_seed_start_from_the_same_weights():
    names = ("relu", "leaky_relu", "prelu", "wta", "mpu2", "leaky_mpu2", "mpu3", "gelu", "silu")
    states = {name: build(Cifar10(name, width=8)).state_dict() for name in names}
    for name, state in states.items():
        shared = [key for key in state if not key.endswith("theta") and key in states["relu"]]
        assert len(shared) == len(states["relu"])
        assert all(torch.equal(state[key], states["relu"][key]) for key in shared), name
    other = build(Cifar10("relu", seed=2, width=8)).state_dict()
    assert not torch.equal(other["stem.0.weight"], states["relu"]["stem.0.weight"])


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"micro_batch": 48}, "micro_batch must divide batch = 128, got 48"),
        ({"warmup": 300.0, "schedule": "one-cycle"}, r"warmup must be in \[0, 200\)"),
        ({"warmup": 5.0}, "warmup must be left out with the schedule cosine, which has none, got 5.0"),
        ({"padding": -1}, "padding must be an int >= 0, got -1"),
        ({"extra_epochs": -300}, "extra_epochs must be an int >= 0, got -300"),
        ({"peak": -1.0}, "peak must be a number >= 0, got -1.0"),
        ({"momentum": -2.0}, r"momentum must be a float in \[0, 1\], got -2.0"),
        ({"alpha": 9.0}, "alpha must be a float in .*, got 9.0"),
        ({"width": 4}, "width must be at least 8"),
        ({"small_share": 1.5}, r"small_share must be a float in \[0, 1\], got 1.5"),
        ({"grouping": "rows"}, "grouping must be one of"),
        ({"sync_bn": True}, "sync_bn needs GPUs"),
    ],
)
@pytest.mark.skipif(torch.cuda.is_available(), reason="sync_bn works there")
def test_wrong_settings(given, message):
    with pytest.raises(ValueError, match=message):
        list(plan("paper", ("mpu2",), (1,), given))
    with pytest.raises(ValueError, match="preset must be one of"):
        list(plan("papr"))
    with pytest.raises(ValueError, match="grouping must be left out with as_published, which sets it, got text"):
        list(plan("paper", given={"grouping": "text"}, published=True))


def test_a_batch_is_divided_among_the_processes(monkeypatch):
    monkeypatch.setenv("WORLD_SIZE", "4")
    (one,) = plan("paper", ("relu",), (1,))
    assert one.micro_batch == 32
    monkeypatch.setenv("WORLD_SIZE", "3")
    with pytest.raises(ValueError, match="batch must be a multiple of the 3 processes, got 128"):
        list(plan("paper", ("relu",), (1,)))


def test_the_command_prints_every_networks_configuration(capsys, monkeypatch):
    from proxact.experiments.vision.command import cifar10

    monkeypatch.setattr("proxact.bench.timing.keep_freed_memory", lambda: None)  # it starts the process again
    cifar10("paper-deeper", dry_run=True)
    shown = capsys.readouterr().out
    assert [name for name in ("resnet34", "resnet50") if f"model           {name}" in shown] == ["resnet34", "resnet50"]
    assert shown.count("cifar10, relu:") == 2  # once for all seeds


def test_recipes_name_fields():
    assert all(set(settings) <= set(Cifar10.__dataclass_fields__) for settings in RECIPES.values())


@pytest.mark.parametrize(
    ("activation", "message"),
    [
        ("crelu", "activation must keep the channels, got 'crelu', which makes 32 of 16"),
        ("polyhedron", "activation must be one that needs no parameters, got 'polyhedron': .*'H' and 'r'"),
        ("psd", "psd has no parameters to give, got 'dim'"),
    ],
)
def test_activations_that_do_not_fit(activation, message):
    with pytest.raises(ValueError, match=message):
        list(plan("paper", (activation,), (1,)))


@pytest.mark.parametrize(
    ("onednn", "avx512", "multiplies", "precision"),
    [
        (True, True, True, "bf16"),
        (True, True, False, "fp32"),
        (False, False, False, "fp32"),
        (True, False, False, "bf16"),
    ],
    ids=["avx512_bf16", "avx512", "avx2", "arm"],
)
def test_bf16_only_where_the_processor_multiplies_it(monkeypatch, onednn, avx512, multiplies, precision):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setattr(torch.ops.mkldnn, "_is_mkldnn_bf16_supported", lambda: onednn)
    monkeypatch.setattr(torch.cpu, "_is_avx512_supported", lambda: avx512)
    monkeypatch.setattr(torch.cpu, "_is_avx512_bf16_supported", lambda: multiplies)
    (one,) = plan("cpu", ("relu",), (1,))
    assert one.precision == precision


def test_a_torch_without_onednn_has_no_operator_to_ask(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setattr(torch.backends.mkldnn, "is_available", lambda: False)
    monkeypatch.setattr(torch.ops.mkldnn, "_is_mkldnn_bf16_supported", None, raising=False)
    (one,) = plan("cpu", ("relu",), (1,))
    assert one.precision == "fp32"


def test_batch_norm_over_all_processes_is_the_recipe(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setenv("WORLD_SIZE", "4")
    found = {
        given: next(plan("paper", ("relu",), (1,), dict(given)))
        for given in ((), (("sync_bn", True),), (("sync_bn", True), ("micro_batch", 16)))
    }
    assert [one.preset for one in found.values()] == [
        "paper-microbatch32",
        "paper",
        "paper-microbatch16-syncbn",
    ]
    assert [one.micro_batch for one in found.values()] == [32, 32, 16]


@pytest.mark.parametrize("precision", ["fp32", "bf16"])
def test_the_cpu_protocol_keeps_its_name_in_either_precision(precision):
    one = next(plan("cpu", ("relu",), (1,), {"precision": precision}))
    assert (one.precision, one.preset) == (precision, "cpu")
