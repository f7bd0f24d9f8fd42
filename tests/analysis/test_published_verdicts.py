"""Verdicts on published numbers: with a known truth, and how often they err."""

from __future__ import annotations

import random
from collections.abc import Callable
from functools import partial
from math import exp, log, sqrt
from statistics import fmean, stdev

import pytest

from analysis.pages.published import line
from analysis.records.json_reader import Problems
from analysis.records.spec_file import RowEntry, checked_row
from analysis.statistics.published import (
    Word,
    count,
    count_settings,
    judge,
    judge_row,
    published_span,
    summarize,
)
from analysis.statistics.sweep_samples import RANKED_FROM, ValueSpan, next_mean, next_run, true_mean

OURS = [2.0 + at / 20 for at in range(13)]
"""2.0 to 2.6; the interval of the median is 2.1 to 2.5, that of a further run 1.85 to 2.81."""
Draw = Callable[[random.Random], float]


@pytest.mark.parametrize(
    ("printed", "unit", "span"),
    [
        ("9.4", "packets", (9.35, 9.45)),
        ("9.40", "packets", (9.395, 9.405)),
        ("538", "packets", (537.5, 538.5)),
        ("9.3404e-05", "%", (9.34035e-05, 9.34045e-05)),
        ("1e16", "bytes", (1e16 - 0.5, 1e16 + 0.5)),
        ("100", "Mbit/s", (98, 102)),
        ("100", "kbit/s", (98, 102)),
        ("100", "ms", (98, 102)),
        ("-100", "ms", (-102, -98)),
        ("100", "packets/s of something", (99.5, 100.5)),
        ("0", "Mbit/s", (-0.5, 0.5)),
    ],
)
def test_what_a_published_number_stands_for(
    printed: str, unit: str, span: tuple[float, float]
) -> None:
    shown = published_span(printed, unit)
    assert (shown.low, shown.high) == pytest.approx(span)


@pytest.mark.parametrize(
    ("published", "values", "word"),
    [
        (2.3, OURS, Word.AGREES),
        (2.1, OURS, Word.AGREES),
        (2.0, OURS, Word.WITHIN),
        (2.75, OURS, Word.WITHIN),
        (2.95, OURS, Word.DIFFERS),
        (1.75, OURS, Word.DIFFERS),
        (2.3, OURS[:5], Word.FEW),
        (2.0, OURS[:1], Word.FEW),
        (2.0, [2.0] * 6, Word.AGREES),
        (2.1, [2.0] * 6, Word.DIFFERS),
        (0.0, [0.0, 0.0, 1.0, 2.0, 0.0, 3.0], Word.AGREES),
        (2.0, [], Word.UNRUN),
        (None, OURS, Word.UNSTATED),
    ],
)
def test_verdicts_with_a_known_truth(
    published: float | None, values: list[float], word: str
) -> None:
    span = None if published is None else published_span(str(published), "Mbit/s")
    assert judge(published, span, summarize(values)).word == word


def test_a_further_run_is_students_on_logarithms_and_never_less_than_all() -> None:
    values = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]
    logs = [log(value) for value in values]
    half = 2.570582 * stdev(logs) * sqrt(1 + 1 / 6)
    span = next_run(values)
    assert span.low == pytest.approx(exp(fmean(logs) - half), rel=1e-6)
    assert span.high == pytest.approx(exp(fmean(logs) + half), rel=1e-6)
    skewed = [1.0] * 20 + [100.0]
    assert next_run(skewed).high >= 100.0
    assert next_run([0.0, 1.0, 2.0, 1.0, 0.0, 2.0]).low < 0  # no logarithm of 0


def test_of_many_runs_the_order_alone_decides() -> None:
    values = [float(at) for at in range(RANKED_FROM + 1)]
    assert next_run(values) == ValueSpan(0.0, 39.0)
    assert next_run([float(at) for at in range(100)]) == ValueSpan(1.0, 98.0)


def test_the_mean_of_several_scatters_less_than_one() -> None:
    one, ten = next_run(OURS), next_mean(OURS, 10)
    assert one.low < ten.low < fmean(OURS) < ten.high < one.high
    half = 2.178813 * stdev(OURS) * sqrt(1 / 10 + 1 / 13)
    assert ten.high - ten.low == pytest.approx(2 * half, rel=1e-6)


def test_the_mean_of_all_runs_has_students_interval() -> None:
    half = 2.178813 * stdev(OURS) / sqrt(13)
    assert true_mean(OURS).high == pytest.approx(fmean(OURS) + half, rel=1e-6)
    assert true_mean(OURS).low == pytest.approx(fmean(OURS) - half, rel=1e-6)


def test_a_further_run_has_the_same_interval_in_any_unit_and_order() -> None:
    values = [0.4, 0.9, 0.2, 0.7, 0.3, 0.5]
    span, thousandths = next_run(values), next_run([1000 * value for value in values[::-1]])
    assert thousandths.low == pytest.approx(1000 * span.low)
    assert thousandths.high == pytest.approx(1000 * span.high)


def test_spans_that_share_an_end_meet() -> None:
    assert ValueSpan(-1.0, 0.0).meets(ValueSpan(0.0, 1.0))
    assert ValueSpan(0.0, 1.0).meets(ValueSpan(-1.0, 0.0))
    assert ValueSpan(0.0, 0.1 + 0.2).meets(ValueSpan(0.3 + 1e-12, 1.0))
    assert not ValueSpan(0.0, 1.0).meets(ValueSpan(1.01, 2.0))


_DISTRIBUTIONS: list[tuple[str, Draw]] = [
    ("lognormal", lambda chance: chance.lognormvariate(0, 0.5)),
    ("gamma", lambda chance: chance.gammavariate(2, 1)),
    ("exponential", lambda chance: chance.expovariate(1)),
    ("ceiling", lambda chance: 1 - min(0.99, chance.expovariate(10))),
]


@pytest.mark.parametrize("runs", [6, 10, 30])
@pytest.mark.parametrize("named", _DISTRIBUTIONS, ids=lambda named: str(named[0]))
def test_a_true_row_rarely_differs(named: tuple[str, Draw], runs: int) -> None:
    """In 10 % at most, for any distribution (docs/studies/published-numbers.md)."""
    chance, (_, draw) = random.Random(runs), named
    spans = (next_run([draw(chance) for _ in range(runs)]) for _ in range(1000))
    assert sum(not _holds(span, draw(chance)) for span in spans) <= 110


def test_a_row_of_twice_as_much_is_seen() -> None:
    draw = partial(random.Random(1).lognormvariate, 0, 0.15)
    spans = (next_run([draw() for _ in range(6)]) for _ in range(500))
    assert sum(not _holds(span, 2 * draw()) for span in spans) > 400


def test_the_mean_of_ten_rarely_differs() -> None:
    draw = partial(random.Random(2).lognormvariate, 0, 0.25)
    spans = (next_mean([draw() for _ in range(6)], 10) for _ in range(1000))
    assert sum(not _holds(span, fmean(draw() for _ in range(10))) for span in spans) <= 80


def _holds(span: ValueSpan, value: float) -> bool:
    return span.low <= value <= span.high


@pytest.mark.parametrize(
    ("published", "ours", "text"),
    [
        (1.0, 1.8, "differs by a factor of 1.8 (measured is higher)"),
        (1.8, 1.0, "differs by a factor of 1.8 (measured is lower)"),
        (1.0, 1.06, "differs by 6 % (measured is higher)"),
        (0.01, 12.34, "differs by a factor of 1,234 (measured is higher)"),
        (0.0, 12.0, "differs by 12 Mbit/s (measured is higher)"),
        (12.0, 0.0, "differs by 12 Mbit/s (measured is lower)"),
    ],
)
def test_how_far_apart_is_said_with_sensible_digits(
    published: float, ours: float, text: str
) -> None:
    verdict = judge(published, ValueSpan(published, published), summarize([ours] * 6))
    assert verdict.text("Mbit/s") == text


@pytest.mark.parametrize(("runs", "text"), [(1, "not judged: 1 run"), (5, "not judged: 5 runs")])
def test_few_runs_are_no_verdict(runs: int, text: str) -> None:
    assert judge(2.0, ValueSpan(2.0, 2.0), summarize([2.0] * runs)).text("s") == text


def test_a_row_counts_by_its_headline_and_never_by_the_better() -> None:
    row = checked_row(RowEntry(published=2, period=[8.0] * 6, today=[2.0] * 6), "study", Problems())
    assert judge_row(row).outcome.word == Word.DIFFERS
    assert judge_row(row, "today").outcome.word == Word.AGREES
    unrun = checked_row(RowEntry(published=2, today=[2.0] * 6), "study", Problems())
    assert judge_row(unrun, "period").outcome.word == Word.UNRUN
    assert judge_row(unrun).outcome.word == Word.AGREES


@pytest.mark.parametrize(
    ("low", "high", "word", "text"),
    [
        (None, 2.2, Word.AGREES, "at most 2.2"),
        (2.4, None, Word.AGREES, "at least 2.4"),
        (None, 1.0, Word.DIFFERS, "at most 1"),
        (3.0, None, Word.DIFFERS, "at least 3"),
        (1.5, 2.5, Word.AGREES, "1.5 to 2.5"),
    ],
)
def test_a_law_has_a_range_that_may_be_open(
    low: float | None, high: float | None, word: Word, text: str
) -> None:
    entry = RowEntry(published=2, unit="s", allowed_low=low, allowed_high=high, today=OURS)
    judged = judge_row(checked_row(entry, "study", Problems()), "today")
    assert judged.outcome.word == word
    assert line(judged, [])["published_range"] == f"allowed: {text}"


def test_a_mean_of_two_is_compared_with_our_mean() -> None:
    values = [1.0, 1.0, 1.0, 1.0, 1.0, 7.0]
    one, two = summarize(values), summarize(values, 2)
    assert one and two and (one.center, two.center) == (1.0, 2.0)


@pytest.mark.parametrize(
    ("measured", "field"),
    [
        ([[2.0] * 6, [2.0] * 6], "hold"),
        ([[2.0] * 6, [8.0] * 6], "in_part"),
        ([[8.0] * 6, [8.0] * 6], "differ"),
        ([[2.0] * 5, []], "unjudged"),
    ],
)
def test_a_setting_holds_by_all_of_its_numbers(measured: list[list[float]], field: str) -> None:
    entries = [RowEntry(published=2, setting="one", today=values) for values in measured]
    rows = [judge_row(checked_row(entry, "study", Problems()), "today") for entry in entries]
    assert count_settings(rows) == {"settings": 1, field: 1, "line_rate": 0}


def test_what_is_listed_or_of_the_full_form_is_counted_so() -> None:
    entries = (
        RowEntry(published=2, listed="It is the rate times 60 s.", today=[2.0] * 6),
        RowEntry(published=2, needs="300 s"),
        RowEntry(published=2),
    )
    judged = [judge_row(checked_row(entry, "study", Problems())) for entry in entries]
    assert [row.outcome.word for row in judged] == [Word.LISTED, Word.UNRUN, Word.UNRUN]
    counts = count(judged)
    assert counts == {"rows": 3, Word.LISTED: 1, Word.UNRUN: 2, "later": 1}


def test_a_mean_is_compared_with_our_mean() -> None:
    entry = RowEntry(published=4, mean_of=10, today=[1.0, 1.0, 1.0, 1.0, 1.0, 19.0])
    judged = judge_row(checked_row(entry, "study", Problems()))
    assert judged.measured["today"] and judged.measured["today"].center == 4.0
    assert judged.outcome.word == Word.AGREES
