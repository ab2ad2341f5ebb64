"""Which axis of a tensor holds the channels, judged from what produced it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from torch import nn

from .kinds import is_activation


class Channels(NamedTuple):
    """The channel axis of a tensor (1 after convolutions, -1 after linear layers) and its size; None: not known."""

    axis: int | None = None
    size: int | None = None


UNKNOWN = Channels()

_SPATIAL = ("conv", "batch_norm", "instance_norm", "group_norm", "local_response_norm", "pixel_", "channel_shuffle")
_POOLING = ("max_pool", "avg_pool", "lp_pool", "interpolate", "upsample", "dropout2d", "dropout3d")
_LAST = {"linear", "bilinear", "layer_norm", "rms_norm", "embedding", "matmul", "mm", "bmm", "addmm", "baddbmm"}
_LAST |= {"scaled_dot_product_attention", "multi_head_attention_forward", "native_multi_head_attention"}
_LAST |= {"transformer_encoder_layer_fwd"}
_JOIN_OR_PART = {"cat", "concat", "chunk", "split"}
_ELEMENTWISE = {"add", "sub", "rsub", "mul", "div", "truediv", "neg", "pow", "lerp", "where", "addcmul", "clamp"}
_ELEMENTWISE |= {"maximum", "minimum", "sigmoid", "tanh", "hardsigmoid", "softplus", "relu", "gelu", "silu", "dropout"}
_ELEMENTWISE |= {"alpha_dropout", "feature_dropout", "contiguous", "clone", "detach", "alias", "requires_grad", "to"}
_ELEMENTWISE |= {"type", "type_as", "float", "half", "bfloat16", "double"}


def after_function(name: str, args: Sequence[Any], inputs: Sequence[Channels]) -> Channels:
    """The channels of a function's result.

    Args:
        name: of the function or method.
        args: its positional arguments.
        inputs: what is known of its tensor arguments.
    """
    name = _plain(name)
    if name == "layer_norm" and not (len(args) > 1 and isinstance(args[1], (tuple, list)) and len(args[1]) == 1):
        return inputs[0] if inputs else UNKNOWN  # over several axes: it says nothing about the channels
    if name in _LAST:
        return Channels(-1)
    if name.startswith(_SPATIAL) or any(part in name for part in _POOLING):
        return Channels(1)
    if name in _ELEMENTWISE or name in _JOIN_OR_PART:
        axis = _agreed([c.axis for c in inputs])
        is_size_kept = axis is not None and name in _ELEMENTWISE
        return Channels(axis, _agreed([c.size for c in inputs]) if is_size_kept else None)
    if name == "permute" and inputs:
        return _permuted(inputs[0], args[1:])
    return UNKNOWN


def after_module(module: nn.Module) -> Channels | None:
    """The channels of a module of torch.nn; None where it passes on those of its input."""
    if isinstance(module, nn.modules.conv._ConvNd):
        return Channels(1, module.out_channels)
    if isinstance(module, nn.modules.batchnorm._NormBase):
        return Channels(1, module.num_features)
    if isinstance(module, nn.GroupNorm):
        return Channels(1, module.num_channels)
    if isinstance(module, nn.Linear):
        return Channels(-1, module.out_features)
    if isinstance(module, (nn.LayerNorm, nn.RMSNorm)):
        shape = module.normalized_shape
        return Channels(-1, shape[0]) if len(shape) == 1 else None
    if isinstance(module, nn.Embedding):
        return Channels(-1, module.embedding_dim)
    name = type(module).__name__
    if isinstance(module, (nn.Identity, nn.modules.dropout._DropoutNd)) or is_activation(module):
        return None
    if "Pool" in name or name.startswith(("Upsample", "Pixel")):
        return Channels(1)
    if name.startswith(("Transformer", "MultiheadAttention", "LSTM", "GRU", "RNN")):
        return Channels(-1)
    return UNKNOWN


def _plain(name: str) -> str:
    """``add`` for ``add_``, ``__add__``, ``iadd`` and ``__iadd__``."""
    name = name.strip("_")
    return name[1:] if name in ("iadd", "isub", "imul", "itruediv", "radd", "rmul") else name


def _agreed(values: Sequence[int | None]) -> int | None:
    """The one known value; None if there is none, or more than one."""
    known = {value for value in values if value is not None}
    return known.pop() if len(known) == 1 else None


def _permuted(channels: Channels, args: Sequence[Any]) -> Channels:
    dims = args[0] if len(args) == 1 and isinstance(args[0], (tuple, list)) else args
    if channels.axis is None or not dims or not all(isinstance(d, int) for d in dims):
        return UNKNOWN
    axes = [d % len(dims) for d in dims]
    place = axes.index(channels.axis % len(dims))
    return Channels(-1 if place == len(dims) - 1 else place, channels.size)
