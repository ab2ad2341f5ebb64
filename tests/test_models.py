"""The networks of the experiments."""

import pytest
import torch

import proxact
from proxact.models import CIFAR_RESNETS, cifar_resnet, mlp


@pytest.mark.parametrize(
    ("name", "millions", "sites"),
    [("resnet18", 11.17, 17), ("resnet18+", 15.90, 19), ("resnet34", 21.28, 33), ("resnet50", 23.52, 49)],
)
def test_resnets(name, millions, sites):
    net = cifar_resnet(name, "mpu2")
    units = [module for module in net.modules() if isinstance(module, proxact.MPU)]
    assert len(units) == len(set(units)) == sites
    weights = sum(p.numel() for n, p in net.named_parameters() if "theta" not in n)
    assert weights / 1e6 == pytest.approx(millions, abs=0.01)
    assert net(torch.randn(2, 3, 32, 32)).shape == (2, 10)


def test_relu_and_mpu2_start_as_the_same_network():
    torch.manual_seed(0)
    relu, unit = cifar_resnet("resnet18", "relu").eval(), cifar_resnet("resnet18", "mpu2").eval()
    unit.load_state_dict(relu.state_dict(), strict=False)
    x = torch.randn(2, 3, 32, 32)
    assert torch.equal(relu(x), unit(x))


def test_mlp():
    net = mlp(activation="mpu3")
    assert [layer.out_features for layer in net if isinstance(layer, torch.nn.Linear)] == [256, 128, 64, 8]
    assert net(torch.randn(5, 60)).shape == (5, 8)


def test_unknown_name():
    with pytest.raises(ValueError, match="resnet101"):
        cifar_resnet("resnet19")
    assert set(CIFAR_RESNETS) == {"resnet18", "resnet18+", "resnet34", "resnet50", "resnet101"}
