"""Moreau envelopes, the leaky version of an activation, and the theorem that joins them."""

import dataclasses

import pytest
import torch
from cases import F64
from test_prox import CASES, INDICATORS, each
from torch import nn

import proxact
from proxact import prox
from proxact.nn.leaky import Leaky

POINTS = torch.cat([torch.linspace(-6, 6, 25), torch.tensor([-0.5, 1e-3, 0.5])]).double()
LAM = 0.5


def smaller(case):
    """Two entries are enough where the set or the penalty does not ask for three."""
    needs_three = case.entry is prox.exponential or set(case.params) & {"A", "a", "lower", "H"}
    return case if needs_three else dataclasses.replace(case, n=case.params.get("m", 2))


def residual(f, penalty, x, lam, outside=None):
    """y - x + grad M(y) at y = Leaky f(x): Fermat's rule. By strong convexity it bounds the distance to the minimum."""
    y = Leaky(f, lam)(x).detach().requires_grad_()
    envelope = prox.moreau_envelope(penalty, lam, outside=outside)
    (gradient,) = torch.autograd.grad(envelope(y).sum(), y)
    return (y - x + gradient).abs().max()


@each([smaller(case) for case in CASES])
def test_leaky_is_the_prox_of_the_envelope(case):
    x = POINTS if case.entry.is_elementwise else case.points(12, seed=3)
    assert residual(case, lambda y: case.penalty(y) / (1 + LAM), x, LAM, case.outside) <= 1e-6


@pytest.mark.parametrize(("f", "penalty"), [(torch.sigmoid, prox.tanh.penalty), (prox.relu, prox.hardtanh.penalty)])
def test_the_theorem_fails_for_another_penalty(f, penalty):
    assert residual(f, lambda y: penalty(y) / (1 + LAM), POINTS, LAM) > 0.05


def test_the_theorem_needs_the_division():
    """The envelope is that of phi / (1 + lam), not of phi."""
    assert residual(prox.sigmoid, prox.sigmoid.penalty, POINTS, LAM) > 0.05


@pytest.mark.parametrize(("entry", "lam"), [(prox.relu, 1 / 99), (prox.sigmoid, LAM)])
def test_leaky_minimises_the_envelope(entry, lam):
    """The theorem with nothing but values: f, its penalty, and two minimisations, one inside the other."""
    envelope = prox.moreau_envelope(lambda y: entry.penalty(y) / (1 + lam), lam)
    assert prox.verify(Leaky(entry, lam), envelope, POINTS).gap <= 1e-6


def test_the_default_is_the_leak_of_the_paper():
    assert Leaky(torch.relu).leak == pytest.approx(0.01, abs=1e-17)
    x = torch.randn(100)
    torch.testing.assert_close(Leaky(torch.relu)(x), nn.functional.leaky_relu(x, 0.01))


@each([case for case in INDICATORS if case.entry in (prox.nonnegative, prox.simplex)])
def test_leaky_of_a_projection_has_a_quadratic_penalty(case):
    """(1 - l) P + l I is the prox of (1/l - 1) dist^2 / 2."""
    leak = LAM / (1 + LAM)
    x = case.points(16, seed=5)

    def penalty(y):
        return (1 / leak - 1) * ((y - case(y)) ** 2).sum(-1) / 2

    assert prox.verify(Leaky(case, LAM), penalty, x).gap <= 1e-6
    envelope = prox.moreau_envelope(case.penalty, LAM, prox=case)
    torch.testing.assert_close(envelope(x), penalty(x))
    numerical = prox.moreau_envelope(case.penalty, LAM, outside=case.outside)
    torch.testing.assert_close(numerical(x), penalty(x), atol=1e-6, rtol=0)


@pytest.mark.parametrize("lam", [0.1, 1.0, 7.0])
def test_envelope_of_the_absolute_value_is_hubers(lam):
    y = torch.linspace(-9, 9, 301, dtype=F64, requires_grad=True)
    huber = nn.functional.huber_loss(y, torch.zeros_like(y), reduction="none", delta=lam) / lam
    for closed_form in (None, lambda v: prox.soft_threshold(v, lam)):
        envelope = prox.moreau_envelope(torch.abs, lam, prox=closed_form)(y)
        torch.testing.assert_close(envelope, huber, atol=1e-12, rtol=0)
        (gradient,) = torch.autograd.grad(envelope.sum(), y)
        torch.testing.assert_close(gradient, (y / lam).clamp(-1, 1).detach(), atol=1e-6, rtol=0)


def test_leaky_agrees_with_mpu():
    x = torch.randn(5, 6, dtype=F64)
    for m in (2, 3):
        for lam in (1 / 99, 0.25, 3.0):
            plain, leaky = proxact.MPU(m), proxact.MPU(m, leak=lam / (1 + lam))
            torch.testing.assert_close(Leaky(plain, lam)(x), leaky(x), atol=1e-15, rtol=1e-14)
    torch.testing.assert_close(Leaky(proxact.MPU())(x), proxact.LeakyMPU()(x), atol=1e-15, rtol=1e-14)


def test_leaky_takes_any_activation():
    x = torch.randn(4, 8)
    relu = nn.functional.leaky_relu(x, 0.2)
    torch.testing.assert_close(Leaky(nn.ReLU(), 0.25)(x), relu)
    torch.testing.assert_close(Leaky(nn.ReLU(inplace=True), 0.25)(x.clone()), relu)
    torch.testing.assert_close(Leaky(nn.GELU(), 0.0)(x), nn.functional.gelu(x))
    assert Leaky(nn.PReLU()).state_dict().keys() == {"activation.weight"}
    assert Leaky(nn.Softmax(-1), 1.0)(x.half()).dtype == torch.float16
    assert "lam=0.25" in repr(Leaky(torch.relu, 0.25))
    model = nn.Sequential(nn.Linear(8, 8), Leaky(nn.Tanh()))
    model(x).sum().backward()
    assert model[0].weight.grad.isfinite().all()
    torch._dynamo.reset()
    torch.testing.assert_close(torch.compile(model, fullgraph=True, backend="eager")(x), model(x))


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: Leaky(3), TypeError, ["activation", "3"]),
        (lambda: Leaky(torch.relu, -0.1), ValueError, ["lam", "[0, inf)", "-0.1"]),
        (lambda: Leaky(torch.relu, "much"), TypeError, ["lam", "much"]),
        (lambda: Leaky(proxact.CReLU())(torch.zeros(2, 4)), ValueError, ["shape", "(2, 4)", "(2, 8)"]),
        (lambda: Leaky(torch.relu)([1.0]), TypeError, ["x must", "list"]),
    ],
)
def test_message(call, error, words):
    with pytest.raises(error) as caught:
        call()
    for word in words:
        assert word in str(caught.value)
