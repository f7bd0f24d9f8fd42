"""Intervals against published values, and the figures that readers see."""

from __future__ import annotations

from math import exp, sqrt

import pytest

from analysis.measures.run_results import spread, written
from analysis.statistics import intervals

NIST_T = {2: 12.706, 5: 2.776, 10: 2.262, 30: 2.045, 101: 1.984}
"""Count to the two-sided 95 % quantile for count - 1 degrees of freedom (NIST handbook, section
1.3.6.7.2).
"""


@pytest.mark.parametrize("count", NIST_T)
def test_the_quantile_is_the_tabulated_one(count: int) -> None:
    values = [float(number) for number in range(count)]
    interval = intervals.student(values)
    assert interval is not None
    deviation = sqrt(count * (count + 1) / 12)  # of the numbers 0 to count - 1
    assert (interval.high - interval.mean) / deviation * sqrt(count) == pytest.approx(
        NIST_T[count], abs=6e-4
    )


def test_the_handbooks_example_interval() -> None:
    """NIST handbook 1.3.5.2: mean 9.261460, deviation 0.022789, 195 values, interval 9.258242 to
    9.264679.
    """
    ring = [9.261460 + sign * 0.022789 * sqrt(194 / 194) for sign in [1, -1] * 97] + [9.261460]
    interval = intervals.student(ring)
    assert interval is not None
    assert (interval.low, interval.high) == pytest.approx((9.258242, 9.264679), abs=2e-6)


def test_one_repetition_or_no_spread_gives_no_interval() -> None:
    assert intervals.difference([1.0], [2.0]) is None
    assert intervals.difference([1.0, 2.0], [3.0, 4.0]) is None
    assert intervals.ratio([0.0, 1.0], [1.0, 2.0]) is None
    assert intervals.ratio([], []) is None


def test_a_ratio_is_the_exponential_of_the_logarithms_difference() -> None:
    interval = intervals.ratio([1.0, 1.0, 1.0], [1.0, exp(1), exp(2)])
    assert interval is not None
    assert interval.mean == pytest.approx(exp(1))
    assert interval.low * interval.high == pytest.approx(exp(2))
    assert interval.excludes(0.01)
    assert not interval.excludes(1.0)


def test_figures_are_written_for_readers() -> None:
    assert [written(value) for value in (1048636, 0, 94.5, 267.4, 0.3961, -3)] == [
        "1,048,636",
        "0",
        "94.5",
        "267",
        "0.396",
        "-3",
    ]
    assert spread([3.0, 1.0, 2.0]) == "2 (1 to 3)"
    assert spread([4.0, 4.0]) == "4"
    assert spread([]) == "\N{EN DASH}"
