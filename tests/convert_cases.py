"""Models to convert, small, with random weights."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
import torch
from torch import Tensor, nn


def images(size: int = 64, batch: int = 2) -> Callable[[], Any]:
    return lambda: torch.randn(batch, 3, size, size)


def tokens(batch: int = 2, length: int = 6, vocabulary: int = 32) -> Callable[[], Any]:
    return lambda: {"input_ids": torch.randint(0, vocabulary, (batch, length))}


def by_rank(x: Tensor) -> int:
    """The channel axis in models that keep images as NCHW and everything else with channels last."""
    return 1 if x.ndim == 4 else -1


def last(x: Tensor) -> int:
    return -1


@dataclass(frozen=True)
class Case:
    """A model as published, an input, and the channel axis of a tensor in it.

    with_relu: the model rebuilt with ReLU, if it has another activation; shallow: fewer of the same blocks, to compile.
    """

    name: str
    build: Callable[[], nn.Module]
    example: Callable[[], Any]
    axis: Callable[[Tensor], int] = by_rank
    with_relu: Callable[[], nn.Module] | None = None
    shallow: Callable[[], nn.Module] | None = None
    slow: bool = False
    slow_to_compile: bool = False


def torchvision(name: str, **arguments: Any) -> Callable[[], nn.Module]:
    return lambda: getattr(pytest.importorskip("torchvision").models, name)(weights=None, num_classes=10, **arguments)


def torchvision_resnet(block: str) -> Callable[[], nn.Module]:
    def build() -> nn.Module:
        resnet = pytest.importorskip("torchvision").models.resnet
        return resnet.ResNet(getattr(resnet, block), [1, 1, 1, 1], num_classes=10)

    return build


def torchvision_densenet() -> nn.Module:
    return pytest.importorskip("torchvision").models.DenseNet(16, (2, 2), num_classes=10)


def torchvision_vit() -> nn.Module:
    return pytest.importorskip("torchvision").models.VisionTransformer(32, 16, 2, 2, 32, 64, num_classes=10)


def torchvision_vgg() -> nn.Module:
    """With a narrower head: as published it has 120 million weights."""
    model = torchvision("vgg16_bn")()
    for index, layer in ((0, nn.Linear(512 * 7 * 7, 64)), (3, nn.Linear(64, 64)), (6, nn.Linear(64, 10))):
        model.classifier[index] = layer
    return model


def relu_for(kind: type[nn.Module], build: Callable[[], nn.Module]) -> Callable[[], nn.Module]:
    """The model with ReLU wherever it has a module of this kind."""

    def rebuild() -> nn.Module:
        model = build()
        for module in list(model.modules()):
            for name, child in module.named_children():
                if isinstance(child, kind):
                    setattr(module, name, nn.ReLU())
        return model

    return rebuild


def timm(name: str, **arguments: Any) -> Callable[[], nn.Module]:
    return lambda: pytest.importorskip("timm").create_model(name, pretrained=False, num_classes=10, **arguments)


def transformers(model: str, config: str, **arguments: Any) -> Callable[[], nn.Module]:
    def build() -> nn.Module:
        package = pytest.importorskip("transformers")
        return getattr(package, model)(getattr(package, config)(**arguments))

    return build


SIZES = {"hidden_size": 16, "num_attention_heads": 2, "intermediate_size": 24}


def bert(act: str, layers: int = 3) -> Callable[[], nn.Module]:
    sizes = {"vocab_size": 32, "max_position_embeddings": 16, "num_hidden_layers": layers, **SIZES}
    return transformers("BertForMaskedLM", "BertConfig", hidden_act=act, **sizes)


def hf_vit(act: str, layers: int = 3) -> Callable[[], nn.Module]:
    sizes = {"image_size": 16, "patch_size": 8, "num_hidden_layers": layers, **SIZES}
    return transformers("ViTForImageClassification", "ViTConfig", hidden_act=act, **sizes)


def gpt2(act: str, layers: int = 3) -> Callable[[], nn.Module]:
    sizes = {"vocab_size": 32, "n_positions": 16, "n_embd": 16, "n_layer": layers, "n_head": 2}
    tokens = {"bos_token_id": 0, "eos_token_id": 0, "use_cache": False}
    return transformers("GPT2LMHeadModel", "GPT2Config", activation_function=act, **sizes, **tokens)


def whisper(act: str, layers: int = 2) -> Callable[[], nn.Module]:
    sizes = {"vocab_size": 32, "num_mel_bins": 8, "d_model": 24, "max_source_positions": 16, "max_target_positions": 16}
    for part in ("encoder", "decoder"):
        sizes |= {f"{part}_layers": layers, f"{part}_attention_heads": 2, f"{part}_ffn_dim": 40}
    tokens = {"pad_token_id": 0, "bos_token_id": 0, "eos_token_id": 0, "decoder_start_token_id": 1, "use_cache": False}
    return transformers("WhisperForConditionalGeneration", "WhisperConfig", activation_function=act, **sizes, **tokens)


def whisper_input() -> Any:
    return {"input_features": torch.randn(2, 8, 32), "decoder_input_ids": torch.randint(0, 32, (2, 5))}


def detr(layers: int = 2) -> Callable[[], nn.Module]:
    def build() -> nn.Module:
        package = pytest.importorskip("transformers")
        blocks = {"embedding_size": 8, "hidden_sizes": [8, 16], "depths": [1, 1], "layer_type": "basic"}
        backbone = package.ResNetConfig(out_features=["stage2"], **blocks)
        sizes = {"num_queries": 4, "d_model": 16, "num_labels": 3}
        for part in ("encoder", "decoder"):
            sizes |= {f"{part}_layers": layers, f"{part}_attention_heads": 2, f"{part}_ffn_dim": 24}
        no_download = {"use_timm_backbone": False, "use_pretrained_backbone": False, "backbone": None}
        config = package.DetrConfig(backbone_config=backbone, **no_download, **sizes)
        return package.DetrForObjectDetection(config)

    return build


def encoder(activation: Any) -> Callable[[], nn.Module]:
    def build() -> nn.Module:
        layer = nn.TransformerEncoderLayer(16, 2, 24, activation=activation, batch_first=True)
        return nn.TransformerEncoder(layer, 3)

    return build


def sequences() -> Tensor:
    return torch.randn(2, 5, 16)


DEIT = {"img_size": 32}
SWIN = {"img_size": 56}

CASES = [
    Case("resnet18", torchvision("resnet18"), images(), shallow=torchvision_resnet("BasicBlock")),
    Case("resnet50", torchvision("resnet50"), images(), shallow=torchvision_resnet("Bottleneck"), slow=True),
    Case("vgg16_bn", torchvision_vgg, images(32), slow=True),
    Case("googlenet", torchvision("googlenet", init_weights=False), images(), slow_to_compile=True),
    Case("inception_v3", torchvision("inception_v3", init_weights=False), images(299), slow=True),
    Case("densenet121", torchvision("densenet121"), images(), shallow=torchvision_densenet, slow=True),
    Case(
        "mobilenet_v2",
        torchvision("mobilenet_v2"),
        images(),
        with_relu=relu_for(nn.ReLU6, torchvision("mobilenet_v2")),
        shallow=torchvision("mobilenet_v2", inverted_residual_setting=[[1, 16, 1, 1], [6, 24, 2, 2]]),
        slow_to_compile=True,
    ),
    Case(
        "vit_b_16",
        torchvision("vit_b_16", image_size=32),
        images(32),
        with_relu=relu_for(nn.GELU, torchvision("vit_b_16", image_size=32)),
        shallow=torchvision_vit,
        slow=True,
    ),
    Case("timm resnet50", timm("resnet50"), images(), shallow=timm("resnet50", layers=(1, 1, 1, 1)), slow=True),
    Case(
        "deit_tiny",
        timm("deit_tiny_patch16_224", **DEIT),
        images(32),
        with_relu=timm("deit_tiny_patch16_224", **DEIT, act_layer=nn.ReLU),
        shallow=timm("deit_tiny_patch16_224", **DEIT, depth=2),
    ),
    Case(
        "convnext_tiny",
        timm("convnext_tiny"),
        images(),
        axis=last,
        with_relu=timm("convnext_tiny", act_layer="relu"),
        shallow=timm("convnext_tiny", depths=(1, 1, 1, 1)),
        slow=True,
    ),
    Case(
        "convnext_atto",
        timm("convnext_atto", conv_mlp=False),
        images(),
        axis=last,
        with_relu=timm("convnext_atto", conv_mlp=False, act_layer="relu"),
        shallow=timm("convnext_atto", conv_mlp=False, depths=(1, 1, 1, 1)),
        slow_to_compile=True,
    ),
    Case(
        "convnext_atto conv_mlp",
        timm("convnext_atto", conv_mlp=True),
        images(),
        with_relu=timm("convnext_atto", conv_mlp=True, act_layer="relu"),
        shallow=timm("convnext_atto", conv_mlp=True, depths=(1, 1, 1, 1)),
        slow_to_compile=True,
    ),
    Case(
        "efficientnet_b0",
        timm("efficientnet_b0"),
        images(),
        with_relu=timm("efficientnet_b0", act_layer=nn.ReLU),
        slow=True,
    ),
    Case("regnety_002", timm("regnety_002"), images(), slow_to_compile=True),
    Case(
        "swin_tiny",
        timm("swin_tiny_patch4_window7_224", **SWIN),
        images(56),
        axis=last,
        with_relu=relu_for(nn.GELU, timm("swin_tiny_patch4_window7_224", **SWIN)),
        shallow=timm("swin_tiny_patch4_window7_224", **SWIN, depths=(2, 1), num_heads=(3, 6)),
        slow=True,
    ),
    Case("bert", bert("gelu"), tokens(), with_relu=bert("relu"), shallow=bert("gelu", 1)),
    Case("vit", hf_vit("gelu"), images(16), with_relu=hf_vit("relu"), shallow=hf_vit("gelu", 1), slow_to_compile=True),
    Case("gpt2", gpt2("gelu_new"), tokens(), with_relu=gpt2("relu"), shallow=gpt2("gelu_new", 1)),
    Case(
        "whisper",
        whisper("gelu"),
        whisper_input,
        with_relu=whisper("relu"),
        shallow=whisper("gelu", 1),
        slow_to_compile=True,
    ),
    Case("detr", detr(), images(32), shallow=detr(1), slow_to_compile=True),
    Case("nn.TransformerEncoder", encoder("gelu"), sequences, with_relu=encoder("relu")),
    Case("nn.TransformerEncoder of modules", encoder(nn.GELU()), sequences, with_relu=encoder(nn.ReLU())),
]
