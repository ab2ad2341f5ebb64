"""The activations of proxact where other libraries ask for one. They are imported only when asked for."""

from __future__ import annotations

import functools
import importlib
from collections.abc import Iterable
from typing import Any

import torch
from torch import nn

from .prox import CATALOGUE
from .registry import _ELEMENTWISE, get, names

_MADE_FROM = "_proxact_made_from"
"""Attribute of the modules that transformers gets from us: the arguments of :func:`get` they were made from."""
_DONE = "_is_hf_initialized"
"""What transformers writes on weights that a checkpoint had and on modules that need no more values."""


def act_layer(name: str = "mpu2", **arguments: Any) -> functools.partial[nn.Module]:
    """What to give where a library asks for an activation class: it makes a new module, with its own angle, per call.

    That is timm's ``act_layer``, Stable-Baselines3's ``activation_fn`` and torchrl's ``activation_class``.

    Args:
        name: one of :func:`proxact.names`.
        arguments: passed to the module. ``dim`` is the one to think of: nothing where a convolution comes before, -1
            where an ``nn.Linear`` does. In timm, ResNet, EfficientNet, RegNet and the small ConvNeXts (atto to nano)
            need nothing; ViT, DeiT and the other ConvNeXts need -1; Swin and HRNet ignore ``act_layer``.

    Example:
        >>> act_layer("leaky_mpu3", dim=-1)(inplace=True)
        LeakyMPU(3, alpha=0.7854, dim=-1, leak=0.01)
    """
    get(name, **arguments)  # what is wrong with them shows here, and not deep inside the other library
    return functools.partial(_make, name=name, **arguments)


def register_hf(*wanted: str) -> list[str]:
    """Make names known to transformers: ``hidden_act="mpu2"`` in any configuration, a new module for every layer.

    A name acts along the last axis, where transformers keep channels. With ``_conv`` behind it, it acts along axis 1:
    for what follows a convolution, as ``hidden_act`` of ResNet or ``feat_extract_activation`` of Wav2Vec2.

    A checkpoint without our weights, say of a model with ReLU, can be loaded with ``hidden_act="mpu2"``: the angles
    then start at pi/4, and the model as it was.

    Args:
        wanted: names as in :func:`proxact.get`; unless given, all of :func:`proxact.names` whose layers keep the shape
            of their input and need no arguments. The names that transformers has itself keep their meaning.

    Returns:
        the names that transformers has from here, ``_conv`` among them.
    """
    activations = _import("transformers.activations", "proxact.register_hf()")
    modeling = _import("transformers.modeling_utils", "proxact.register_hf()")
    table = _table(_make_for_hf, wanted, "_conv", plain_dim=-1, suffixed_dim=1)
    _add(table, activations.ACT2CLS, wanted, "transformers")
    _start_missing_weights(modeling.PreTrainedModel)
    return _add(table, activations.ACT2FN, wanted, "transformers")


def register_timm(*wanted: str) -> list[str]:
    """Make names known to timm: ``timm.create_model("resnet50", act_layer="mpu2")``.

    A name acts along axis 1 of 4-D tensors, as convolutions need it. With ``_last`` behind it, it acts along the last
    axis, for models that put it after ``nn.Linear``: ViT and DeiT (without, the first input raises) and ConvNeXt from
    tiny on, whose tensors have four axes (without, **neighbouring rows of pixels would form the groups**). Where a
    model takes classes but no names, give it :func:`act_layer`.

    Args:
        wanted: names as in :func:`proxact.get`; unless given, all of :func:`proxact.names` whose layers keep the shape
            of their input and need no arguments. The names that timm has itself keep their meaning.

    Returns:
        the names that timm has from here, ``_last`` among them.
    """
    create_act = _import("timm.layers.create_act", "proxact.register_timm()")
    if not hasattr(create_act, "_ACT_LAYER_DEFAULT"):
        raise RuntimeError(
            "register_timm() does not know where this version of timm keeps its names; "
            "give act_layer=proxact.act_layer('mpu2') in place of a name"
        )
    table = _table(_make, wanted, "_last", plain_dim=None, suffixed_dim=-1)
    return _add(table, create_act._ACT_LAYER_DEFAULT, wanted, "timm")


def _make(inplace: bool = False, *, name: str, **arguments: Any) -> nn.Module:
    """A function in a partial, because timm takes nothing else beside classes; its VGG gives inplace by place."""
    return get(name, inplace=inplace, **arguments)


def _make_for_hf(**arguments: Any) -> nn.Module:
    module = get(**arguments)
    setattr(module, _MADE_FROM, arguments)
    return module


def _table(
    make: Any, wanted: Iterable[str], suffix: str, plain_dim: int | None, suffixed_dim: int
) -> dict[str, functools.partial[nn.Module]]:
    table = {}
    for name in wanted or filter(_keeps_the_shape, names()):
        get(name, dim=-1)  # an unknown name shows here
        table[name] = functools.partial(make, name=name, dim=plain_dim)
        if _acts_along_an_axis(name):
            table[name + suffix] = functools.partial(make, name=name, dim=suffixed_dim)
    return table


def _keeps_the_shape(name: str) -> bool:
    """Not so where a layer makes more or fewer channels, needs a certain number of them, or parameters."""
    try:
        with torch.device("cpu"):
            return get(name, dim=-1)(torch.ones(1, 6)).shape == (1, 6)
    except (TypeError, ValueError):
        return False


def _acts_along_an_axis(name: str) -> bool:
    return name not in _ELEMENTWISE and not (name in CATALOGUE and CATALOGUE[name].is_elementwise)


def _add(table: dict[str, functools.partial], theirs: dict[str, Any], wanted: Iterable[str], library: str) -> list[str]:
    """Put what they do not have into their table."""
    own = {name for name in table if name in theirs and not _is_ours(dict.__getitem__(theirs, name))}
    if taken := own.intersection(wanted):
        raise ValueError(f"{library} has activations of its own with the names {', '.join(sorted(taken))}")
    ours = {name: make for name, make in table.items() if name not in own}
    theirs.update(ours)
    return sorted(ours)


def _is_ours(entry: object) -> bool:
    return isinstance(entry, functools.partial) and entry.func in (_make, _make_for_hf)


def _start_missing_weights(model_class: Any) -> None:
    """Let transformers give the weights of our modules that a checkpoint lacks the values of a new module.

    It builds a model without memory, fills in what the checkpoint has, and the rest by a method that knows its own
    layers: the angle of an MPU would be what happened to be in memory. Loading also replaces parameters, which takes
    from them the hook that keeps the angle in its interval; load_state_dict puts it back.
    """
    original = model_class.initialize_weights
    if hasattr(original, _MADE_FROM):
        return

    @functools.wraps(original)
    def initialize_weights(self: nn.Module, *args: Any, **kwargs: Any) -> Any:
        ours = [module for module in self.modules() if hasattr(module, _MADE_FROM)]
        is_done = {module: getattr(module, _DONE, False) for module in ours}
        result = original(self, *args, **kwargs)
        for module in ours:
            present = module.state_dict(keep_vars=True)
            if any(value.is_meta for value in present.values()):
                continue
            known = {key: value for key, value in present.items() if is_done[module] or getattr(value, _DONE, False)}
            with torch.device("cpu"):
                start = get(**getattr(module, _MADE_FROM)).state_dict()
            module.load_state_dict(start | known)
        return result

    setattr(initialize_weights, _MADE_FROM, None)
    model_class.initialize_weights = initialize_weights


def _import(module: str, what: str) -> Any:
    package = module.partition(".")[0]
    try:
        importlib.import_module(package)
    except ModuleNotFoundError as error:
        if error.name != package:
            raise
        raise ModuleNotFoundError(f"{what} needs {package}: pip install {package}", name=package) from error
    return importlib.import_module(module)
