"""Student's t, paired differences, Holm and the power of paired seeds, against scipy, simulation and the textbook."""

import math
import random
import statistics

import pytest

from proxact.report.statistics import (
    holm,
    paired_difference,
    paired_power,
    pairs_needed,
    student_quantile,
    student_tail,
)

FREEDOMS = (1, 2, 3, 4, 7, 30, 1000, 10**6)


def scipy_stats():
    return pytest.importorskip("scipy.stats")


def test_the_tail_is_scipys():
    stats = scipy_stats()
    for freedom in FREEDOMS:
        for t in (1e-9, 0.01, 0.3, 1.0, 2.0, 5.0, 30.0):
            expected = 2 * stats.t.sf(t, freedom)
            assert student_tail(t, freedom) == pytest.approx(expected, rel=1e-8, abs=1e-300), (freedom, t)
    assert student_tail(0.0, 3) == 1


def test_the_quantile_is_scipys():
    stats = scipy_stats()
    for freedom in FREEDOMS:
        for level in (0.5, 0.8, 0.95, 0.999):
            assert student_quantile(level, freedom) == pytest.approx(stats.t.ppf(0.5 + level / 2, freedom), rel=1e-8)


def test_quantiles_of_the_textbook():
    assert student_quantile(0.95, 1) == pytest.approx(12.706, abs=5e-4)
    assert student_quantile(0.95, 4) == pytest.approx(2.776, abs=5e-4)


@pytest.mark.parametrize("n", [2, 3, 5, 40])
def test_paired_differences_are_scipys(n):
    stats = scipy_stats()
    draw = random.Random(n)
    base = [draw.gauss(88, 2) for _ in range(n)]
    ours = [value + draw.gauss(0.2, 0.3) for value in base]
    test = stats.ttest_rel(ours, base)
    interval = test.confidence_interval(0.95)
    mean = sum(ours) / n - sum(base) / n
    assert paired_difference(ours, base) == pytest.approx((mean, interval.low, interval.high, test.pvalue), rel=1e-7)


def test_pairs_count_not_groups():
    base = [10.0, 20.0, 30.0, 40.0]  # far apart, but each pair says the same
    ours = [11.0, 21.1, 30.9, 41.0]
    mean, low, high, p = paired_difference(ours, base)
    assert mean == pytest.approx(1)
    assert 0.8 < low < high < 1.2
    assert p < 1e-3
    assert paired_difference(base, ours) == pytest.approx((-mean, -high, -low, p))


def test_one_pair_and_no_scatter():
    assert paired_difference([3.0], [1.0]) == (2.0, -math.inf, math.inf, 1.0)
    assert paired_difference([3.0, 5.0], [1.0, 3.0]) == (2.0, 2.0, 2.0, 0.0)
    assert paired_difference([3.0, 5.0], [3.0, 5.0]) == (0.0, 0.0, 0.0, 1.0)
    with pytest.raises(ValueError, match="at least one pair"):
        paired_difference([], [])
    with pytest.raises(ValueError, match="shorter"):
        paired_difference([1.0, 2.0], [1.0])


def test_holm_by_hand():
    # Sorted 0.01, 0.02, 0.03, 0.5 times 4, 3, 2, 1; never below the one before.
    assert holm([0.03, 0.01, 0.5, 0.02]) == pytest.approx([0.06, 0.04, 0.5, 0.06])
    assert holm([0.9, 0.8]) == [1.0, 1.0]
    assert holm([0.2]) == [0.2]
    assert holm([]) == []


def test_power_is_scipys_noncentral_t():
    stats = scipy_stats()
    for n in (2, 3, 5, 24, 500):
        for effect in (0.0, 0.1, 0.6, 2.0):
            freedom, shift = n - 1, effect * math.sqrt(n)
            limit = stats.t.ppf(0.975, freedom)
            # The far tail vanishes where scipy's loses its digits.
            expected = stats.nct.sf(limit, freedom, shift) + (stats.nct.cdf(-limit, freedom, shift) if shift < 5 else 0)
            assert paired_power(n, effect) == pytest.approx(expected, abs=1e-6), (n, effect)


def test_power_is_how_often_a_difference_is_seen():
    draw, n, effect, trials = random.Random(0), 6, 1.2, 3000
    seen = 0
    for _ in range(trials):
        differences = [draw.gauss(effect, 1) for _ in range(n)]
        error = statistics.stdev(differences) / math.sqrt(n)
        seen += abs(statistics.fmean(differences)) / error > 2.5706  # t of 95 % and 5 degrees of freedom
    assert paired_power(n, effect) == pytest.approx(seen / trials, abs=4 * math.sqrt(0.25 / trials))


@pytest.mark.parametrize(("deviation", "effect"), [(0.25, 0.18), (0.25, -0.18), (0.1, 0.5), (1.0, 0.02), (0.4, 0.7)])
def test_pairs_needed_are_the_fewest(deviation, effect):
    half = deviation / math.sqrt(2)
    n = pairs_needed([5 - half, 5 + half], effect)  # two values of that deviation; their mean does not matter
    assert paired_power(n, abs(effect) / deviation) >= 0.8
    assert n == 2 or paired_power(n - 1, abs(effect) / deviation) < 0.8


def test_pairs_needed_of_the_textbook():
    # Cohen's tables, paired, two-sided 5 %, power 80 %: 34 pairs for half a deviation, 15 for 0.8.
    differences = [-math.sqrt(0.5), math.sqrt(0.5)]
    assert pairs_needed(differences, 0.5) == 34
    assert pairs_needed(differences, 0.8) == 15
    assert pairs_needed(differences, 0.8, power=0.95) > 20


def test_pairs_needed_at_the_edges():
    assert pairs_needed([0.1, 0.1, 0.1], 0.2) == 2
    with pytest.raises(ValueError, match="two differences"):
        pairs_needed([0.1], 0.2)
    with pytest.raises(ValueError, match="other than 0"):
        pairs_needed([0.1, 0.2], 0)
