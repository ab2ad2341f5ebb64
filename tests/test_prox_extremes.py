"""Ends of domains, huge and tiny arguments, half precision, points without a slope."""

import math

import mpmath
import pytest
import torch
from cases import F64
from test_prox import FORMULAS, NUMBERS, VECTORS, each

from proxact import prox

DTYPES = [torch.float64, torch.float32, torch.bfloat16, torch.float16]

# Formulas as the catalogue prints them, in 50 digits; the parameter is the last argument.
EXACT = {
    "sigmoid": lambda y: y * mpmath.log(y) + (1 - y) * mpmath.log(1 - y) - y * y / 2,
    "tanh": lambda y: y * mpmath.atanh(y) + mpmath.log(1 - y * y) / 2 - y * y / 2,
    "atan": lambda y, c: -2 / (mpmath.pi * c) * mpmath.log(mpmath.cos(mpmath.pi * y / 2)) - y * y / 2,
    "softsign": lambda y: -abs(y) - mpmath.log(1 - abs(y)) - y * y / 2,
    "isru": lambda y: -y * y / 2 - mpmath.sqrt(1 - y * y),
    "isrlu": lambda y: 0 if y >= 0 else 1 - y * y / 2 - mpmath.sqrt(1 - y * y),
    "bent_identity": lambda y: y / 2 - mpmath.log(y + 0.5) / 4,
    "asinh": lambda y: mpmath.cosh(y) - y * y / 2,
    "symlog": lambda y: mpmath.exp(abs(y)) - abs(y) - 1 - y * y / 2,
    "elu": lambda y, a: 0 if y >= 0 else (y + a) * mpmath.log((y + a) / a) - y - y * y / 2,
    "celu": lambda y, a: 0 if y >= 0 else a * ((y + a) * mpmath.log(1 + y / a) - y) - y * y / 2,
    "softplus": lambda y: mpmath.polylog(2, mpmath.exp(-y)),
    "logsigmoid": lambda y: mpmath.polylog(2, mpmath.exp(y)),
    "geman_mcclure": lambda y, mu: (
        mu * mpmath.atan(mpmath.sqrt(abs(y) / (mu - abs(y)))) - mpmath.sqrt(abs(y) * (mu - abs(y))) - y * y / 2
    ),
    "hardsigmoid": lambda y: 5 * y * y / 2 - 3 * y,
    "leaky_relu": lambda y, a: (1 / a - 1) * y * y / 2 if y <= 0 else 0,
    "soft_threshold": lambda y, lam: lam * abs(y),
}


@each([case for case in NUMBERS if case.entry.__name__ in EXACT])
def test_penalties_are_those_of_the_catalogue(case):
    y = case(torch.linspace(-6, 6, 41, dtype=F64))
    values = case.penalty(y)
    parameters = [mpmath.mpf(v) for v in case.params.values()]
    for given, value in zip(y.tolist(), values.tolist(), strict=True):
        exact = EXACT[case.entry.__name__](mpmath.mpf(given), *parameters)
        assert value == pytest.approx(float(mpmath.re(exact)), abs=3e-15, rel=3e-15)


def test_penalty_of_tanhshrink_is_the_conjugate_of_that_of_tanh():
    y = torch.tensor([-30.0, -3.0, -0.4, -1e-3, 0.0, 1e-9, 0.05, 1.0, 12.0], dtype=F64, requires_grad=True)
    value = prox.tanhshrink.penalty(y)
    z = torch.tanh(torch.linspace(-20, 20, 400_001, dtype=F64))
    conjugate = (y.detach()[:, None] * z - prox.tanh.penalty(z)).amax(-1)
    torch.testing.assert_close(value, conjugate, atol=1e-9, rtol=0)
    (slope,) = torch.autograd.grad(value.sum(), y)  # phi'(y) = tanh of the x with x - tanh x = y
    torch.testing.assert_close(prox.tanhshrink(y + slope), y, atol=1e-8, rtol=0)


@pytest.mark.parametrize(
    ("entry", "params", "y", "value"),
    [
        ("sigmoid", {}, 0, 0), ("sigmoid", {}, 1, -0.5),
        ("tanh", {}, -1, math.log(2) - 0.5), ("tanh", {}, 1, math.log(2) - 0.5),
        ("isru", {}, 1, -0.5), ("isrlu", {}, -1, 0.5), ("elu", {"a": 0.5}, -0.5, 0.375), ("celu", {"a": 2}, -2, 2),
        ("softplus", {}, 0, math.pi**2 / 6), ("logsigmoid", {}, 0, math.pi**2 / 6),
        ("geman_mcclure", {"mu": 1}, -1, math.pi / 2 - 0.5), ("geman_mcclure", {}, 0, 0),
        ("hardsigmoid", {}, 1, -0.5), ("softsign", {}, 1, math.inf), ("atan", {}, -1, math.inf),
        ("bent_identity", {}, -0.5, math.inf), ("relu", {}, 0, 0), ("clip", {"low": 1, "high": 1}, 1, 0),
    ],
)  # fmt: skip
def test_ends_of_domains(entry, params, y, value):
    found = prox.CATALOGUE[entry].penalty(torch.tensor(float(y), dtype=F64), **params)
    assert found.item() == pytest.approx(value, abs=1e-15)


@pytest.mark.parametrize(
    ("entry", "params", "y"),
    [
        ("relu", {}, -0.1), ("relu6", {}, 6.1), ("hardtanh", {}, -1.1), ("clip", {"low": 2, "high": 3}, 1.9),
        ("sigmoid", {}, -0.1), ("tanh", {}, 1.1), ("atan", {}, 1.1), ("softsign", {}, -2), ("isru", {}, 1.1),
        ("isrlu", {}, -1.1), ("bent_identity", {}, -0.6), ("elu", {"a": 0.5}, -0.6), ("celu", {"a": 2}, -2.1),
        ("softplus", {}, -0.1), ("logsigmoid", {}, 0.1), ("geman_mcclure", {"mu": 1}, 1.1), ("hardsigmoid", {}, 1.1),
    ],
)  # fmt: skip
def test_outside_the_domain(entry, params, y):
    entry = prox.CATALOGUE[entry]
    for dtype in DTYPES:
        assert entry.penalty(torch.tensor(y, dtype=dtype), **params) == math.inf
    assert entry.outside(torch.tensor(y, dtype=F64), **params) > 0


@each(NUMBERS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_huge_numbers_keep_value_and_gradient(case, dtype):
    """In every dtype the value is that of float64, rounded; where its square overflows too."""
    sizes = [1e-30, 1e-8, 1e-3, 1.0, 1e3, 1e4, *([1e10, 1e20, 1e38] if dtype != torch.float16 else [])]
    x = torch.tensor([-s for s in sizes] + [0.0] + sizes, dtype=dtype, requires_grad=True)
    exact = x.detach().double().requires_grad_()
    y, reference = case(x), case(exact)
    y.sum().backward()
    reference.sum().backward()
    eps = torch.finfo(dtype).eps
    torch.testing.assert_close(y.double(), reference, atol=8 * eps, rtol=8 * eps)
    torch.testing.assert_close(x.grad.double(), exact.grad, atol=20 * eps, rtol=20 * eps)
    assert ((x.grad >= 0) & (x.grad <= 1 + 4 * eps)).all()


def test_slope_at_zero():
    """sign(x) and abs(x) would have made it 0."""
    for entry in (prox.symlog, prox.softsign, prox.isru, prox.asinh, prox.tanh):
        x = torch.zeros((), dtype=F64, requires_grad=True)
        entry(x).backward()
        assert x.grad == 1
    x = torch.zeros((), dtype=F64, requires_grad=True)
    prox.bent_identity(x).backward()
    assert x.grad == 0.5


@each(VECTORS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_vectors_of_every_size(case, dtype):
    """Lengths whose squares overflow or vanish, and 0, where the norm has no slope."""
    top = 1e30 if dtype != torch.float16 else 1e4
    direction = case.points(12, seed=3)[2:]
    for size in (0.0, 1e-30, 1e-6, 1.0, 1e3, top):
        x = (direction / direction.abs().amax(-1, keepdim=True) * size).to(dtype).requires_grad_()
        y = case(x)
        (grad,) = torch.autograd.grad(y.sin().sum(), x, create_graph=True)
        (second,) = torch.autograd.grad(grad.sum(), x, allow_unused=True)
        assert y.isfinite().all()
        assert grad.isfinite().all()
        assert second is None or second.isfinite().all()
        exact = case(x.detach().double())
        tolerance = 8 * torch.finfo(dtype).eps * max(1, size)
        torch.testing.assert_close(y.detach().double(), exact, atol=tolerance, rtol=0)


def test_lengths():
    x = torch.tensor([[3e20, 4e20], [3e-25, 4e-25]])
    torch.testing.assert_close(prox.squash(x)[0], torch.tensor([0.6, 0.8]))
    torch.testing.assert_close(prox.group_soft_threshold(x, 1.0)[0], x[0])
    torch.testing.assert_close(prox.group_soft_threshold(x, 2.5e-25)[1], x[1] / 2)
    assert (prox.group_soft_threshold(x, 1.0)[1] == 0).all()


def test_linf_norm_clips_at_one_level():
    x = torch.randn(200, 6, dtype=F64) * 3
    for lam in (0.3, 2.0, 9.0):
        y = prox.linf_norm(x, lam)
        level = y.abs().amax(-1)
        is_zero = x.abs().sum(-1) <= lam
        assert (level[is_zero] < 1e-15).all()
        removed = (x.abs() - level[:, None]).relu().sum(-1)
        torch.testing.assert_close(removed[~is_zero], torch.full_like(removed[~is_zero], lam))


@pytest.mark.parametrize("alpha", [1.0, 1.0001, 1.1, 1.25, 1.5, 1.75, 1.999, 2.0])
@pytest.mark.parametrize("n", [1, 2, 7, 1000, 20_000])
def test_entmax_optimality(alpha, n):
    """Weights of sum 1, with y^(alpha - 1) = 1 + (alpha - 1)(x - t) for one t on the support, and no room off it."""
    x = torch.randn(8, n, dtype=F64, generator=torch.Generator().manual_seed(n)) * 3
    x[1] = 0.5  # ties
    x[2, n // 2 :] = -math.inf if n > 1 else 0.0
    y = prox.entmax(x, alpha)
    torch.testing.assert_close(y.sum(-1), torch.ones(8, dtype=F64), atol=1e-12, rtol=0)
    if alpha == 1:
        torch.testing.assert_close(y, torch.softmax(x, -1))
        return
    order = alpha - 1
    level = torch.where(y > 0, x - torch.expm1(order * y.clamp(min=1e-300).log()) / order, -math.inf)
    t = level.amax(-1, keepdim=True)
    is_kept = y > 1e-12
    torch.testing.assert_close(level[is_kept], t.expand_as(x)[is_kept], atol=1e-7, rtol=0)
    assert ((1 + order * (x - t)) <= 1e-7)[y == 0].all()
    assert (y[2, n // 2 :] == 0).all() or n == 1


def test_entmax_gradient_with_masked_entries():
    x = torch.tensor([[1.0, -math.inf, 0.5]], requires_grad=True)
    alpha = torch.tensor(1.5, requires_grad=True)
    prox.entmax(x, alpha).square().sum().backward()
    assert x.grad.isfinite().all()
    assert alpha.grad.isfinite()


def test_entmax_between_softmax_and_sparsemax():
    x = torch.randn(50, 6, dtype=F64)
    torch.testing.assert_close(prox.entmax(x, torch.tensor(1.0, dtype=F64)), torch.softmax(x, -1), atol=1e-6, rtol=0)
    torch.testing.assert_close(prox.entmax(x, torch.tensor(2.0, dtype=F64)), prox.sparsemax(x), atol=1e-12, rtol=0)
    x = x.float().requires_grad_()
    alpha = torch.tensor(1.0, requires_grad=True)
    prox.entmax(x, alpha).square().sum().backward()
    assert alpha.grad > 0  # sparser weights have the larger squares: the way back from the end of the range is open


@each(FORMULAS)
def test_nan_stays_nan(case):
    x = case.points(4)
    x.view(4, -1)[1, 0] = math.nan
    y = case(x)
    assert y.view(4, -1)[1].isnan().any()
    assert y[2:].isfinite().all()
