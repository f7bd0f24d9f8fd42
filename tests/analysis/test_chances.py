"""Our probabilities against those of SciPy."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import special

from analysis.statistics import tests


def test_the_incomplete_beta_function_is_scipys() -> None:
    """With parameters from a half to 100 000, and shares within four deviations of the mean."""
    chance = np.random.default_rng(1)
    first, second = 10 ** chance.uniform(-0.3, 5, (2, 2000))
    means, sizes = first / (first + second), first + second
    shares = np.clip(chance.normal(means, 4 * np.sqrt(means * (1 - means) / sizes)), 0, 1)
    ours = [
        tests.incomplete_beta(*map(float, three))
        for three in zip(first, second, shares, strict=True)
    ]
    np.testing.assert_allclose(ours, special.betainc(first, second, shares), rtol=1e-8, atol=1e-290)


@pytest.mark.parametrize("freedom", [1, 2, 5, 29, 1000])
@pytest.mark.parametrize("probability", [0.5, 0.9, 0.975, 0.9999])
def test_students_quantiles_are_scipys(freedom: int, probability: float) -> None:
    assert tests.student_quantile(freedom, probability) == pytest.approx(
        special.stdtrit(freedom, probability), rel=1e-10, abs=1e-12
    )


@pytest.mark.parametrize(
    ("count", "draws", "share"),
    [(0, 1, 0.5), (3, 10, 0.3), (0, 999, 0.001), (10_500, 10**6, 0.01), (99_000, 10**6, 0.1)],
)
def test_binomial_tails_are_scipys(count: int, draws: int, share: float) -> None:
    few, many = special.bdtr(count, draws, share), special.bdtrc(count - 1, draws, share)
    assert tests.at_most(count, draws, share) == pytest.approx(few, rel=1e-7)
    assert tests.at_least(count, draws, share) == pytest.approx(many if count else 1.0, rel=1e-7)


def test_what_cannot_be_otherwise_has_probability_1() -> None:
    assert (tests.at_most(5, 5, 0.3), tests.at_least(0, 5, 0.3)) == (1, 1)
    assert (tests.at_most(-1, 5, 0.3), tests.at_least(6, 5, 0.3)) == (0, 0)
    assert (tests.at_most(2, 5, 0.0), tests.at_least(1, 5, 1.0)) == (1, 1)


def test_the_normal_tail_is_exact_far_out() -> None:
    values = [-30.0, -6.0, -1.96, 0.0, 2.5]
    np.testing.assert_allclose(
        [tests.normal_below(value) for value in values], special.ndtr(values), rtol=1e-12
    )
