"""Networks of the paper's experiments, with any activation by name."""

from .cifar_fast import CifarFast
from .cifar_resnet import CIFAR_RESNETS, cifar_resnet
from .mlp import mlp

__all__ = ["CIFAR_RESNETS", "CifarFast", "cifar_resnet", "mlp"]
