"""The probabilities that the tests need: of binomial counts, of Student's t, of the normal curve.

All but the last are values of one function, the regularised incomplete beta function. SciPy has it
too, in 140 MB; the tests hold this one against SciPy's.
"""

from collections.abc import Iterator
from functools import lru_cache
from itertools import count
from math import erfc, exp, lgamma, log, log1p, sqrt

_PRECISION = 1e-15
_SMALLEST = 1e-300
"""Divisor in place of zero (Lentz's method)."""


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
    """The value below which Student's t lies with a `probability` from a half to 1.

    `freedom` is its degrees of freedom. Found by halving, until two floats are neighbours.
    """
    low, high = 0.0, 1.0
    while _student_below(freedom, high) < probability:
        low, high = high, 2 * high
    while low < (middle := (low + high) / 2) < high:
        low, high = (
            (middle, high) if _student_below(freedom, middle) < probability else (low, middle)
        )
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
    return factor / _fraction(_terms(first, second, share))


def _terms(first: float, second: float, share: float) -> Iterator[float]:
    """The numerators of the continued fraction 1 + d1/(1 + d2/(1 + ...))."""
    for step in count():
        at = first + 2 * step
        yield -(first + step) * (first + second + step) * share / (at * (at + 1))
        yield (step + 1) * (second - step - 1) * share / ((at + 1) * (at + 2))


def _fraction(terms: Iterator[float]) -> float:
    """The value of the fraction (Lentz, Applied Optics 15(3), 1976, as Thompson modified it)."""
    value, upper, lower = 1.0, 1.0, 0.0
    for term in terms:
        lower = 1 / (1 + term * lower or _SMALLEST)
        upper = 1 + term / upper or _SMALLEST
        value *= upper * lower
        if abs(upper * lower - 1) < _PRECISION:
            break
    return value
