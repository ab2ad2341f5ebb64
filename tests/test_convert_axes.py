"""Along which axis proxact.convert lets a new activation work."""

import pytest
import torch
import torch.distributed
from torch import nn
from torch.nn import functional as F

from proxact.conversion import convert


class Axes(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv, self.fc, self.act = nn.Conv1d(4, 6, 1), nn.Linear(5, 6), nn.ReLU()

    def forward(self, x):
        return self.act(self.conv(x) if x.shape[1] == 4 else self.fc(x))


def test_the_data_decide_where_the_source_does_not():
    report = convert(Axes(), dry_run=True)[1]
    assert report.replaced[0].axis is None
    assert "rank of the input" in report.replaced[0].note
    assert convert(Axes(), example_input=torch.randn(2, 4, 5))[1].replaced[0].axis == 1
    assert convert(Axes(), example_input=torch.randn(2, 3, 5))[1].replaced[0].axis == -1


@pytest.mark.parametrize(
    ("between", "shape", "axis"),
    [
        (lambda x: x.permute(0, 2, 3, 1), (2, 3, 5, 5), -1),
        (lambda x: x.flatten(2), (2, 3, 5, 5), 1),
        (lambda x: x.flatten(2).transpose(1, 2), (2, 3, 5, 5), -1),
        (lambda x: x.flatten(2).transpose(1, 2).reshape(2, 5, 5, 4), (2, 3, 5, 5), -1),
        (lambda x: F.dropout(F.max_pool2d(x, 2) + 1, 0.5), (2, 3, 5, 5), 1),
        (lambda x: torch.cat([x, x], 1).clone(), (2, 3, 5, 5), 1),
        (lambda x: F.layer_norm(x, x.shape[1:]), (2, 3, 5, 5), 1),
        (lambda x: x * 2, (3, 5, 5), -3),  # without a batch axis
    ],
)
def test_axis_on_the_way_from_a_convolution(between, shape, axis):
    class Way(nn.Module):
        def __init__(self):
            super().__init__()
            self.conv, self.act = nn.Conv2d(3, 4, 1), nn.ReLU()

        def forward(self, x):
            return self.act(between(self.conv(x)))

    x = torch.randn(shape)
    report = convert(Way(), example_input=x, dry_run=True)[1]
    y = between(nn.Conv2d(3, 4, 1)(x))
    assert report.replaced[0].axis % y.ndim == axis % y.ndim
    assert report.replaced[0].channels == y.shape[axis]


def test_without_a_producer():
    class Bare(nn.Module):
        def forward(self, x):
            return F.relu(x)

    report = convert(Bare())[1]
    assert "rank of the input" in report.replaced[0].note
    assert convert(Bare(), example_input=torch.randn(2, 4))[1].replaced[0].axis == -1
    report = convert(Bare(), example_input=torch.randn(2, 4, 4))[1]
    assert "channel axis of its 3-D input cannot be told" in report.skipped[0].reason
    assert len(convert(Bare(), nn.Tanh, example_input=torch.randn(2, 4, 4))[1].replaced) == 1  # needs no axis
