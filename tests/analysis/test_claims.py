"""Verdicts on claims: the words, the limits below which there is none, and how often they err."""

from __future__ import annotations

from typing import Literal

import numpy as np
import pytest

from analysis.statistics.claims import (
    ClaimedRange,
    ComparedSamples,
    judge_direction,
    judge_equal,
    judge_within,
    withheld,
)
from analysis.statistics.paired_tests import are_copies, seen_of

NAN = float("nan")
SIX = (100.0, 110.0, 90.0, 105.0, 95.0, 101.0)


def compared(factor: float, samples: tuple[float, ...] = SIX) -> ComparedSamples:
    more = tuple(factor * value + 0.01 * at for at, value in enumerate(samples))
    return ComparedSamples("the rate", "kbit/s", ("with new", "with old"), (more, samples))


@pytest.mark.parametrize(
    ("factor", "direction", "word"),
    [
        (1.3, "larger", "shown"),
        (1.3, "smaller", "contradicted"),
        (0.7, "larger", "contradicted"),
        (0.7, "smaller", "shown"),
    ],
)
def test_a_difference_is_shown_or_contradicted(
    factor: float, direction: Literal["larger", "smaller"], word: str
) -> None:
    verdict = judge_direction("Is it?", compared(factor), direction)
    assert verdict.word == word
    assert verdict.line.startswith(f"{word.capitalize()}: the rate is ")
    assert f": {factor:.2f}" in verdict.sentence and "(6 repetitions, 95 %" in verdict.sentence
    assert verdict.low is not None and verdict.high is not None and verdict.p == 2 / 2**6


def test_chance_shows_nothing() -> None:
    mixed = ComparedSamples("the rate", "", ("a", "b"), ((1.0, 2.0, 3.0, 4.0, 5.0, 6.0), SIX[::-1]))
    chance = ComparedSamples("the rate", "", ("a", "b"), (SIX[::-1], SIX))
    verdict = judge_direction("Is it?", chance, "larger")
    assert verdict.word == "not shown"
    assert "No difference would fit that too" in verdict.sentence
    assert judge_direction("Is it?", mixed, "larger").word == "contradicted"


@pytest.mark.parametrize("count", range(6))
def test_fewer_than_six_repetitions_have_no_verdict(count: int) -> None:
    few = compared(2.0, SIX[:count])
    for verdict in (
        judge_direction("Is it?", few, "larger"),
        judge_equal("Is it?", few, 0.05),
        judge_within("Is it?", "the rate", SIX[:count], ClaimedRange(0, 1)),
    ):
        assert verdict.word == "not shown" and verdict.repetitions == count
        assert verdict.low is verdict.high is verdict.p is None
        assert ("six can" in verdict.sentence) is (count > 0)


def test_a_seed_without_a_value_is_left_out() -> None:
    samples = compared(1.3)
    gaps = ComparedSamples("the rate", "", samples.names, ((NAN, *samples.values[0][1:]), SIX))
    assert judge_direction("Is it?", gaps, "larger").repetitions == 5


@pytest.mark.parametrize(
    ("factor", "word"), [(1.001, "shown"), (1.3, "contradicted"), (1.05, "not shown")]
)
def test_equal_means_within_the_margin(factor: float, word: str) -> None:
    wavering = tuple(value * (1 + 0.03 * (-1) ** at) for at, value in enumerate(SIX))
    values = wavering if word == "not shown" else SIX
    first = tuple(factor * value for value in values)
    samples = ComparedSamples("the rate", "", ("a", "b"), (first, SIX))
    assert judge_equal("Is it?", samples, 0.05).word == word


@pytest.mark.parametrize(
    ("low", "high", "word"),
    [
        (90, 110, "shown"),
        (None, 110, "shown"),
        (120, None, "contradicted"),
        (100, 110, "not shown"),
    ],
)
def test_a_range_is_held_against_the_medians_interval(
    low: float | None, high: float | None, word: str
) -> None:
    claimed = ClaimedRange(low, high, unit="kbit/s")
    assert judge_within("Is it?", "the rate", SIX, claimed).word == word


@pytest.mark.parametrize(
    ("claimed", "claim", "figure"),
    [
        (ClaimedRange(90, None, unit="kbit/s"), "at least 90 kbit/s", "100 kbit/s"),
        (ClaimedRange(None, 110, unit="kbit/s"), "at most 110 kbit/s", "100 kbit/s"),
        (ClaimedRange(90, 110, unit="kbit/s"), "90 to 110 kbit/s", "100 kbit/s"),
        (ClaimedRange(90, None, "a law"), "at least 90 times a law", "100 times a law"),
    ],
)
def test_a_range_is_named_with_its_open_end_and_unit(
    claimed: ClaimedRange, claim: str, figure: str
) -> None:
    verdict = judge_within("Is it?", "the rate", SIX, claimed)
    assert verdict.claim == f"the rate is {claim}"
    assert verdict.sentence.startswith(f"the rate is {figure} (")
    assert verdict.scale == ("ratio" if claimed.expectation else "difference")


def test_the_margin_of_differences_is_a_share_of_the_usual_value() -> None:
    """A zero makes it differences; a seed without a value is left out of what is usual."""
    usual = (100.0, 0.0, 90.0, 105.0, 95.0, 101.0, 99.0, NAN)
    more = tuple(value + 4 + 0.1 * at for at, value in enumerate(usual))
    samples = ComparedSamples("the rate", "", ("a", "b"), (more, usual))
    assert judge_equal("Is it?", samples, 0.1).word == "shown"
    assert judge_equal("Is it?", samples, 0.01).word == "contradicted"


def test_a_claim_of_equality_names_its_margin_and_a_difference_has_a_unit() -> None:
    verdict = judge_equal("Is it?", compared(1.001), 0.05)
    assert verdict.claim == "the rate is the same with new and with old, within 5 %"
    assert " times as large (6 repetitions, 95 % interval " in verdict.sentence
    without = ComparedSamples("the rate", "kbit/s", ("a", "b"), ((0.0, *SIX), (1.0, *SIX)))
    assert "as large" not in judge_equal("Is it?", without, 0.05).sentence


def test_what_theory_expects_is_named_once() -> None:
    claimed = ClaimedRange(0.9, 1.1, "what the formula gives")
    verdict = judge_within("Is it?", "the rate", [value / 100 for value in SIX], claimed)
    assert verdict.claim == "the rate is 0.9 to 1.1 times what the formula gives"
    assert verdict.sentence.count("the formula") == 1
    assert verdict.sentence.endswith("claimed: 0.9 to 1.1 times).")


def test_a_verdict_that_is_withheld_shows_nothing() -> None:
    verdict = withheld(judge_direction("Is it?", compared(1.3), "larger"), "the run failed.")
    assert verdict.line == "Not shown: the run failed."


def test_without_a_difference_at_most_one_claim_in_twenty_is_decided() -> None:
    chance, decided = np.random.default_rng(9), 0
    for _ in range(400):
        values = chance.lognormal(0, 0.5, 8) * chance.lognormal(0, 0.3, (2, 8))
        samples = ComparedSamples("", "", ("", ""), (list(values[0]), list(values[1])))
        decided += judge_direction("Is it?", samples, "larger").word != "not shown"
    assert decided <= 0.05 * 400 + 3 * (0.05 * 0.95 * 400) ** 0.5


def alone(first: tuple[float, ...], second: tuple[float, ...]) -> ComparedSamples:
    return ComparedSamples("the rate", "kbit/s", ("of one", "of two"), (first, second))


def test_seeds_that_repeat_each_other_decide_nothing() -> None:
    """Two equal flows without loss: six copies of one trajectory gave p = 0.031."""
    copies = alone((4200.0,) * 6, (5700.0,) * 6)
    for verdict in (
        judge_direction("Is it?", copies, "smaller"),
        judge_equal("Is it?", alone((4200.0,) * 6, (4210.0,) * 6), 0.05),
    ):
        assert verdict.word == "not shown" and "one trajectory" in verdict.sentence
        assert verdict.p is verdict.low is verdict.high is None
    within = judge_within("Is it?", "the rate", [4200.0] * 6, ClaimedRange(4000, 4500))
    assert within.word == "shown" and "one trajectory" in within.sentence
    assert within.low is within.high is None


def test_two_results_that_alternate_are_copies_too() -> None:
    few = alone((4200.0, 5700.0) * 4, (5700.0, 5710.0) * 4)
    assert "one trajectory" in judge_direction("Is it?", few, "smaller").sentence


def test_small_counts_may_agree_by_chance() -> None:
    counts = alone((1.0, 2.0, 1.0, 2.0, 1.0, 1.0), (5.0, 6.0, 6.0, 5.0, 6.0, 5.0))
    assert judge_direction("Is it?", counts, "smaller").word == "shown"


@pytest.mark.parametrize(
    ("rows", "copies"),
    [
        ([(0.5,)] * 5, False),  # too few seeds to say so
        ([(0.5,)] * 6, True),
        ([(0.1,), (0.2,), (0.3,), (0.4,), (0.5,), (0.5,)], True),
        ([(0.1,), (0.2,), (0.3,), (0.4,), (0.5,), (0.6,)], False),
        ([(1000.0,), (1001.0,), (1002.0,), (1003.0,), (1004.0,), (1004.4,)], False),  # precise
        ([(98.0,), (99.0,)] * 3, False),  # counts below a hundred
        ([(99.0,), (100.0,)] * 3, True),
        ([(99.0,), (99.5,)] * 3, True),  # no counts
        ([(7.0,)] * 6, True),  # counts, but all alike
    ],
)
def test_copies_are_six_seeds_or_more_with_fewer_results(
    rows: list[tuple[float, ...]], copies: bool
) -> None:
    assert are_copies(seen_of(*zip(*rows, strict=True))) is copies
