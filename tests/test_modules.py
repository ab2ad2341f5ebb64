"""Baselines, Projection and the registry."""

import copy

import pytest
import torch
from torch import nn

import proxact
from proxact import WTA, CReLU, Maxout, Projection, project


@pytest.mark.parametrize("shape", [(5, 8), (2, 8, 3, 3)])
def test_wta(shape):
    x = torch.randn(shape)
    y = WTA(0.5)(x)
    assert ((y != 0).sum(1) == 4).all()
    threshold = x.topk(4, 1).values.amin(1, keepdim=True)
    assert torch.equal(y, torch.where(x >= threshold, x, 0))
    assert torch.equal(WTA(1.0)(x), x)
    assert ((WTA(0.01)(x) != 0).sum(1) == 1).all()
    assert (WTA(0.58)(torch.rand(2, 100)) != 0).sum() == 2 * 58
    flat = WTA(0.25, dim="flat")(x)
    assert ((flat.flatten(1) != 0).sum(1) == x[0].numel() // 4).all()


def test_maxout_and_crelu():
    x = torch.randn(3, 8, 2, 2)
    y = Maxout(2)(x)
    assert y.shape == (3, 4, 2, 2)
    assert torch.equal(y, torch.maximum(x[:, ::2], x[:, 1::2]))
    assert torch.equal(CReLU()(x), torch.cat([x.relu(), (-x).relu()], 1))
    assert CReLU(dim=-1)(torch.randn(2, 3, 5)).shape == (2, 3, 10)
    assert CReLU(dim="flat")(x).shape == (3, 64)


def test_projection_module():
    x = torch.randn(5, 3)
    fixed = Projection("l2_ball", radius=0.5)
    assert torch.equal(fixed(x), project.l2_ball(x, 0.5))
    assert list(fixed.parameters()) == []
    learned = Projection(project.halfspace, a=torch.ones(3), b=0.1, learnable=["a", "b"])
    assert {name for name, _ in learned.named_parameters()} == {"a", "b"}
    learned(x).sum().backward()
    assert learned.a.grad is not None
    assert learned.b.grad is not None
    other = Projection("halfspace", a=torch.zeros(3), b=0.0, learnable=["a", "b"])
    other.load_state_dict(learned.state_dict())
    torch.testing.assert_close(other(x), copy.deepcopy(learned)(x))
    assert "a" in Projection("halfspace", a=torch.ones(3)).state_dict()
    assert repr(Projection("cone", alpha=0.5, m=3, dim=1)) == "Projection(cone, alpha=0.5, m=3, dim=1)"
    assert Projection("cone", alpha=0.5, m=3, dim=1)(torch.randn(2, 6, 4, 4)).shape == (2, 6, 4, 4)


PARAMETERS = {
    "affine": {"A": torch.ones(1, 12)},
    "cone": {"alpha": 0.5},
    "halfspace": {"a": torch.ones(12)},
    "hyperplane": {"a": torch.ones(12)},
    "polyhedron": {"H": torch.eye(12), "r": 1.0},
    "soc": {"A": torch.eye(12), "d": 0.0, "r": torch.zeros(12), "c": 1.0},
}


@pytest.mark.parametrize("name", [name for name in proxact.names() if name not in ("psd", "exponential")])
def test_every_name_makes_a_module(name):
    module = proxact.get(name, dim=1, inplace=False, **PARAMETERS.get(name, {}))
    assert isinstance(module, nn.Module)
    y = module(torch.randn(2, 12, 3, 3))
    assert y.shape[0] == 2
    assert y.isfinite().all()


def test_names():
    assert repr(proxact.get("leaky_mpu3", dim=-1)) == "LeakyMPU(3, alpha=0.7854, dim=-1, leak=0.01)"
    assert proxact.get("MPU").m == 2
    assert proxact.get("mpu17").m == 17
    assert proxact.get("Leaky-ReLU", negative_slope=0.2).negative_slope == 0.2
    assert {"relu", "prelu", "gelu", "wta", "maxout", "crelu", "mpu2", "leaky_mpu2"} <= set(proxact.names())
