"""The benchmark of the solvers measures what it says, in small."""

import pytest
import torch

from proxact.bench.unroll import _ACCURACY, batched, measure, problems
from proxact.unroll import ADMM


@pytest.mark.parametrize("shared", [False, True])
def test_gap_bounds_the_error_of_the_objective(shared):
    given = problems(20, 8, shared)
    assert given.P.shape[0] == (1 if shared else 20)

    def value(x):
        return (x * ((given.P @ x.unsqueeze(-1)).squeeze(-1) / 2 + given.q)).sum(-1)

    best = batched(ADMM)(given, 1e-12)
    assert given.gap(best) < 1e-10
    for size in (1e-4, 1e-2, 1.0):
        x = (best + size * torch.randn(best.shape, dtype=best.dtype)).clamp(-1, 1)
        excess = ((value(x) - value(best)) / value(best).abs()).max().item()
        assert excess < given.gap(x)
    assert given.gap(best + 0.5) >= 0.5 - 1e-9  # outside of the box
    assert (best.abs() == 1).double().mean() > 0.2


def test_every_contender_reaches_the_accuracy_and_is_timed():
    found = measure(problems(12, 10, shared=False), sample=3, rounds=3)
    assert set(found) == {"cvxpy loop", "OSQP loop", "ADMM", "ADMM, float32", "FISTA"}
    for name, row in found.items():
        assert row["gap"] <= _ACCURACY, name
        assert row["seconds"] > 0
        assert row["ratio"] == pytest.approx(found["cvxpy loop"]["seconds"] / row["seconds"])
    assert found["cvxpy loop"]["solved"] == 3
