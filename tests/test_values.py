"""Values against the certified 50-digit oracles."""

import math

import oracles
import pytest
import torch
from cases import CASES, F64, ids, points
from cases import cone_case as make_cone_case
from mpmath import mpf

from proxact import project

CERTIFIED = mpf(10) ** -30


def worst_error(oracle, x, y, unit):
    """The largest error relative to max(|x|, unit), once the oracle's certificate has been checked at each point."""
    worst = mpf(0)
    for given, got in zip(x.tolist(), y.tolist(), strict=True):
        exact, violation = oracle(given, got)
        size = max(unit, *[abs(v) for v in given])
        assert violation <= CERTIFIED * (1 + size), (given, violation)
        worst = max(worst, max(abs(mpf(p) - q) for p, q in zip(got, exact, strict=True)) / size)
    return float(worst)


@pytest.mark.parametrize("case", [c for c in CASES if not c.name.startswith("cone")], ids=ids)
def test_float64(case):
    x = points(case, 2000)
    # Cones have no size of their own; the parameters of the other sets are of size 1.
    assert worst_error(case.oracle, x, case(x), unit=1e-300 if case.is_cone else 1.0) <= case.tolerance


@pytest.mark.parametrize("m", [1, 2, 3, 4, 5, 8, 16])
def test_cone_float64(m):
    """2,000 points with an angle each, from the whole interval and both ends."""
    generator = torch.Generator().manual_seed(m)
    fixed = (0.0, 1e-8, 0.4, math.pi / 4, 1.2, math.pi / 2 - 1e-8, math.pi / 2)
    x = torch.cat([points(make_cone_case(m, alpha), 200, seed=m) for alpha in fixed])
    alpha = torch.tensor(fixed, dtype=F64).repeat_interleave(len(x) // len(fixed))
    spread = torch.rand(700, generator=generator, dtype=F64) * math.pi / 2
    x, alpha = torch.cat([x, torch.randn(700, m, generator=generator, dtype=F64)]), torch.cat([alpha, spread])
    assert len(x) >= 2000
    y = project.cone(x.flatten(), alpha, m).reshape(x.shape)
    worst = 0.0
    for given, angle, got in zip(x, alpha.tolist(), y, strict=True):
        worst = max(worst, worst_error(oracles.make("cone", {"alpha": angle}), given[None], got[None], unit=1e-300))
    assert worst <= 1e-12
