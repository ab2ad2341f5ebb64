"""Schedules against torch's own, weight decay by kind of parameter, orthogonal steps against the SVD."""

import copy
import math

import pytest
import torch
from torch import nn

import proxact
from proxact.experiments.vision import schedule
from proxact.experiments.vision.muon import Muon, orthogonal
from proxact.experiments.vision.optimise import OPTIMIZERS, groups, muon


def rates(make, epochs):
    optimizer = torch.optim.SGD([nn.Parameter(torch.zeros(1))], lr=0.1)
    scheduler, found = make(optimizer), []
    for _ in range(epochs):
        found.append(optimizer.param_groups[0]["lr"])
        optimizer.step()
        scheduler.step()
    return found


def test_schedules_are_those_of_torch():
    torchs = rates(lambda o: torch.optim.lr_scheduler.CosineAnnealingLR(o, 200, 1e-4), 200)
    assert [schedule.cosine(0.1, 200, 1e-4)(e + 0.5) for e in range(200)] == pytest.approx(torchs)
    torchs = rates(lambda o: torch.optim.lr_scheduler.MultiStepLR(o, [30, 60, 90]), 100)
    assert [schedule.steps(0.1, (30, 60, 90))(e) for e in range(100)] == pytest.approx(torchs)


def test_one_cycle_and_the_start_of_deit():
    rate = schedule.one_cycle(0.4, 10, 2)
    assert rate(2) == pytest.approx(0.4)
    assert rate(10) == 0
    assert rate(6) == pytest.approx(0.2)
    assert 0 < rate(0) < rate(1) < rate(2)
    held, warm = (schedule.held_cosine(1e-3, 500, 20, warm_up, 1e-5) for warm_up in (False, True))
    assert [held(e) for e in (0, 10, 19.9, 20)] == [1e-3] * 4
    assert warm(0) < 1e-5 < warm(10) < warm(19.9) < warm(20) == 1e-3
    assert held(260) == warm(260) == pytest.approx((1e-3 + 1e-5) / 2)
    assert held(499) == pytest.approx(1e-5, rel=0.01)


@pytest.mark.parametrize(
    ("decay", "spared"),
    [
        ("all", set()),
        ("all-but-angles", {"3.theta"}),
        ("weights", {"0.bias", "1.weight", "1.bias", "2.weight", "3.theta"}),
    ],
)
def test_what_is_decayed(decay, spared):
    net = nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.PReLU(), proxact.MPU())
    names = {parameter: name for name, parameter in net.named_parameters()}
    found = {group["weight_decay"]: {names[p] for p in group["params"]} for group in groups(net, 0.1, decay)}
    assert found.pop(0.0, set()) == spared
    assert found.pop(0.1) == set(names.values()) - spared


@pytest.mark.parametrize("shape", [(8, 30), (30, 8)])
def test_orthogonal_steps(shape):
    torch.manual_seed(0)
    matrix = torch.randn(shape, dtype=torch.float64)
    u, _, v = torch.linalg.svd(matrix, full_matrices=False)
    found = orthogonal(matrix, rounds=5)
    # The polynomial does not converge; it brings every singular value near 1.
    values = torch.linalg.svdvals(found)
    assert values.min() > 0.6
    assert values.max() < 1.3
    assert nn.functional.cosine_similarity(found.flatten(), (u @ v).flatten(), 0) > 0.98


def test_muon_trains_and_resumes():
    def make():
        torch.manual_seed(0)
        net = nn.Sequential(nn.Conv2d(3, 8, 3, bias=False), nn.ReLU(), nn.Flatten(), nn.Linear(8 * 36, 2))
        return net, muon(net, 0.6, True, 1e-4, "weights")

    def steps(net, optimizer, count):
        x, y = torch.randn(4, 3, 8, 8, generator=torch.Generator().manual_seed(1)), torch.tensor([0, 0, 1, 1])
        for _ in range(count):
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(net(x), y)
            loss.backward()
            optimizer.step()
        return loss.item()

    net, optimizer = make()
    assert isinstance(optimizer, Muon)
    first = steps(net, optimizer, 1)
    state = copy.deepcopy((net.state_dict(), optimizer.state_dict()))
    net2, optimizer2 = make()
    net2.load_state_dict(state[0])
    optimizer2.load_state_dict(state[1])
    assert steps(net, optimizer, 20) == steps(net2, optimizer2, 20) < first
    assert math.isclose(net[0].weight.norm().item(), 8**0.5, rel_tol=0.2)


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_all_but_convolutions_have_a_rate_of_their_own(name):
    net = nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), proxact.MPU(2), nn.Flatten(), nn.Linear(16, 2))
    optimizer = OPTIMIZERS[name](net, 0.9, True, 1e-4, "weights", rest_scale=4.0)
    scales = {id(p): group.get("scale", 1.0) for group in optimizer.param_groups for p in group["params"]}
    assert len(scales) == len(list(net.parameters()))
    assert [p.ndim for p in net.parameters() if scales[id(p)] == 1.0] == [4]
    assert set(scales.values()) == {1.0, 4.0}
