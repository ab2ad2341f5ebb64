"""proxact inside timm and transformers, the real packages."""

import copy
import pickle
import sys
from pathlib import Path

import pytest
import torch
from torch import nn

from proxact import MPU, project
from proxact.integrations import act_layer, register_hf, register_timm

EXAMPLES = Path(__file__).parent.parent / "examples"


def units(model):
    return [module for module in model.modules() if isinstance(module, MPU)]


def set_angles(model, alpha=1.0):
    for unit in units(model):
        nn.init.constant_(unit.theta, alpha - torch.pi / 4)


def check_sites(model, *inputs, dim, channels=None):
    """Every unit projects along ``dim``, by its own angle, and gets a gradient."""
    thetas = {id(unit.theta) for unit in units(model)}
    assert len(thetas) == len(units(model)) > 0
    called = []

    def check(unit, args, y):
        (x,) = args
        assert x.shape[dim] in (channels or [x.shape[dim]])
        torch.testing.assert_close(y, project.cone(x, 1.0, unit.m, dim=dim), rtol=1e-5, atol=1e-5)
        called.append(unit)

    set_angles(model)
    handles = [unit.register_forward_hook(check) for unit in units(model)]
    y = model(*inputs)
    y = getattr(y, "last_hidden_state", y)
    assert set(called) == set(units(model))
    y.square().sum().backward()
    assert all(unit.theta.grad.abs().item() > 0 for unit in units(model))
    for handle in handles:
        handle.remove()


def test_act_layer():
    make = act_layer("leaky_mpu3", dim=-1)
    first, second = make(), make(inplace=True)
    assert repr(first) == repr(second) == "LeakyMPU(3, alpha=0.7854, dim=-1, leak=0.01)"
    assert first.theta is not second.theta
    assert make(True).m == 3  # timm's VGG gives inplace by place
    assert repr(pickle.loads(pickle.dumps(make))()) == repr(first)  # Stable-Baselines3 saves what it was given
    with pytest.raises(ValueError, match=r"got 'mpuu2'; near ones: .*mpu2"):
        act_layer("mpuu2")
    with pytest.raises(TypeError, match="alfa"):
        act_layer("mpu2", alfa=0.3)


@pytest.mark.parametrize(
    ("register", "package", "module"),
    [(register_hf, "transformers", "transformers.activations"), (register_timm, "timm", "timm.layers.create_act")],
)
def test_missing_package(register, package, module, monkeypatch):
    monkeypatch.setitem(sys.modules, package, None)
    monkeypatch.delitem(sys.modules, module, raising=False)
    with pytest.raises(ModuleNotFoundError, match=f"needs {package}: pip install {package}"):
        register()


class TestTransformers:
    @pytest.fixture(autouse=True)
    def tables(self, monkeypatch):
        """Their tables as they are without us, and our method away again at the end."""
        self.activations = pytest.importorskip("transformers.activations")
        self.transformers = pytest.importorskip("transformers")
        for name in ("ACT2FN", "ACT2CLS"):
            table = getattr(self.activations, name)
            theirs = {key: value for key, value in dict.items(table) if "partial" not in type(value).__name__}
            monkeypatch.setattr(self, name, theirs, raising=False)
            for key in set(table) - set(theirs):
                del table[key]
        self.transformers.utils.logging.disable_progress_bar()

    def test_names(self):
        names = register_hf()
        assert {"mpu2", "mpu3", "leaky_mpu2", "mpu2_conv", "wta", "sparsemax", "softplus"} <= set(names)
        assert not {"crelu", "maxout", "psd", "halfspace"} & set(names)  # do not fit where a ReLU stood
        assert "softplus_conv" not in names  # has no axis
        assert not set(names) & set(self.ACT2FN)
        for table, theirs in ((self.activations.ACT2FN, self.ACT2FN), (self.activations.ACT2CLS, self.ACT2CLS)):
            assert set(dict.keys(table)) == {*theirs, *names}
            assert all(dict.__getitem__(table, key) is value for key, value in theirs.items())
        assert register_hf() == names
        assert register_hf("mpu17", "crelu") == ["crelu", "crelu_conv", "mpu17", "mpu17_conv"]
        first, second = self.activations.ACT2FN["mpu17"], self.activations.ACT2CLS["mpu17_conv"]()
        assert (first.m, first.dim, second.m, second.dim) == (17, -1, 17, 1)

    def test_errors(self):
        with pytest.raises(ValueError, match="transformers has activations of its own with the names relu"):
            register_hf("mpu2", "relu")
        with pytest.raises(ValueError, match="name must be a known activation, got 'mpuu2'"):
            register_hf("mpuu2")
        assert "mpu2" not in self.activations.ACT2FN

    def small(self, model, act):
        transformers = self.transformers
        tiny = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 24}
        if model == "bert":
            config = transformers.BertConfig(vocab_size=30, hidden_act=act, **tiny)
            return transformers.BertModel(config), torch.randint(0, 30, (2, 7))
        if model == "vit":
            config = transformers.ViTConfig(image_size=16, patch_size=8, hidden_act=act, **tiny)
            return transformers.ViTModel(config), torch.randn(2, 3, 16, 16)
        if model == "gpt2":
            config = transformers.GPT2Config(
                vocab_size=30, n_positions=16, n_embd=16, n_layer=2, n_head=2, activation_function=act
            )
            return transformers.GPT2Model(config), torch.randint(0, 30, (2, 7))
        config = transformers.ResNetConfig(
            embedding_size=8, hidden_sizes=[8, 12], depths=[1, 1], layer_type="basic", hidden_act=act
        )
        return transformers.ResNetModel(config), torch.randn(2, 3, 32, 32)

    @pytest.mark.parametrize(
        ("model", "act", "sites", "dim", "channels"),
        [
            ("bert", "mpu2", 2, -1, {24}),
            ("vit", "leaky_mpu3", 2, -1, {24}),
            ("gpt2", "mpu3", 2, -1, {64}),
            ("resnet", "mpu2_conv", 3, 1, {8, 12}),  # the inner ones of its blocks are always ReLU
        ],
    )
    def test_models(self, model, act, sites, dim, channels):
        register_hf()
        torch.manual_seed(0)
        model, x = self.small(model, act)
        for unit in units(model):
            unit.leak = 0.0  # the check has none
        assert len(units(model)) == sites
        check_sites(model.eval(), x, dim=dim, channels=channels)

    def test_saved_and_loaded(self, tmp_path):
        register_hf()
        torch.manual_seed(0)
        model, x = self.small("bert", "mpu2")
        for unit in units(model):
            nn.init.uniform_(unit.theta, -0.5, 0.5)
        model.eval().save_pretrained(tmp_path)
        loaded = self.transformers.AutoModel.from_pretrained(tmp_path).eval()
        assert [unit.theta.item() for unit in units(loaded)] == [unit.theta.item() for unit in units(model)]
        torch.testing.assert_close(loaded(x).last_hidden_state, model(x).last_hidden_state)
        self.check_put_back(loaded, x)

    @pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
    def test_relu_checkpoint(self, tmp_path, dtype):
        """The angles start at pi/4. Memory that transformers leaves as it was is filled with nan here."""
        register_hf()
        torch.manual_seed(0)
        relu, x = self.small("bert", "relu")
        relu.save_pretrained(tmp_path)
        torch.use_deterministic_algorithms(True)
        try:
            loaded = self.transformers.AutoModel.from_pretrained(tmp_path, hidden_act="mpu2", dtype=dtype).eval()
        finally:
            torch.use_deterministic_algorithms(False)
        assert [unit.theta.item() for unit in units(loaded)] == [0.0, 0.0]
        assert units(loaded)[0].theta.dtype == dtype
        if dtype == torch.float32:
            torch.testing.assert_close(loaded(x).last_hidden_state, relu.eval()(x).last_hidden_state)
        self.check_put_back(loaded, x)

    def check_put_back(self, model, x):
        """Loading leaves the hook that brings an angle back into its interval."""
        set_angles(model, 3.0)
        model(x).last_hidden_state.sum().backward()
        assert all(unit.theta.item() <= unit.limit for unit in units(model))


class TestTimm:
    @pytest.fixture(autouse=True)
    def table(self, monkeypatch):
        """Their table as it is without us."""
        self.timm = pytest.importorskip("timm")
        create_act = pytest.importorskip("timm.layers.create_act")
        theirs = {
            key: value for key, value in create_act._ACT_LAYER_DEFAULT.items() if "partial" not in type(value).__name__
        }
        monkeypatch.setattr(create_act, "_ACT_LAYER_DEFAULT", theirs)
        self.theirs, self.before = theirs, dict(theirs)

    def test_names(self):
        names = register_timm()
        assert {"mpu2", "leaky_mpu3", "mpu2_last", "wta", "wta_last"} <= set(names)
        assert self.theirs.items() >= self.before.items()
        assert self.theirs.keys() == {*self.before, *names}
        assert register_timm() == names
        assert register_timm("mpu17") == ["mpu17", "mpu17_last"]
        with pytest.raises(ValueError, match="timm has activations of its own with the names gelu"):
            register_timm("gelu")

    def test_unknown_version(self, monkeypatch):
        monkeypatch.delattr("timm.layers.create_act._ACT_LAYER_DEFAULT")
        with pytest.raises(RuntimeError, match=r"give act_layer=proxact\.act_layer"):
            register_timm()

    @pytest.mark.parametrize(
        ("name", "act", "sites", "dim", "options"),
        [
            ("resnet18", "mpu2", 17, 1, {}),
            ("resnet18", MPU, 17, 1, {}),
            ("efficientnet_b0", "mpu2", 49, 1, {}),
            ("regnety_002", act_layer("mpu2", dim=1), 53, 1, {}),
            ("deit_tiny_patch16_224", "mpu2_last", 2, -1, {"img_size": 32, "depth": 2}),
            ("convnext_tiny", "mpu2_last", 4, -1, {"depths": (1, 1, 1, 1), "dims": (8, 12, 16, 20)}),
            ("convnext_atto", "mpu2", 4, 1, {"depths": (1, 1, 1, 1)}),  # its MLPs are convolutions
        ],
    )
    def test_models(self, name, act, sites, dim, options):
        register_timm()
        torch.manual_seed(0)
        model = self.timm.create_model(name, act_layer=act, num_classes=5, **options).eval()
        relu = self.timm.create_model(name, act_layer=nn.ReLU, num_classes=5, **options).eval()
        assert len(units(model)) == sites
        for module in model.modules():
            if isinstance(module, nn.BatchNorm2d):
                nn.init.uniform_(module.weight, 0.5, 1.5)  # those that start at 0 would hide what comes before
        loaded = relu.load_state_dict(model.state_dict(), strict=False)
        assert len(loaded.unexpected_keys) == sites
        assert not loaded.missing_keys
        x = torch.randn(2, 3, 32, 32)
        with torch.no_grad():
            torch.testing.assert_close(model(x), relu(x))
        layers = [module for module in model.modules() if isinstance(module, (nn.Conv2d, nn.Linear))]
        check_sites(
            model, x, dim=dim, channels={getattr(m, "out_channels", getattr(m, "out_features", 0)) for m in layers}
        )

    def test_three_axes_need_a_choice(self):
        register_timm()
        model = self.timm.create_model("deit_tiny_patch16_224", img_size=32, depth=1, act_layer="mpu2")
        with pytest.raises(ValueError, match=r"dim=-1 \(transformers\)"):
            model(torch.randn(1, 3, 32, 32))


def test_copies_of_a_registered_model_keep_their_angles():
    model = nn.Sequential(nn.Linear(4, 4), act_layer("mpu2")())
    set_angles(model, 1.2)
    other = copy.deepcopy(model)
    set_angles(model, 0.5)
    assert other[1].alpha.item() == pytest.approx(1.2)
