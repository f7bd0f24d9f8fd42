"""The statistics of sweeps against counting, drawing, scipy, tabulated examples and known
distributions.
"""

from __future__ import annotations

import itertools
import tracemalloc
from collections.abc import Callable
from math import log, sqrt

import numpy as np
import pytest
from scipy.stats import wilcoxon

from analysis.statistics import paired_tests, tests
from analysis.statistics.paired_tests import holm, median_interval, paired, precision
from analysis.statistics.tests import hodges_lehmann, signed_rank

Draw = Callable[[np.random.Generator, tuple[int, int]], np.ndarray]
DISTRIBUTIONS: dict[str, tuple[Draw, float]] = {
    "normal": (lambda chance, shape: chance.normal(size=shape), 0.0),
    "exponential": (lambda chance, shape: chance.exponential(size=shape), log(2)),
    "heavy-tailed": (lambda chance, shape: chance.standard_t(1.5, size=shape), 0.0),
}


def test_the_bootstrap_of_six_values_is_what_counting_all_resamples_gives() -> None:
    values = np.array([1.0, 2.0, 4.0, 8.0, 16.0, 32.0])
    resamples = np.array(list(itertools.product(range(6), repeat=6)))
    medians = np.median(values[resamples], axis=1)
    first, second, weights = paired_tests._middle_pairs(6)
    means = (values[first] + values[second]) / 2
    for mean in np.unique(np.concatenate((medians, means))):
        assert weights[means == mean].sum() == pytest.approx((medians == mean).mean(), abs=1e-12)


@pytest.mark.parametrize("count", [7, 10, 15, 30, 33])
def test_the_interval_ends_where_drawn_resamples_end_it(count: int) -> None:
    chance = np.random.default_rng(count)
    values = chance.lognormal(size=count)
    found = median_interval(values)
    assert found is not None
    drawn = np.median(values[chance.integers(0, count, (30_000, count))], axis=1)
    tail = paired_tests._tail(count)
    slack = 5 * sqrt(tail / len(drawn))
    for beyond in (drawn - found.low, found.high - drawn):
        assert (beyond < -1e-12).mean() - slack <= tail <= (beyond <= 1e-12).mean() + slack
    assert found.median == np.median(values)


@pytest.mark.parametrize("name", DISTRIBUTIONS)
@pytest.mark.parametrize("count", [10, 11, 30])
def test_the_interval_holds_the_true_median_in_95_of_100_samples(name: str, count: int) -> None:
    draw, truth = DISTRIBUTIONS[name]
    samples = draw(np.random.default_rng(1), (1000, count))
    found = [median_interval(sample) for sample in samples]
    share = np.mean([one is not None and one.low <= truth <= one.high for one in found])
    assert 0.91 < share < 0.985


def test_seven_values_are_not_overconfident() -> None:
    """The plain percentile interval holds the median in 87 % here: this fails without Hesterberg's
    correction.
    """
    samples = np.random.default_rng(2).normal(size=(1000, 7))
    found = [median_interval(sample) for sample in samples]
    assert np.mean([one.low <= 0 <= one.high for one in found if one]) > 0.94


@pytest.mark.parametrize("count", [99_999, 100_000])
def test_many_values_give_the_interval_of_the_normal_limit(count: int) -> None:
    found = median_interval(np.random.default_rng(3).normal(size=count))
    assert found is not None
    expected = 2 * 1.96 * sqrt(np.pi / 2 / count)
    assert found.high - found.low == pytest.approx(expected, rel=0.15)


def test_the_order_of_the_values_is_nothing() -> None:
    values = list(np.random.default_rng(4).normal(size=20))
    assert median_interval(values) == median_interval(values[::-1])


def test_fewer_than_six_values_have_no_interval() -> None:
    assert median_interval([1.0, 2.0, 3.0, 4.0, 5.0]) is None
    assert median_interval([1.0, 2.0, 3.0, 4.0, 5.0, 6.0]) is not None


def test_precision_is_half_the_width_by_the_median() -> None:
    values = [float(value) for value in range(90, 111)]
    found = median_interval(values)
    assert found is not None
    assert precision(values) == pytest.approx((found.high - found.low) / 200)
    assert precision([-value for value in values]) == pytest.approx(precision(values))
    assert precision([5.0] * 8) == 0
    assert precision([0.0] * 8) is None
    assert precision(values[:5]) is None


@pytest.mark.parametrize("count", [1, 6, 13, 30, 50])
def test_without_ties_the_p_is_that_of_scipys_exact_test(count: int) -> None:
    differences = np.random.default_rng(count).normal(0.3, 1, count)
    expected = wilcoxon(differences, method="exact").pvalue
    assert signed_rank(differences) == pytest.approx(expected, rel=1e-9)


def test_with_ties_the_p_is_that_of_trying_all_signs() -> None:
    differences = np.array([1.0, -2.0, 2.0, 3.0, 3.0, 3.0, -1.0, 4.0, 0.0])
    sizes = np.array([1.5, 3.5, 3.5, 6.0, 6.0, 6.0, 1.5, 8.0])
    sums = np.array([(sizes * signs).sum() for signs in itertools.product((0, 1), repeat=8)])
    observed = 1.5 + 3.5 + 6 * 3 + 8
    assert signed_rank(differences) == pytest.approx(2 * (sums >= observed).mean())


def test_of_many_pairs_the_p_is_that_of_scipys_approximation() -> None:
    differences = np.random.default_rng(5).normal(0.1, 1, 150)
    assert signed_rank(differences) == pytest.approx(wilcoxon(differences).pvalue)
    rounded = np.round(differences, 1)
    expected = wilcoxon(rounded, method="asymptotic").pvalue
    assert signed_rank(rounded) == pytest.approx(expected)


def test_no_difference_has_p_1() -> None:
    assert signed_rank([0.0] * 30) == 1
    assert signed_rank([]) == 1


def test_pairing_uses_the_seeds() -> None:
    """One level is 3 % above the other under each seed, which vary by far more: only pairs can show
    it.
    """
    chance = np.random.default_rng(6)
    first = chance.lognormal(0, 1, 30)
    second = first * 1.03 * chance.lognormal(0, 0.01, 30)
    by_seed, shuffled = paired(first, second), paired(first, chance.permutation(second))
    assert by_seed is not None and shuffled is not None
    assert by_seed.estimate == pytest.approx(1.03, abs=0.01)
    assert by_seed.p < 1e-6 and by_seed.clear_of_neutral
    assert shuffled.p > 0.05 and not shuffled.clear_of_neutral


def test_exchanging_the_levels_inverts_the_ratio() -> None:
    first, second = np.random.default_rng(7).lognormal(size=(2, 20))
    one, other = paired(first, second), paired(second, first)
    assert one is not None and other is not None and one.low is not None and other.high is not None
    assert (one.estimate * other.estimate, one.low * other.high) == pytest.approx((1, 1))
    assert one.p == other.p


def test_a_zero_makes_it_differences_and_only_common_seeds_count() -> None:
    nan = float("nan")
    found = paired([0.0, 1.0, nan, 3.0], [2.0, 4.0, 5.0, nan])
    assert found is not None
    assert (found.scale, found.estimate, found.low, found.count) == ("difference", 2.5, None, 2)
    assert paired([1.0, nan], [nan, 1.0]) is None


def test_equal_measurements_tie_in_spite_of_rounding() -> None:
    """1.1 / 1.0 and 2.2 / 2.0 are one ratio; as floating-point numbers they are not."""
    found = paired([1.0, 2.0, 3.0, 7.0, 9.0, 11.0], [1.1, 2.2, 3.3, 7.7, 9.9, 12.1])
    assert found is not None
    assert found.p == pytest.approx(2 / 2**6)


def test_holm_gives_the_tabulated_corrections() -> None:
    """The example of stdlib's padjust, which is R's p.adjust:
    https://stdlib.io/docs/api/latest/@stdlib/stats/padjust
    """
    corrected = [0.957, 0.804, 0.957, 0.957, 0.565]
    assert holm([0.319, 0.201, 0.4, 0.374, 0.113]) == pytest.approx(corrected)
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([]) == []


def test_the_fewest_seeds_are_those_whose_smallest_p_survives_holm() -> None:
    for comparisons in (1, 2, 12, 900):
        seeds, others = paired_tests.fewest_seeds(comparisons), [1.0] * (comparisons - 1)
        assert holm([signed_rank([1.0] * seeds), *others])[0] < 0.05
        assert seeds == 6 or holm([signed_rank([1.0] * (seeds - 1)), *others])[0] >= 0.05


@pytest.mark.parametrize("count", [6, 7, 12, 40])
def test_the_interval_of_a_shift_is_the_test_turned_round(count: int) -> None:
    """Just inside it the test does not reject, just outside it does."""
    values = np.random.default_rng(count).normal(0.5, 1, count)
    estimate, low, high = hodges_lehmann(values)
    assert low <= estimate <= high
    for end, inwards in ((low, 1e-9), (high, -1e-9)):
        assert signed_rank(values - end - inwards) >= 0.05 > signed_rank(values - end + inwards)


@pytest.mark.parametrize("count", [6, 10, 11])
@pytest.mark.parametrize("name", ["normal", "heavy-tailed"])
def test_the_interval_of_a_shift_holds_it_in_95_of_100_samples(name: str, count: int) -> None:
    draw, truth = DISTRIBUTIONS[name]
    samples = draw(np.random.default_rng(1), (1000, count))
    ends = [hodges_lehmann(sample)[1:] for sample in samples]
    assert 0.93 < np.mean([low <= truth <= high for low, high in ends]) < 0.985


@pytest.mark.parametrize("kind", ["different", "rounded", "mostly the same", "all the same"])
def test_pairs_that_are_not_held_at_once_give_the_same_shift(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn = np.random.default_rng(4).normal(size=101)
    rounded = np.round(drawn, 1)
    values = {
        "different": drawn,
        "rounded": rounded,
        "mostly the same": np.where(np.arange(101) % 10, 0.5, drawn),
        "all the same": np.full(101, 0.3),
    }[kind]
    at_once = hodges_lehmann(values)
    monkeypatch.setattr(tests, "AT_ONCE", 20)
    assert hodges_lehmann(values) == pytest.approx(at_once, rel=1e-14)


def test_ten_thousand_seeds_need_little_memory() -> None:
    values = np.random.default_rng(5).normal(size=10_000)
    tracemalloc.start()
    estimate, low, high = hodges_lehmann(values)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert low < estimate < high
    assert most < 100e6  # all pairs would take 400


@pytest.mark.parametrize("count", [101, 150, 300])
def test_the_normal_limit_is_near_the_exact_critical_place(count: int) -> None:
    below = np.cumsum(tests._null(tuple(range(1, count + 1))))
    exact = int(np.searchsorted(below, 0.025, side="right")) - 1
    assert abs(tests._critical(count) - exact) <= 2


def test_many_pairs_have_the_interval_of_the_normal_limit() -> None:
    drawn = (np.random.default_rng(3).normal(size=count) for count in (100, 101))
    exact, normal = map(hodges_lehmann, drawn)
    assert exact[2] - exact[1] == pytest.approx(normal[2] - normal[1], rel=0.2)
