"""What seeds can show: power and false claims by simulation, with fixed draws."""

from __future__ import annotations

from collections.abc import Callable
from math import inf
from pathlib import Path

import numpy as np
import pytest

from analysis.statistics.paired_tests import Numbers, paired
from analysis.statistics.power import POWER, least_difference, sentence
from tests.tools.power import table

STATISTICS = Path("docs/concepts/statistics.md")
Draw = Callable[[np.random.Generator, tuple[int, int]], Numbers]


def test_the_page_has_the_simulated_shares() -> None:
    assert table() in STATISTICS.read_text("utf-8")


def cut(chance: np.random.Generator, shape: tuple[int, int]) -> Numbers:
    """Times of which a fifth does not end in time."""
    times = chance.exponential(1, shape)
    return np.where(times > 1.6, inf, times)


@pytest.mark.parametrize(
    "draw",
    [
        lambda chance, shape: chance.lognormal(0, 0.001, shape),
        lambda chance, shape: chance.pareto(1.2, shape),
        lambda chance, shape: chance.lognormal(0, 0.05, shape).round(2),
        lambda chance, shape: chance.poisson(3, shape).astype(float),
        cut,
    ],
    ids=["precise", "heavy tail", "rounded", "counts", "censored"],
)
@pytest.mark.parametrize("seeds", [6, 10, 20])
def test_equal_levels_are_called_different_in_one_study_of_twenty(draw: Draw, seeds: int) -> None:
    chance, studies = np.random.default_rng(seeds), 500
    pairs = (paired(*draw(chance, (2, seeds))) for _ in range(studies))
    found = sum(bool(pair and pair.shows_difference) for pair in pairs)
    assert found <= 0.05 * studies + 2 * (0.05 * 0.95 * studies) ** 0.5


@pytest.mark.parametrize("seeds", [6, 10, 30, 60])
def test_the_least_difference_is_shown_by_four_of_five_studies(seeds: int) -> None:
    least = least_difference(seeds)
    assert least
    logs = np.random.default_rng(1).normal(least, 1, (500, seeds))
    pairs = (paired(np.ones(seeds), np.exp(each)) for each in logs)
    shown = sum(bool(pair and pair.shows_difference) for pair in pairs)
    assert shown / 500 == pytest.approx(POWER, abs=0.05)


def test_too_few_seeds_can_show_no_difference() -> None:
    assert least_difference(5) is None and least_difference(8, 9) is None
    assert sentence(8, 9) == "No difference can be shown below 9 seeds."
    assert "10 seeds show a difference of 1 times" in sentence(10, 1)


def test_what_did_not_end_ranks_behind_all_others() -> None:
    times = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]
    never = paired(times, [inf] * 6)
    assert never and never.p == 0.03125
    assert (never.estimate, never.low, never.high) == (inf, inf, inf)
    back = paired([inf] * 6, times)
    assert back and (back.estimate, back.high) == (0.0, 0.0)
    both = paired([inf] * 6, [inf] * 6)
    assert both and both.estimate == 1 and not both.shows_difference
    some = paired(times, [2.1, inf, 6.2, 8.3, inf, 12.4])
    assert some and some.low and some.low > 2 and some.high == inf and some.shows_difference


def test_precise_values_are_no_copies() -> None:
    """PIE's wait of 15.2 ms and CoDel's of 11.6 ms, in six seeds that hardly scatter."""
    pie = [15.21, 15.22, 15.2, 15.19, 15.23, 15.18]
    codel = [11.61, 11.6, 11.62, 11.59, 11.63, 11.6]
    found = paired(codel, pie)
    assert found and found.p == 0.03125 and found.shows_difference
    copies = paired(codel, pie, ["same"] * 6)
    assert copies and copies.copies and not copies.shows_difference
