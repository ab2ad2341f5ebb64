"""Sizes of what is constructed, values the claims do not cover, and what is refused."""

import math
from collections import Counter

import pytest
import torch

from proxact import project, theory
from proxact.theory.approximation import SEGMENT_HALF, on_segment, segment_error, segment_points
from proxact.theory.measure import cone_axis, normal
from proxact.theory.representability import ray_gap
from proxact.theory.shallow import random_net

F64 = torch.float64


@pytest.mark.parametrize("m", [2, 3, 4, 7])
@pytest.mark.parametrize("width", [1, 5])
def test_relu_net_becomes_an_mpu_net_of_m_times_the_width(m, width):
    net = random_net(3, width, 2, seed=m)
    wide = theory.relu_net_as_mpu_net(net, m)
    assert [tuple(weights.shape) for weights in wide] == [(m * width, 3), (m * width,), (2, m * width), (2,)]
    x = normal(100, 3)
    for alpha in (0.0, 0.01, 0.7, 1.56, math.pi / 2):
        torch.testing.assert_close(wide.mpu(x, m, alpha), net.relu(x), atol=1e-12, rtol=0)


@pytest.mark.parametrize("width", [6, 7])
def test_at_quarter_the_same_weights_give_the_same_bits(width):
    net, x = random_net(3, width, 2), normal(100, 3)
    assert torch.equal(net.mpu(x, 2, math.pi / 4), net.relu(x))


def test_larger_cones_keep_the_number_of_groups():
    net = random_net(4, 6, 3)
    assert theory.net_in_larger_cones(net, 3, 5).W1.shape == (10, 4)
    isometry = theory.cone_isometry(3, 5)
    torch.testing.assert_close(isometry.mT @ isometry, torch.eye(3, dtype=F64), atol=1e-14, rtol=0)
    torch.testing.assert_close(isometry @ cone_axis(3), cone_axis(5), atol=1e-14, rtol=0)


def test_nets_at_the_ends_are_small():
    assert len(theory.relu_net_of_ray(4).b1) == 1
    assert len(theory.relu_net_of_half_space(4).b1) == 9


def test_moved_cone_keeps_its_vertex_and_axis():
    axis, vertex = torch.tensor([3.0, 0.0, 4.0], dtype=F64), torch.tensor([1.0, -2.0, 0.5], dtype=F64)
    moved = theory.move_cone(axis, vertex)

    def unit(x):
        inner = moved["W_before"] @ x + moved["b_before"]
        return moved["W_after"] @ project.cone(inner, 0.3, 3) + moved["b_after"]

    for x in (vertex, vertex + axis):
        torch.testing.assert_close(unit(x), x, atol=1e-14, rtol=0)
    torch.testing.assert_close(unit(vertex - axis), vertex, atol=1e-14, rtol=0)


def test_rnn_states_are_nonnegative_and_one_for_each_step():
    rnn = theory.relu_rnn(0.5 * torch.eye(3, dtype=F64), torch.tensor([1.0, -1.0, 0.0], dtype=F64))
    states, _ = rnn(torch.zeros(2, 8, 1, dtype=F64), torch.zeros(1, 2, 3, dtype=F64))
    assert states.shape == (2, 8, 3)
    torch.testing.assert_close(states[0, :, 0], 2 - 0.5 ** torch.arange(8, dtype=F64))
    assert not states[..., 1:].any()


def test_kinks_pair_up_into_lines_at_quarter_alone():
    """The exception of the theorem: there the opposite rays carry the same kinks."""
    assert ray_gap(math.pi / 4, theory.kink_rays(math.pi / 4)) == pytest.approx(1)
    for alpha in (0.1, 0.7, 0.8, 1.5):
        assert ray_gap(alpha, theory.kink_rays(alpha)) < 1e-12


@pytest.mark.parametrize("m", [2, 3, 5])
@pytest.mark.parametrize("alpha", [0.1, 0.4, 0.7, 1.0, 1.4])
def test_odd_part_gap_is_a_lower_bound(m, alpha):
    """No linear map comes nearer to the odd part: not the one with the least squared error, not the identity."""
    x = normal(20_000, m, seed=1)
    x = x / torch.linalg.vector_norm(x, dim=-1, keepdim=True)
    odd = project.cone(x, alpha, m) - project.cone(-x, alpha, m)
    for linear in (torch.linalg.lstsq(x, odd).solution, torch.eye(m, dtype=F64)):
        error = torch.linalg.vector_norm(odd - x @ linear, dim=-1).max().item() / 2
        assert error >= theory.odd_part_gap(alpha) > 0


def test_odd_part_gap_vanishes_where_the_odd_part_is_linear():
    assert theory.odd_part_gap(math.pi / 4) < 1e-15
    assert theory.odd_part_gap(1e-6) < 1e-6
    assert theory.odd_part_gap(math.pi / 2 - 1e-6) < 1e-6


@pytest.mark.parametrize("width", [2, 6, 20])
def test_no_fitted_net_gets_below_the_floor_on_the_segment(width):
    """Wherever it has its kinks."""
    s = torch.linspace(-SEGMENT_HALF, SEGMENT_HALF, 2001, dtype=F64)
    x, floor = segment_points(s), theory.segment_floor(width)
    best = theory.segment_net(width)
    for seed in range(20):
        W1 = best.W1 * (1 + 0.1 * normal(width, 1, seed=seed))
        b1 = best.b1 + 0.02 * normal(width, seed=seed + 100)
        features = torch.cat([torch.relu(x @ W1.mT + b1), torch.ones(len(x), 1, dtype=F64)], -1)
        output = torch.linalg.lstsq(features, on_segment(s).unsqueeze(-1), driver="gelsd").solution.mT
        assert segment_error(theory.ShallowNet(W1, b1, output[:, :-1], output[:, -1])) >= floor
    assert segment_error(best) >= floor


@pytest.mark.parametrize("m", [2, 3, 4, 16])
def test_operations_add_up(m):
    assert sum(theory.count_operations(m).values()) == 6 * m + 9
    assert sum(theory.count_operations(2, planar=True).values()) == 18


@pytest.mark.parametrize(("m", "planar"), [(2, True), (2, False), (5, False)])
def test_counting_does_not_change_values_and_the_count_is_the_worst(m, planar):
    worst = sum(theory.count_operations(m, planar=planar).values())
    totals = set()
    for x in normal(200, m, seed=3).tolist():
        tally = Counter()
        counted = theory.cone_formula([theory.Counted(entry, tally) for entry in x], 0.8, planar)
        plain = theory.cone_formula(x, 0.8, planar)
        assert [getattr(entry, "value", entry) for entry in counted] == plain
        totals.add(tally.total())
    assert max(totals) == worst
    assert len(totals) == 3  # inside the cone, inside the polar, between them


def identity(n):
    return torch.eye(n, dtype=F64)


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: theory.gradient_layer(identity(2), torch.ones(2), 2.5), "gamma must make the norm .* got gamma=2.5"),
        (lambda: theory.gradient_layer(0 * identity(2), torch.ones(2), 0.1), "gamma must make the norm"),
        (lambda: theory.gradient_layer(identity(2).flip(0).tril(), torch.ones(2), 0.1), "P must be symmetric"),
        (lambda: theory.relu_net_as_mpu_net(random_net(2, 3, 1), 0), "m must be an int >= 1"),
        (lambda: theory.cone_isometry(4, 3), r"m1 must be in \[1, m2\]"),
        (lambda: theory.net_in_larger_cones(random_net(2, 5, 1), 2, 3), "divisible by m1=2, got 5"),
        (lambda: theory.curvature_witness(2, 0.5), "m must be at least 3"),
        (lambda: theory.move_cone(torch.zeros(3), torch.zeros(3)), "axis must be a nonzero vector"),
        (lambda: theory.Counted(2.0, Counter()) ** 2, "only the power 0.5"),
        (
            lambda: theory.qp_to_socp(theory.QP(-identity(2), torch.ones(2), identity(2), torch.ones(2))),
            "P must be positive semidefinite",
        ),
    ],
)
def test_bad_arguments_are_named(build, message):
    with pytest.raises(ValueError, match=message):
        build()
