"""Prediction intervals of a further run, from the values of measured runs.

A published number is one run, or the mean of a few. It is compared with a further run of the same
kind, which scatters more than the median is uncertain. docs/studies/published-numbers.md
has the measured coverage of each interval.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import exp, floor, log, sqrt
from statistics import fmean, stdev

from analysis.statistics.chances import student_quantile
from analysis.statistics.signed_ranks import CONFIDENCE

RANKED_FROM = 39
"""Runs from which the order alone gives 95 %: a further one lies outside their ends in 2 of 40."""
_LARGEST = 700.0
"""Logarithm of what is still a number; a stranger's values may scatter further."""
_ROUNDING = 1e-9
"""Share of an end by which two floating-point numbers may miss each other and still be the same."""


@dataclass(frozen=True)
class ValueSpan:
    """All from `low` to `high`, in the unit of the row."""

    low: float
    high: float

    def meets(self, other: ValueSpan) -> bool:
        """Return True if both have a value in common."""
        return _reaches(self.high, other.low) and _reaches(other.high, self.low)


def _reaches(high: float, low: float) -> bool:
    return high + _ROUNDING * abs(high) >= low


def next_run(values: Sequence[float]) -> ValueSpan:
    """Return the 95 % interval of a further run, in the values' unit, from two values on.

    From 39 values on by their order: a further one is outside the r-th from either end with
    probability 2r/(n + 1), whatever the distribution (Hahn and Meeker, Statistical Intervals,
    1991, chapter 5). Of few values that would leave out far more than 5 %; so below it is
    mean +- t(n - 1) s sqrt(1 + 1/n) of the logarithms (their chapter 4; Geisser, Predictive
    Inference, 1993), exact if these are normal, and never less than from the least to the
    greatest value. Without logarithms, as for a count of 0, the same of the values.
    """
    ordered, count = sorted(values), len(values)
    if count >= RANKED_FROM:
        rank = floor((1 - CONFIDENCE) / 2 * (count + 1))
        return ValueSpan(ordered[rank - 1], ordered[-rank])
    normal = _on_logarithms(ordered) if ordered[0] > 0 else _students(ordered, 1.0)
    return ValueSpan(min(normal.low, ordered[0]), max(normal.high, ordered[-1]))


def next_mean(values: Sequence[float], further: int) -> ValueSpan:
    """Return the 95 % interval of the mean of `further` runs, if means are normal.

    mean +- t(n - 1) s sqrt(1/n + 1/further), in the values' unit: a mean of several is near the
    normal distribution though its runs are not.
    """
    return _students(values, 1 / further)


def true_mean(values: Sequence[float]) -> ValueSpan:
    """Return the 95 % interval of the mean of all runs: Student, from two values on."""
    return _students(values, 0.0)


def _on_logarithms(values: Sequence[float]) -> ValueSpan:
    span = _students([log(value) for value in values], 1.0)
    return ValueSpan(exp(span.low), exp(min(span.high, _LARGEST)))


def _students(values: Sequence[float], share: float) -> ValueSpan:
    """The interval for a number whose variance is `share` of a run's."""
    quantile = student_quantile(len(values) - 1, (1 + CONFIDENCE) / 2)
    half = quantile * stdev(values) * sqrt(share + 1 / len(values))
    return ValueSpan(fmean(values) - half, fmean(values) + half)
