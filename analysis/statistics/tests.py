"""The signed-rank test with its estimate and interval, and the probabilities that tests need.

The probabilities but that of the normal curve are values of the regularised incomplete beta
function. SciPy has it too, in 140 MB; the tests hold this one against SciPy's.

Wilcoxon's test and the interval of Hodges and Lehmann assume only that a difference of two levels
which do not differ is as likely up as down by as much. The interval holds every shift that the test
would not reject, so test and interval agree.
"""

from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import count
from math import erfc, exp, floor, lgamma, log, log1p, sqrt

import numpy as np
from numpy.typing import NDArray

_PRECISION = 1e-15
_SMALLEST = 1e-300  # divisor in place of zero (Lentz's method)


def at_most(count: int, draws: int, share: float) -> float:
    """The probability that at most `count` of `draws` succeed, each with probability `share`.

    >>> round(at_most(1, draws=10, share=0.5), 6)
    0.010742
    """
    if count < 0:
        return 0.0
    return 1.0 if count >= draws else incomplete_beta(draws - count, count + 1, 1 - share)


def at_least(count: int, draws: int, share: float) -> float:
    """The probability that at least `count` of `draws` succeed, each with probability `share`."""
    if count <= 0:
        return 1.0
    return 0.0 if count > draws else incomplete_beta(count, draws - count + 1, share)


def normal_below(value: float) -> float:
    """The probability that a standard normal number is below `value`.

    >>> normal_below(0)
    0.5
    """
    return erfc(-value / sqrt(2)) / 2


@lru_cache(maxsize=4096)
def student_quantile(freedom: int, probability: float) -> float:
    """The value below which Student's t lies with a `probability` from a half to 1; by halving."""
    low, high = 0.0, 1.0
    while _student_below(freedom, high) < probability:
        low, high = high, 2 * high
    while low < (middle := (low + high) / 2) < high:
        is_below = _student_below(freedom, middle) < probability
        low, high = (middle, high) if is_below else (low, middle)
    return high


def _student_below(freedom: int, value: float) -> float:
    """For a value of at least 0 (Abramowitz and Stegun, 1964, 26.7.1)."""
    return 1 - incomplete_beta(freedom / 2, 0.5, freedom / (freedom + value * value)) / 2


def incomplete_beta(first: float, second: float, share: float) -> float:
    """I_share(first, second), the regularised incomplete beta function, of positive parameters.

    By its continued fraction (https://dlmf.nist.gov/8.17#E22), which converges fast on the near
    side of the mean; the far side is 1 less the other's.
    """
    if not 0 < share < 1:
        return 0.0 if share <= 0 else 1.0
    if share > (first + 1) / (first + second + 2):
        return 1 - incomplete_beta(second, first, 1 - share)
    scale = lgamma(first + second) - lgamma(first) - lgamma(second)
    factor = exp(scale + first * log(share) + second * log1p(-share)) / first
    # Lentz, Applied Optics 15(3), 1976, as Thompson modified it.
    value, upper, lower = 1.0, 1.0, 0.0
    for term in _terms(first, second, share):
        lower = 1 / (1 + term * lower or _SMALLEST)
        upper = 1 + term / upper or _SMALLEST
        value *= upper * lower
        if abs(upper * lower - 1) < _PRECISION:
            break
    return factor / value


def _terms(first: float, second: float, share: float) -> Iterator[float]:
    """The numerators of the continued fraction 1 + d1/(1 + d2/(1 + ...))."""
    for step in count():
        at = first + 2 * step
        yield -(first + step) * (first + second + step) * share / (at * (at + 1))
        yield (step + 1) * (second - step - 1) * share / ((at + 1) * (at + 2))


Numbers = NDArray[np.float64]

CONFIDENCE = 0.95
EXACT_UP_TO = 100
"""Pairs up to which the test and its interval are exact; beyond, the normal distribution serves."""
AT_ONCE = 1_000_000  # pairs whose means are sorted at once, 8 bytes each
_NORMAL = 1.959964  # its quantile for `CONFIDENCE`, two-sided


def signed_rank(differences: Sequence[float] | Numbers) -> float:
    """The two-sided p of Wilcoxon's test that `differences` are symmetric about zero; 1 for zeros.

    Zeros are left out and equal sizes share their mean rank (Wilcoxon, Biometrics Bulletin 1(6),
    1945, https://doi.org/10.2307/3001968). Up to `EXACT_UP_TO` the p is exact, with ties too,
    which iperf's three digits make common.

    >>> signed_rank([1, 2, 3, 4, 5, 6])
    0.03125
    """
    nonzero = np.asarray(differences, dtype=np.float64)
    nonzero = nonzero[nonzero != 0]
    if not len(nonzero):
        return 1.0
    _, places, counts = np.unique(np.abs(nonzero), return_inverse=True, return_counts=True)
    doubled = (2 * np.cumsum(counts) - counts + 1)[places]  # a mean rank may end in a half
    total = int(doubled[nonzero > 0].sum())
    if len(nonzero) > EXACT_UP_TO:
        # By the normal distribution of such sums: each rank adds half of itself to the mean and a
        # quarter of its square to the variance.
        ranks = doubled.astype(np.float64)
        return 2 * normal_below(-abs(total - ranks.sum() / 2) / (sqrt((ranks**2).sum()) / 2))
    null = _null(tuple(sorted(doubled.tolist())))
    return float(min(1.0, 2 * min(null[: total + 1].sum(), null[total:].sum())))


def null_of_ranks(count: int) -> Numbers:
    """The probability of each sum of positive ranks of `count` values without ties."""
    return _null(tuple(range(2, 2 * count + 1, 2)))[::2]


@lru_cache(maxsize=256)
def _null(ranks: tuple[int, ...]) -> Numbers:
    """The probability of each sum of the positive ones of `ranks` if every sign is a coin's.

    The shift algorithm of Streitberg and Roehmel (Statistical Software Newsletter 12(1), 1986).
    """
    chances = np.zeros(sum(ranks) + 1)
    chances[0] = 1.0
    for rank in ranks:
        chances[rank:] += chances[:-rank].copy()
        chances /= 2
    return chances


def hodges_lehmann(values: Numbers) -> tuple[float, float, float]:
    """The estimate of the shift of `values` from zero, and the ends of its interval.

    The median of the means of all pairs of values, each also with itself; the ends are the means
    at the test's critical place from below and from above (Hodges and Lehmann, Annals of
    Mathematical Statistics 34(2), 1963, https://doi.org/10.1214/aoms/1177704172). Below six values
    they are the least and the greatest, which hold less than `CONFIDENCE`.
    """
    ordered, count = np.sort(values), len(values)
    pairs, place = count * (count + 1) // 2, _critical(count)
    middle = (_pair_mean(ordered, (pairs - 1) // 2) + _pair_mean(ordered, pairs // 2)) / 2
    return middle, _pair_mean(ordered, place), _pair_mean(ordered, pairs - 1 - place)


def _pair_mean(ordered: Numbers, place: int) -> float:
    """The mean at `place`, from 0, of the means of all pairs of `ordered`, each also with itself.

    Pairs are halved by their means until the rest can be held at once: all pairs of 10,000 values
    would take a gigabyte. Row i has the pairs of the i-th value that are left, from `starts` on.
    """
    rows = np.arange(len(ordered))
    starts, ends = rows, np.full(len(ordered), len(ordered))
    low, high = ordered[0], ordered[-1]
    while (ends - starts).sum() > AT_ONCE and low < (middle := (low + high) / 2) < high:
        cuts = np.searchsorted(ordered, 2 * middle - ordered, side="right").clip(starts, ends)
        if (cuts - rows).sum() > place:
            ends, high = cuts, middle
        else:
            starts, low = cuts, middle
    counts, left = ends - starts, place - int((starts - rows).sum())
    if counts.sum() > AT_ONCE:  # all that are left are the same
        row = int(counts.argmax())
        return float(ordered[row] + ordered[starts[row]]) / 2
    first = np.repeat(rows, counts)
    second = np.arange(counts.sum()) + np.repeat(starts - (np.cumsum(counts) - counts), counts)
    return float(np.partition((ordered[first] + ordered[second]) / 2, left)[left])


@lru_cache(maxsize=4096)
def _critical(count: int) -> int:
    """The greatest sum of positive ranks that leaves 2.5 % below it; 0 if there is none."""
    if count > EXACT_UP_TO:
        deviation = sqrt(count * (count + 1) * (2 * count + 1) / 24)
        return floor(count * (count + 1) / 4 - _NORMAL * deviation)
    below = np.cumsum(null_of_ranks(count))
    return max(0, int(np.searchsorted(below, (1 - CONFIDENCE) / 2, side="right")) - 1)
