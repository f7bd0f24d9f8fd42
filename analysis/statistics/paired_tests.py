"""Statistics of a sample of seeds: medians with intervals, paired comparisons, corrections.

docs/concepts/statistics.md explains each method in plain words and says what was measured.
"""

from bisect import bisect_right
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from math import copysign, exp, inf, isfinite, lgamma, sqrt
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from analysis.fmt import decimals, fixed, signed
from analysis.statistics import tests

Numbers = NDArray[np.float64]
Indices = NDArray[np.intp]

FEWEST = 6  # values that an interval needs: of five, least to greatest hold the median in only 94 %
SIGNIFICANT = 1 - tests.CONFIDENCE

_NEGLIGIBLE = 1e-12
_SMALL_COUNT = 100
_BEYOND = 1e15  # difference from an infinite value, above all that are measured
_LARGEST = 700.0  # logarithm of what is still a float
_DIGITS = 12  # decimals of a difference or logarithm: equal measurements must give equal ranks


@dataclass(frozen=True)
class MedianInterval:
    """The median of `count` values and its `CONFIDENCE` interval, in the values' unit."""

    median: float
    low: float
    high: float
    count: int


@dataclass(frozen=True)
class Paired:
    """The second of two levels compared with the first over `count` seeds that both have.

    `estimate` is the typical ratio second / first, or difference second - first in its unit, after
    Hodges and Lehmann; `low` and `high` are its interval, None below `FEWEST` seeds. `p` is that of
    the signed-rank test, not yet corrected, which the interval is the inversion of. Seeds with the
    same values are `copies`: they are no sample, so there is no interval, and p is 1.
    """

    scale: Literal["ratio", "difference"]
    estimate: float
    low: float | None
    high: float | None
    count: int
    p: float
    copies: bool = False

    @property
    def neutral(self) -> float:
        """The estimate that means no difference."""
        return 1.0 if self.scale == "ratio" else 0.0

    @property
    def shows_difference(self) -> bool:
        """True if test and interval agree that there is a difference, without any correction."""
        return self.p < SIGNIFICANT and self.clear_of_neutral

    @property
    def clear_of_neutral(self) -> bool:
        """True if there is an interval and it leaves out the estimate that means no difference."""
        low, high = self.low, self.high
        return low is not None and high is not None and not low <= self.neutral <= high


def median_interval(values: Sequence[float] | Numbers) -> MedianInterval | None:
    """The median with the percentile interval of its exact bootstrap distribution, from six values.

    All n**n resamples are counted, not some drawn (Efron, Annals of Statistics 7(1), 1979,
    section 3, https://doi.org/10.1214/aos/1176344552). The percentiles are Hesterberg's expanded
    ones (see `_tail`).
    """
    ordered = np.sort(np.asarray(values, dtype=np.float64))
    count = len(ordered)
    if count < FEWEST:
        return None
    middle = float(np.median(ordered))
    if count % 2:  # a value: it is at most the k-th if m of 2m - 1 draws are the first k
        rank = _low_rank(count)
        return MedianInterval(middle, float(ordered[rank]), float(ordered[-1 - rank]), count)
    first, second, weights = _middle_pairs(count)
    means = (ordered[first] + ordered[second]) / 2
    order = np.argsort(means)
    below, tail = np.cumsum(weights[order]), _tail(count)
    low, high = np.searchsorted(below, [tail, below[-1] - tail])
    return MedianInterval(middle, float(means[order[low]]), float(means[order[high]]), count)


def precision(values: Sequence[float]) -> float | None:
    """Half the interval's width as a share of the median; None without interval or for 0."""
    interval = median_interval(values)
    if interval is None or interval.median == 0:
        return None
    return (interval.high - interval.low) / 2 / abs(interval.median)


@lru_cache(maxsize=4096)
def _low_rank(count: int) -> int:
    """The place (from 0) of the interval's lower end among `count` values, an odd number."""
    half = (count + 1) // 2
    return bisect_right(range(count), _tail(count), key=lambda k: _among(count, half, k + 1))


@lru_cache(maxsize=64)
def _middle_pairs(count: int) -> tuple[Indices, Indices, Numbers]:
    """Places i <= j of the two middle values of a resample of 2m, and their probabilities.

    For i < j the first m draws' greatest is i and the last m draws' least is j: C(2m, m) times
    (i/n)^m - ((i-1)/n)^m times ((n-j+1)/n)^m - ((n-j)/n)^m, counting from 1. For i = j it is
    what is left of the probability that the m-th is i. Pairs too improbable to matter are left
    out.
    """
    half = count // 2
    # The chance beyond is below `_NEGLIGIBLE`.
    reach, farthest = int(4 * sqrt(count)) + 3, min(count, 40)
    first = np.arange(max(0, half - reach), min(count, half + reach))
    second = np.minimum(first[:, None] + np.arange(1, farthest), count)
    choices = lgamma(count + 1) - 2 * lgamma(half + 1)
    below = choices + _log_extreme(count, first)
    apart = np.exp(below[:, None] + _log_extreme(count, count - 1 - second))
    ends = np.diff([_among(count, half, place) for place in range(first[0], first[-1] + 2)])
    together = ends - np.exp(below + _log_power(count, count - 1 - first))
    weights = np.column_stack((together, apart))
    kept, places = weights > _NEGLIGIBLE, np.column_stack((first, second))
    return np.broadcast_to(first[:, None], kept.shape)[kept], places[kept], weights[kept]


def _log_extreme(count: int, places: Indices) -> Numbers:
    """log((i/n)^m - ((i-1)/n)^m): m draws are at most the i-th and one is it; i is `places` + 1."""
    half, outside = count // 2, places < 0
    shares = 1 / np.where(outside, 1, places + 1)
    with np.errstate(divide="ignore"):
        one_of_them: Numbers = np.log(-np.expm1(half * np.log1p(-shares)))
    return np.where(outside, -np.inf, _log_power(count, places + 1) + one_of_them)


def _log_power(count: int, places: Indices) -> Numbers:
    """log((k/n)^m) for k = `places`; the powers alone leave the floating-point range."""
    with np.errstate(divide="ignore", invalid="ignore"):
        logarithms: Numbers = count // 2 * np.log(places / count)
    return logarithms


def _among(count: int, rank: int, places: int) -> float:
    """The probability that the `rank`-th of `count` draws is among the first `places` values."""
    return tests.at_least(rank, count, places / count)


@lru_cache(maxsize=4096)
def _tail(count: int) -> float:
    """The probability left out at each end, less than 2.5 % because small samples vary too little.

    Normal distribution function of -sqrt(n/(n-1)) * t(n-1) (Hesterberg, The American
    Statistician 69(4), 2015, https://doi.org/10.1080/00031305.2015.1089789). The plain 2.5 %
    gave 87 % coverage for 7 values.
    """
    quantile = tests.student_quantile(count - 1, (1 + tests.CONFIDENCE) / 2)
    return tests.normal_below(-sqrt(count / (count - 1)) * quantile)


def paired(
    first: Sequence[float] | Numbers,
    second: Sequence[float] | Numbers,
    trajectories: Sequence[Hashable] | None = None,
) -> Paired | None:
    """Compares two levels seed by seed; the values at one place share a seed, NaN for none.

    By ratios if all values are above zero (on their logarithms, so that exchanging the two
    inverts the result), else by differences. None where no seed has both.

    An infinite value is the time of what did not end. It ranks behind all others, two are equal,
    and an estimate or end of the interval may be infinite, or a ratio of 0.

    `trajectories` has all that was measured of each seed, by which copies are known; without it
    the values are all.
    """
    before, after = np.asarray(first, dtype=np.float64), np.asarray(second, dtype=np.float64)
    both = ~(np.isnan(before) | np.isnan(after))
    before, after = before[both], after[both]
    if not len(before):
        return None
    is_ratio = min(before.min(), after.min()) > 0
    sides = (np.log(before), np.log(after)) if is_ratio else (before, after)
    with np.errstate(invalid="ignore"):  # two infinite values are equal
        apart = np.nan_to_num(sides[1] - sides[0], nan=0.0, posinf=_BEYOND, neginf=-_BEYOND)
    values: Numbers = np.round(apart, _DIGITS)
    scale: Literal["ratio", "difference"] = "ratio" if is_ratio else "difference"
    found = [_on_scale(is_ratio, value) for value in tests.hodges_lehmann(values)]
    if are_copies(trajectories or seen_of(before, after)):
        return Paired(scale, found[0], None, None, len(values), 1.0, copies=True)
    ends = found[1:] if len(values) >= FEWEST else [None, None]
    return Paired(scale, found[0], ends[0], ends[1], len(values), tests.signed_rank(values))


def _on_scale(is_ratio: bool, value: float) -> float:
    """Return a shift as a ratio or difference: half of `_BEYOND` is a mean with an infinite one."""
    if abs(value) > _BEYOND / 4:
        value = copysign(inf, value)
    return exp(value) if is_ratio and value < _LARGEST else value


def are_copies(trajectories: Sequence[Hashable]) -> bool:
    """Return whether seeds repeat each other: `FEWEST` or more with fewer different trajectories.

    A trajectory is all that was measured of a seed, unrounded: metrics of different runs may agree
    in a few digits, and be precise for that very reason.
    """
    return len(trajectories) >= FEWEST > len(set(trajectories))


def seen_of(*samples: Sequence[float] | Numbers) -> list[Hashable]:
    """Return trajectories of seeds known by these values; small counts agree by chance."""
    rows: list[Hashable] = [*zip(*(map(float, values) for values in samples), strict=True)]
    every = np.asarray(samples, dtype=np.float64)
    counts = bool(np.all((every == np.round(every)) & (np.abs(every) < _SMALL_COUNT)))
    return [*range(len(rows))] if counts and len(set(rows)) > 1 else rows


def holm(p_values: Sequence[float]) -> list[float]:
    """Each p corrected for the whole family: if those below 5 % are called real, all are with 95 %.

    The i-th smallest of m is multiplied by m - i + 1 and is at least the one before (Holm,
    Scandinavian Journal of Statistics 6(2), 1979, https://www.jstor.org/stable/4615733). Valid
    however the comparisons depend on each other.

    >>> holm([0.01, 0.04, 0.03])
    [0.03, 0.06, 0.06]
    """
    order = np.argsort(p_values)
    factors = np.arange(len(p_values), 0, -1)
    ordered = np.asarray(p_values, dtype=np.float64)[order]
    corrected = np.empty(len(p_values))
    corrected[order] = np.minimum(1.0, np.maximum.accumulate(ordered * factors))
    return corrected.tolist()


def fewest_seeds(comparisons: int) -> int:
    """The seeds from which the smallest possible p of a family, 2 / 2**n, can be below 5 %.

    >>> fewest_seeds(1), fewest_seeds(9)
    (6, 9)
    """
    seeds = FEWEST
    while 2 ** (1 - seeds) * comparisons >= SIGNIFICANT:
        seeds += 1
    return seeds


class DifferenceVerdict(StrEnum):
    """Verdict on the second against the first; ALIKE and UNJUDGED need a threshold."""

    LARGER = "larger"
    SMALLER = "smaller"
    ALIKE = "alike"
    UNSHOWN = "not shown to differ"
    UNJUDGED = "not judged"


def verdict_of(paired: Paired | None, corrected: float) -> DifferenceVerdict:
    """Return the verdict: a difference needs a corrected p below 5 % and an interval without it."""
    if paired is None or corrected >= SIGNIFICANT or not paired.clear_of_neutral:
        return DifferenceVerdict.UNSHOWN
    is_larger = paired.estimate > paired.neutral
    return DifferenceVerdict.LARGER if is_larger else DifferenceVerdict.SMALLER


def family(pairs: Sequence[Paired | None]) -> list[DifferenceVerdict | None]:
    """The verdicts of a family, each p corrected; None with too few seeds for any difference."""
    corrected = holm([pair.p if pair else 1.0 for pair in pairs])
    enough = fewest_seeds(len(pairs))
    pairs_of = zip(pairs, corrected, strict=True)
    return [verdict_of(x, p) if x and x.count >= enough else None for x, p in pairs_of]


def estimate(paired: Paired, unit: str) -> str:
    """The ratio or difference with its unit, to the digits that the interval supports."""
    figure = _figure(paired, paired.estimate)
    if paired.scale == "ratio":
        return f"{figure} times"
    return f"{'+' if paired.estimate > 0 else ''}{figure} {unit}".strip()


COPIES = "one trajectory, whatever the seed"


def interval(paired: Paired) -> str:
    """The interval in words, or why seeds have none; empty for too few seeds."""
    if paired.copies:
        return COPIES
    if paired.low is None or paired.high is None:
        return ""
    return f"95 % interval {_figure(paired, paired.low)} to {_figure(paired, paired.high)}"


def _figure(paired: Paired, value: float) -> str:
    low, high, neutral = paired.low, paired.high, paired.neutral
    if low is not None and high is not None and low < high:
        is_finite = isfinite(low) and isfinite(high)
        return fixed(value, decimals(low, high, neutral)) if is_finite else signed(value)
    if 0 < abs(value - neutral) < 0.1:  # equal in all seeds: it must not read as none
        ends = min(value, neutral), max(value, neutral)
        return fixed(value, max(2, decimals(*ends, neutral)))
    return fixed(value, 2) if paired.scale == "ratio" and 0.1 < value < 1000 else signed(value)
