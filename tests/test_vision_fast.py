"""The small net of the CIFAR speed records."""

import torch
from torch import nn

import proxact
from proxact.models import CifarFast


def test_every_site_has_a_module_and_the_first_layer_is_frozen():
    net = CifarFast("mpu2")
    assert len({module for module in net.modules() if isinstance(module, proxact.MPU)}) == 7
    assert "patches.weight" not in {name for name, parameter in net.named_parameters() if parameter.requires_grad}
    assert net(torch.randn(2, 3, 32, 32)).shape == (2, 10)


def test_patches_are_whitened():
    torch.manual_seed(0)
    smooth = nn.functional.avg_pool2d(torch.randn(200, 3, 34, 34), 3, 1)
    net = CifarFast()
    net.whiten(smooth)
    found = net.patches(smooth).transpose(0, 1).flatten(1)
    covariance = torch.cov(found)
    assert torch.allclose(covariance[:12, :12], torch.eye(12), atol=0.1)
    assert torch.allclose(found[12:], -found[:12], atol=1e-5)


def test_all_activations_of_a_seed_start_alike():
    from proxact.experiments.cifar10 import Cifar10, build

    first, second = (build(Cifar10(name, model="fast", width=8)).state_dict() for name in ("relu", "mpu3"))
    assert all(torch.equal(first[name], second[name]) for name in first)
