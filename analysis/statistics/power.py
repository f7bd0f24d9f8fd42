"""A family of comparisons, and the least difference that a number of seeds can show in it.

By simulation of normal differences with fixed draws up to `_EXACT` seeds, and beyond by the
asymptotic efficiency of the signed-rank test, 3 / pi of Student's (Lehmann, Nonparametrics, 1975).
"""

from functools import lru_cache
from itertools import combinations
from math import pi, sqrt
from statistics import NormalDist

import numpy as np

from analysis.statistics.paired_tests import SIGNIFICANT, fewest_seeds
from analysis.statistics.tests import null_of_ranks

POWER = 0.8  # share of sweeps that show the difference
_EXACT, _DRAWS = 30, 4000
_ALL_PAIRS_UP_TO = 3  # levels; of more, each is compared with the first one only, the baseline


def level_pairs(count: int) -> list[tuple[int, int]]:
    """Return the pairs of levels, by their places, that are compared."""
    if count <= _ALL_PAIRS_UP_TO:
        return list(combinations(range(count), 2))
    return [(0, level) for level in range(1, count)]


@lru_cache(maxsize=64)
def least_difference(seeds: int, comparisons: int = 1) -> float | None:
    """Return the difference that `POWER` of all sweeps show, None if the seeds can show none.

    It is in standard deviations of the seeds' differences, or of the logarithms of their ratios,
    and counts for the least of `comparisons` in Holm's correction.
    """
    if seeds < fewest_seeds(comparisons):
        return None
    if seeds > _EXACT:
        quantile = NormalDist().inv_cdf
        reach = quantile(1 - SIGNIFICANT / comparisons / 2) + quantile(POWER)
        return reach * sqrt(pi / 3 / seeds)
    draws = np.random.default_rng(seeds).standard_normal((_DRAWS, seeds))
    above = np.cumsum(null_of_ranks(seeds)[::-1])[::-1]
    critical = int(np.argmax(2 * above < SIGNIFICANT / comparisons))
    low, high = 0.0, 8.0
    while high - low > 0.005:
        middle = (low + high) / 2
        low, high = (low, middle) if _power(draws + middle, critical) >= POWER else (middle, high)
    return high


def _power(values: np.ndarray[tuple[int, int], np.dtype[np.float64]], critical: int) -> float:
    ranks = np.argsort(np.argsort(np.abs(values), axis=1), axis=1) + 1
    return float(((ranks * (values > 0)).sum(axis=1) >= critical).mean())


def sentence(seeds: int, comparisons: int) -> str:
    """Say the difference that the seeds can show; `comparisons` is the size of the family."""
    least = least_difference(seeds, comparisons)
    if least is None:
        return f"No difference can be shown below {fewest_seeds(comparisons)} seeds."
    return (
        f"In four of five sweeps {seeds:,} seeds show a difference of {least:.2g} times the"
        f" scatter of the seeds' ratios: of {5 * least:.2g} % if they scatter by 5 %."
    )
