"""prox.verify on its own: it sees what is wrong, and it does not see what is right as wrong."""

import math

import pytest
import torch
from cases import F64
from test_prox import INDICATORS, NUMBERS, VECTORS, each
from torch import nn

import proxact
from proxact import prox
from proxact.prox._minimise import minimise

TOLERANCE = 1e-6


@each(NUMBERS)
def test_a_tilted_penalty_is_noticed(case):
    """phi(y) + 1e-4 y is the penalty of f(x - 1e-4)."""
    result = prox.verify(case, lambda y: case.penalty(y) + 1e-4 * y)
    assert result.gap > 5 * TOLERANCE
    torch.testing.assert_close(case(result.x - 1e-4), result.best, atol=TOLERANCE, rtol=0)


@each(NUMBERS)
def test_a_bent_penalty_and_a_shifted_function_are_noticed(case):
    assert prox.verify(case, lambda y: case.penalty(y) + 1e-4 * y * y).gap > 5 * TOLERANCE
    assert prox.verify(lambda x: case(x) + 2e-6, case.penalty).gap > TOLERANCE


@each([case for case in VECTORS + INDICATORS if case.entry in (prox.modrelu, prox.squash, prox.psd, prox.simplex)])
def test_a_tilted_penalty_of_vectors_is_noticed(case):
    x = case.points(8, seed=6)
    tilt = 1e-3 * torch.linspace(-1, 1, math.prod(case.event), dtype=F64).reshape(case.event)
    axes = tuple(range(-len(case.event), 0))
    result = prox.verify(case, lambda y: case.penalty(y) + (tilt * y).sum(axes), x, outside=case.outside)
    assert result.gap > 5 * TOLERANCE
    torch.testing.assert_close(case(result.x - tilt), result.best, atol=TOLERANCE, rtol=0)


def test_a_set_of_another_size_is_noticed():
    x = torch.randn(16, 3, dtype=F64) * 3
    assert prox.verify(prox.l2_ball, x=x, radius=1.001).gap <= TOLERANCE
    smaller = prox.verify(lambda v: prox.l2_ball(v, 1.001), prox.l2_ball.penalty, x, outside=prox.l2_ball.outside)
    assert smaller.gap == pytest.approx(1e-3, rel=1e-2)


def test_errata_of_the_paper():
    """The penalties as the paper prints them: softmax without the square; the other two only differ at the ends."""
    x = torch.randn(8, 3, dtype=F64)

    def entropy(y):
        return prox.softmax.penalty(y) + (y * y).sum(-1) / 2

    assert prox.verify(torch.nn.Softmax(-1), entropy, x, outside=prox.softmax.outside).gap > 0.01
    assert prox.verify(torch.nn.Softmax(-1), prox.softmax.penalty, x, outside=prox.softmax.outside).gap <= TOLERANCE


def test_result():
    result = prox.verify(torch.relu, torch.abs, torch.tensor([[0.5, 3.0], [-1.0, -7.0]]))
    assert result.gap == pytest.approx(6.0, abs=1e-6)  # at -7 the soft threshold is -6
    assert (result.x.item(), result.y.item()) == (-7.0, 0.0)
    assert result.best.item() == pytest.approx(-6.0, abs=1e-6)
    result = prox.verify(torch.sigmoid, lambda y: torch.where(y.abs() < 1, 0, math.inf), torch.tensor(0.3))
    assert result.best.item() == pytest.approx(0.3, abs=1e-6)


def test_modules_and_nan():
    x = torch.randn(8, 2)
    assert prox.verify(nn.PReLU(), lambda y: prox.leaky_relu.penalty(y, 0.25), x).gap <= TOLERANCE
    orthant = prox.nonnegative
    assert prox.verify(proxact.MPU(), orthant.penalty, x, outside=orthant.outside).gap <= TOLERANCE
    assert prox.verify(lambda v: v * math.nan, torch.abs).gap == math.inf


def test_narrow_and_far_domains():
    for low, high in ((3.0, 3.0), (-1e-7, 1e-7), (800.0, 900.0), (-math.inf, -50.0)):
        assert prox.verify(prox.clip, low=low, high=high).gap <= TOLERANCE
    x = torch.tensor([-1e4, -100.0, 100.0, 1e4])
    for entry in (prox.relu, prox.soft_threshold, prox.sigmoid, prox.softplus):
        assert prox.verify(entry, x=x).gap <= TOLERANCE


def test_minimise_needs_no_closed_form():
    """Against answers worked out by hand: x^4 (a cubic), max(y), and a corner."""
    x = torch.tensor([0.0, 2.0, 33.0, -10.0], dtype=F64)
    y = minimise(lambda v: v**4 / 4, x)  # y^3 + y = x
    torch.testing.assert_close(y**3 + y, x, atol=1e-6, rtol=1e-7)
    points = torch.tensor([[3.0, 1.0], [0.2, 0.0]], dtype=F64)
    top = minimise(lambda v: v.amax(-1), points)
    torch.testing.assert_close(top, torch.tensor([[2.0, 1.0], [-0.4, -0.4]], dtype=F64), atol=1e-7, rtol=0)
    one = minimise(lambda v: v.abs().sum(-1), points[:, :1])
    torch.testing.assert_close(one, torch.tensor([[2.0], [0.0]], dtype=F64), atol=1e-7, rtol=0)
    half = minimise(lambda v: v.abs().sum(-1), points, weight=0.5)
    torch.testing.assert_close(half, prox.soft_threshold(points, 0.5), atol=1e-7, rtol=0)
