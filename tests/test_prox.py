"""The catalogue: one table of entries, each against the numerical minimum, and what every prox obeys."""

from __future__ import annotations

import math
import pickle
from dataclasses import dataclass, field
from typing import Any

import pytest
import torch
from cases import F64, SOC_A, A, H, R, tensor
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from proxact import project, prox

EXAMPLES = settings(max_examples=12, deadline=None, derandomize=True)
STEEPEST = 8 / (3 * math.sqrt(3))


@dataclass(frozen=True)
class ProxCase:
    entry: prox.Entry
    params: dict[str, Any] = field(default_factory=dict)
    n: int = 3
    kinks: tuple[float, ...] = ()

    @property
    def name(self) -> str:
        shown = [f"{v:.3g}" for v in self.params.values() if isinstance(v, (int, float))]
        return " ".join([self.entry.__name__, *shown])

    @property
    def event(self) -> tuple[int, ...]:
        """The shape of one argument."""
        if self.entry.is_elementwise:
            return ()
        return (self.n, self.n) if self.entry is prox.psd else (self.n,)

    def __call__(self, x: Tensor) -> Tensor:
        return self.entry(x, **self._in(x.dtype))

    def penalty(self, y: Tensor) -> Tensor:
        return self.entry.penalty(y, **self._in(y.dtype))

    def outside(self, y: Tensor) -> Tensor:
        return self.entry.outside(y, **self._in(y.dtype))

    def _in(self, dtype: torch.dtype) -> dict[str, Any]:
        return {k: v.to(dtype) if isinstance(v, Tensor) else v for k, v in self.params.items()}

    def points(self, count: int, seed: int = 0) -> Tensor:
        generator = torch.Generator().manual_seed(seed)
        x = torch.randn(count, *self.event, generator=generator, dtype=F64) * (4 if self.entry.is_elementwise else 2)
        special = [torch.zeros(self.event, dtype=F64), torch.ones(self.event, dtype=F64)]
        return torch.cat([torch.stack(special), x])[:count]


# Every row of the catalogue; the kinks are where gradients are not to be compared with differences.
NUMBERS = [
    ProxCase(prox.relu, kinks=(0,)),
    ProxCase(prox.clip, {"low": -0.5, "high": 2.0}, kinks=(-0.5, 2)),
    ProxCase(prox.relu6, kinks=(0, 6)),
    ProxCase(prox.hardtanh, kinks=(-1, 1)),
    ProxCase(prox.leaky_relu, {"a": 0.01}, kinks=(0,)),
    ProxCase(prox.leaky_relu, {"a": 0.5}, kinks=(0,)),
    ProxCase(prox.leaky_relu, {"a": 1.0}),
    ProxCase(prox.soft_threshold, {"lam": 0.7}, kinks=(-0.7, 0.7)),
    ProxCase(prox.soft_threshold, {"lam": 0.0}, kinks=(0,)),
    ProxCase(prox.hardsigmoid, kinks=(-3, 3)),
    ProxCase(prox.sigmoid),
    ProxCase(prox.tanh),
    ProxCase(prox.atan, {"c": 1.0}),
    ProxCase(prox.atan, {"c": math.pi / 2}),
    ProxCase(prox.softsign),
    ProxCase(prox.isru),
    ProxCase(prox.isrlu),
    ProxCase(prox.bent_identity),
    ProxCase(prox.asinh),
    ProxCase(prox.symlog),
    ProxCase(prox.elu, {"a": 1.0}),
    ProxCase(prox.elu, {"a": 0.3}, kinks=(0,)),
    ProxCase(prox.celu, {"a": 0.3}),
    ProxCase(prox.celu, {"a": 2.5}),
    ProxCase(prox.softplus),
    ProxCase(prox.logsigmoid),
    ProxCase(prox.tanhshrink),
    ProxCase(prox.geman_mcclure, {"mu": STEEPEST}),
    ProxCase(prox.geman_mcclure, {"mu": 1.0}),
]
VECTORS = [
    ProxCase(prox.softmax),
    ProxCase(prox.sparsemax),
    ProxCase(prox.entmax, {"alpha": 1.0}, n=2),
    ProxCase(prox.entmax, {"alpha": 1.2}, n=2),
    ProxCase(prox.entmax, {"alpha": 1.5}),
    ProxCase(prox.entmax, {"alpha": 2.0}, n=2),
    ProxCase(prox.group_soft_threshold, {"lam": 1.3}),
    ProxCase(prox.modrelu, {"b": -0.7}, n=2),
    ProxCase(prox.squash),
    ProxCase(prox.squash, {"mu": STEEPEST}, n=2),
    ProxCase(prox.linf_norm, {"lam": 1.5}),
]
INDICATORS = [
    ProxCase(prox.affine, {"A": A, "b": tensor(0.4, -1)}),
    ProxCase(prox.box, {"lower": tensor(-1, 0, -math.inf), "upper": tensor(1, 0, 2)}),
    ProxCase(prox.cone, {"alpha": 0.5, "m": 3}),
    ProxCase(prox.cone, {"alpha": 1.1, "m": 2}, n=4),
    ProxCase(prox.exponential),
    ProxCase(prox.halfspace, {"a": tensor(1, -2, 0.5), "b": 0.3}),
    ProxCase(prox.hyperplane, {"a": tensor(1, -2, 0.5), "b": 0.3}),
    ProxCase(prox.l1_ball, {"radius": 1.3}),
    ProxCase(prox.l2_ball, {"radius": 0.7}),
    ProxCase(prox.linf_ball, {"radius": 0.7}, n=2),
    ProxCase(prox.lorentz),
    ProxCase(prox.nonnegative, n=2),
    ProxCase(prox.polyhedron, {"H": H, "r": R}),
    ProxCase(prox.psd, n=2),
    ProxCase(prox.rotated_lorentz),
    ProxCase(prox.simplex, {"radius": 2.0}, n=2),
    ProxCase(prox.soc, {"A": SOC_A, "d": tensor(0.1, -0.2, 0.3), "r": tensor(0.3, 0.2, 0.5), "c": 0.8}),
]
FORMULAS = [*NUMBERS, *VECTORS]  # the projections have their own tests
CASES = [*FORMULAS, *INDICATORS]


def each(cases):
    return pytest.mark.parametrize("case", list(cases), ids=lambda case: case.name)


def test_the_table_is_complete():
    assert {case.entry.__name__ for case in CASES} == set(prox.CATALOGUE)
    assert set(project.SETS) <= set(prox.CATALOGUE)
    for name, entry in prox.CATALOGUE.items():
        assert entry.__doc__
        assert entry.domain
        assert pickle.loads(pickle.dumps(entry)) is entry is getattr(prox, name)


@each(NUMBERS)
def test_numbers_minimise_their_penalty(case):
    assert prox.verify(case.entry, **case.params).gap <= 1e-6


@each(VECTORS + INDICATORS)
def test_vectors_minimise_their_penalty(case):
    assert prox.verify(case.entry, x=case.points(16), **case.params).gap <= 1e-6


@each(CASES)
def test_values_lie_in_the_domain(case):
    for dtype in (F64, torch.float32, torch.bfloat16, torch.float16):
        y = case(case.points(300).to(dtype))
        assert y.dtype == dtype
        assert case.penalty(y).isfinite().all()


@each(FORMULAS)
@EXAMPLES
@given(data=st.data())
def test_firmly_nonexpansive_and_monotone(case, data):
    """|f(x) - f(z)|^2 <= <f(x) - f(z), x - z>, which for numbers says monotone and 1-Lipschitz."""
    entries = math.prod(case.event)
    number = st.floats(-50, 50).map(lambda v: 0.0 if abs(v) < 1e-100 else v)
    numbers = st.lists(number, min_size=entries, max_size=entries)
    x, z = (torch.tensor(data.draw(numbers), dtype=F64).reshape(case.event) for _ in range(2))
    moved = case(x) - case(z)
    assert (moved * moved).sum() <= (moved * (x - z)).sum() + 1e-8 * (1 + (x - z).abs().max())


@each(FORMULAS)
def test_no_other_point_is_better(case):
    """phi(y) + |y - x|^2/2 at f(x) and at points f(z) around it, all in the domain: a check without the minimiser."""
    x = case.points(40, seed=1)
    dims = tuple(range(1, x.ndim))

    def objective(y):
        return case.penalty(y) + (((y - x) ** 2).sum(dims) if dims else (y - x) ** 2) / 2

    best = objective(case(x))
    for size in (1e-3, 0.1, 1, 10):
        other = case(x + size * case.points(40, seed=2))
        assert (objective(other) >= best - 1e-7 * (1 + best.abs())).all()
