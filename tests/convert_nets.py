"""Small nets for the tests of convert."""

import pytest
import torch
from torch import nn
from torch.nn import functional as F


class Block(nn.Module):
    """As in torchvision's ResNet: one activation for two places."""

    def __init__(self, channels):
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(channels, channels, 3, padding=1), nn.BatchNorm2d(channels)
        self.conv2, self.bn2 = nn.Conv2d(channels, channels, 3, padding=1), nn.BatchNorm2d(channels)
        self.relu = nn.ReLU(inplace=True)

    def forward(self, x):
        out = self.relu(self.bn1(self.conv1(x)))
        out = self.bn2(self.conv2(out))
        out += x
        return self.relu(out)


class Net(nn.Module):
    def __init__(self, channels=6):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, channels, 3), nn.BatchNorm2d(channels), nn.ReLU())
        self.blocks = nn.Sequential(Block(channels), Block(channels))
        self.drop, self.head, self.out = nn.Dropout(0.2), nn.Linear(channels, 7), nn.Linear(7, 3)

    def forward(self, x):
        x = self.blocks(self.stem(x)).mean((2, 3))
        return self.out(F.relu(self.drop(self.head(x))))


NAMES = ["stem.2", "blocks.0.relu", "blocks.0.relu_1", "blocks.1.relu", "blocks.1.relu_1", "relu"]


@pytest.fixture
def model():
    torch.manual_seed(0)
    return Net()


@pytest.fixture
def x():
    return torch.randn(4, 3, 8, 8)


class Linears(nn.Module):
    def __init__(self, count=2):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(6, 6) for _ in range(count))
        self.first, self.second = nn.Linear(6, 6), nn.Linear(6, 6)


class Parent(Linears):
    def forward(self, x):
        return F.relu(self.first(x))

    def twice(self, x):
        return 2 * x
