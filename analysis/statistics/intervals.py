"""Confidence intervals over repetitions.

Each seed is run under both conditions, so the seeds form pairs, and the interval is Student's
over the pairs' differences: mean +- t(n - 1) * s / sqrt(n) (NIST/SEMATECH e-Handbook of
Statistical Methods, sections 1.3.5.2 and 7.3.1, https://www.itl.nist.gov/div898/handbook/). The
quantile t is scipy.special.stdtrit, the inverse of Student's distribution function (Virtanen et
al., Nature Methods 17, 2020).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import exp, log, sqrt
from statistics import fmean, stdev

CONFIDENCE = 0.95


@dataclass(frozen=True)
class Interval:
    """The mean of `count` values, and the interval that has the true mean by `CONFIDENCE`."""

    mean: float
    low: float
    high: float
    count: int

    def excludes(self, value: float) -> bool:
        return not self.low <= value <= self.high


def student(values: Sequence[float]) -> Interval | None:
    """Student's interval for the mean, in the values' unit; None for values without spread.

    Counts may be equal in a few repetitions by chance; an interval of width zero would claim
    certainty.
    """
    if len(values) < 2 or stdev(values) == 0:
        return None
    from scipy.special import (
        stdtrit,
    )  # here, because a run with one seed has no use for it and it takes 60 ms

    mean, quantile = fmean(values), float(stdtrit(len(values) - 1, (1 + CONFIDENCE) / 2))
    half = quantile * stdev(values) / sqrt(len(values))
    return Interval(mean, mean - half, mean + half, len(values))


def difference(before: Sequence[float], after: Sequence[float]) -> Interval | None:
    """The interval of `after - before` over pairs, in the values' unit."""
    return student([second - first for first, second in zip(before, after, strict=True)])


def ratio(before: Sequence[float], after: Sequence[float]) -> Interval | None:
    """The interval of `after / before` over pairs; the mean is geometric.

    Student's over the logarithms.

    None for ratios without spread, or where a value is not above zero and so has no logarithm.
    """
    if min((*before, *after), default=0) <= 0:
        return None
    logarithms = student([log(second / first) for first, second in zip(before, after, strict=True)])
    if logarithms is None:
        return None
    return Interval(
        exp(logarithms.mean), exp(logarithms.low), exp(logarithms.high), logarithms.count
    )
