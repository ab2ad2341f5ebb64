"""Networks trained together have the numbers they have alone."""

import math
from dataclasses import replace

import pytest
import torch
from torch import nn

from proxact.experiments.fit import (
    ACTIVATIONS,
    TARGET_ANGLES,
    TARGETS,
    Fit,
    Trainer,
    build_net,
    epoch_order,
    learning_rate,
    make_data,
    parse_widths,
    plan,
    target_function,
)

SMALL = Fit("relu", "cone", widths=(2, 3, 5, 8), seeds=(1, 2), samples=600, test_samples=100, dtype="float64")


def train_alone(fit: Fit, width: int, seed: int, epochs: int) -> tuple[float, nn.Sequential]:
    """The experiment for one network in the plainest words; returns its test error."""
    net = build_net(fit, width, seed)
    x, y, x_test, y_test = make_data(fit, seed)
    optimizer = torch.optim.SGD(net.parameters(), lr=fit.learning_rate, momentum=0.9)
    schedule = torch.optim.lr_scheduler.StepLR(optimizer, 10, 0.9)
    for epoch in range(epochs):
        for index in epoch_order(fit, seed, epoch).split(fit.batch):
            optimizer.zero_grad()
            nn.functional.mse_loss(net(x[index]), y[index]).backward()
            optimizer.step()
        schedule.step()
    with torch.no_grad():
        return nn.functional.mse_loss(net(x_test), y_test).item(), net


VARIANTS = [{"activation": name} for name in (*ACTIVATIONS, "leaky_mpu2", "mpu3", "gelu", "simplex")] + [
    {"activation": name, "learn_angle": learn, "remainder": remainder}
    for name in ("mpu2", "mpu3")
    for learn in (False, True)
    for remainder in ("pad", "relu")
]


@pytest.mark.parametrize("variant", VARIANTS, ids=lambda v: "-".join(map(str, v.values())))
def test_together_equals_alone(variant):
    fit = replace(SMALL, **variant)
    trainer = Trainer(fit)
    trainer.train_epoch()
    for i, seed in enumerate(fit.seeds):
        for j, width in enumerate(fit.widths):
            error, net = train_alone(fit, width, seed, epochs=1)
            assert trainer.last[i, j].item() == pytest.approx(error, rel=1e-10, abs=1e-10)
            number = i * len(fit.widths) + j
            block, start = trainer.population.layout.starts[number]
            weights = trainer.population.first[block, start : start + net[0].out_features, :2]
            torch.testing.assert_close(weights, net[0].weight, rtol=0, atol=1e-10)
    assert not trainer.population.first[trainer.population.layout.rows < 0].any()  # padding stays what it was


@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_final_losses_agree_in_float32(activation):
    fit = replace(
        SMALL, activation=activation, widths=(3, 6), seeds=(1,), samples=2000, dtype="float32", target="leaky_relu"
    )
    trainer = Trainer(fit)
    for _ in range(12):  # beyond the first step of the learning rate
        trainer.train_epoch()
    for j, width in enumerate(fit.widths):
        error, _ = train_alone(fit, width, 1, epochs=12)
        assert trainer.last[0, j].item() == pytest.approx(error, rel=0.01)


def test_parameters_are_as_the_paper_counts_them():
    def count(name):
        return sum(value.numel() for value in build_net(replace(SMALL, activation=name), 20, 1).parameters())

    weights = {name: count(name) for name in ACTIVATIONS}
    assert weights["relu"] == weights["mpu2"] == weights["wta"] == weights["leaky_relu"] == weights["prelu"] - 1
    matrices = 4 * 20  # 2 x 20 and 20 x 2: the paper counts weights, not biases
    assert weights["relu"] == matrices + 20 + 2
    assert weights["crelu"] == 1.5 * matrices + 20 + 2
    assert weights["maxout"] == 1.5 * matrices + 40 + 2


def test_the_targets_are_what_the_paper_says():
    x = torch.tensor([[3.0, 4.0]], dtype=torch.float64)
    first = torch.tensor([[0.9016, 0.1787], [0.0437, 0.5363]], dtype=torch.float64)
    second = torch.tensor([[0.5426, 0.4668], [0.4043, 0.9253]], dtype=torch.float64)
    linear = second / torch.linalg.norm(second, 2) @ (first / torch.linalg.norm(first, 2) @ x[0])
    for target in TARGETS:  # this point is positive and inside every wide cone: both targets are linear there
        torch.testing.assert_close(target_function(x, target, math.pi / 3)[0], linear)
    assert math.tan(TARGET_ANGLES["paper"]) == pytest.approx(math.sqrt(3))
    assert math.tan(TARGET_ANGLES["code"]) == pytest.approx(math.pi / 3)
    outside = torch.tensor([[-5.0, 1.0]], dtype=torch.float64)
    assert not torch.equal(target_function(outside, "cone", 1.0), target_function(outside, "leaky_relu", 1.0))


def test_data_is_uniform_on_the_square():
    x, _, x_test, _ = make_data(Fit("relu", "cone"), seed=1)
    assert x.shape == (40_000, 2)
    assert x_test.shape == (10_000, 2)
    assert x.abs().max() <= 10
    assert x.std().item() == pytest.approx(20 / math.sqrt(12), rel=0.02)


def test_learning_rate_falls_every_ten_epochs():
    fit = Fit("relu", "cone", learning_rate=1.0)
    assert [round(learning_rate(fit, epoch), 4) for epoch in (0, 9, 10, 49)] == [1, 1, 0.9, 0.6561]


def test_plan_covers_the_figure():
    fits = list(plan(ACTIVATIONS, TARGETS, False, {}))
    assert sum(len(fit.widths) * len(fit.seeds) for fit in fits) == 1596
    assert {fit.target: fit.learning_rate for fit in fits} == {"cone": 5e-4, "leaky_relu": 1e-3}
    grid = list(plan(("relu",), ("cone",), True, {}))
    assert [fit.learning_rate for fit in grid] == [1e-4, 5e-4, 1e-3]
    assert len({fit.label for fit in [*fits, *grid]}) == 16  # labels tell runs apart; relu at 5e-4 is the usual one


@pytest.mark.parametrize("value", ["", "5", "5:2", "1:4", "a:b", "2:9:0:1"])
def test_widths_that_make_no_sense(value):
    with pytest.raises(ValueError, match=r"widths must .* got"):
        parse_widths(value)


@pytest.mark.parametrize("name", ["epochs", "samples", "test_samples"])
def test_numbers_without_sense_are_refused(name):
    with pytest.raises(ValueError, match=f"{name} must be an int >= 1, got 0"):
        Fit("relu", "cone", **{name: 0})
