"""The laws of the literature: published constants, sums by hand, and what a verdict takes."""

from collections.abc import Callable
from dataclasses import replace
from math import inf, isclose, sqrt
from random import Random

import pytest

from analysis.reporting.formulas import (
    REGULAR,
    SCALE,
    FilledPath,
    climb,
    climbing_time,
    cubic_window,
    padhye_rate,
    plateau_time,
    remembered_window,
    reno_friendly_growth,
    sawtooth_period,
    slow_start_segments,
    square_root_rate,
    window_limited_rate,
)
from analysis.reporting.laws import Law, LawPoint, verdict_of

LAW = Law("Does it?", "the rate", "a formula", "a paper", 0.1, "A reason.")


def test_the_constant_of_the_square_root_law_is_that_of_the_paper() -> None:
    """Mathis and others (1997): 1.22 for regular losses if each segment is acknowledged."""
    assert round(REGULAR, 2) == 1.22
    assert square_root_rate(0.01, 0.1) == pytest.approx(122.47, abs=0.01)


def sawtooth(lost: Callable[[int], bool], packets: int) -> float:
    """Rate x RTT of an ideal Reno: a segment more in each round trip, half after a loss."""
    window, time = 40.0, 0.0
    for number in range(1, packets + 1):
        time += 1 / window
        window = max(1.0, window / 2) if lost(number) else window + 1 / window
    return packets / time


def test_regular_and_random_losses_give_the_constants_of_the_literature() -> None:
    """1.22 if every 1/p-th packet is lost; 1.31 if each is lost for itself (Mathis and others)."""
    loss, dice = 1e-3, Random(1)
    regular = sawtooth(lambda number: number % 1000 == 0, 200_000)
    at_random = sawtooth(lambda _: dice.random() < loss, 1_000_000)
    assert regular * sqrt(loss) == pytest.approx(REGULAR, rel=0.01)
    assert at_random * sqrt(loss) == pytest.approx(1.31, rel=0.03)


def test_padhye_is_what_its_terms_add_up_to_by_hand() -> None:
    """p 1 %, RTT 100 ms, T 400 ms: 0.0081650 s for halvings and 0.00073720 s for time-outs."""
    assert padhye_rate(0.01, 0.1, 0.4) == pytest.approx(1 / (0.0081650 + 0.00073720), rel=1e-4)
    assert padhye_rate(0.01, 0.1, 0.4, window=4) == 40
    assert padhye_rate(0.01, 0.1, 0.4, per_ack=2) < padhye_rate(0.01, 0.1, 0.4) / 1.3
    assert padhye_rate(0.01, 0.1, 0.0) == pytest.approx(square_root_rate(0.01, 0.1))


def full_model(loss: float, trip: float, timeout: float) -> float:
    """The formula from which Padhye and others take the short one, with b = 1 and no window."""
    window = 1 + sqrt(8 * (1 - loss) / (3 * loss) + 1)
    kept = 1 - loss
    timed_out = min(
        1, (1 - kept**3) * (1 + kept**3 * (1 - kept ** (window - 3))) / (1 - kept**window)
    )
    backing_off = 1 + loss * sum((2 * loss) ** power for power in range(6))
    sent = kept / loss + window + timed_out / kept
    return sent / (trip * (window / 2 + 1) + timed_out * backing_off * timeout / kept)


@pytest.mark.parametrize("loss", [0.001, 0.005, 0.01, 0.02, 0.05])
def test_the_short_formula_is_near_the_whole_model(loss: float) -> None:
    short, whole = padhye_rate(loss, 0.05, 0.25), full_model(loss, 0.05, 0.25)
    assert short == pytest.approx(whole, rel=0.05)


def test_slow_start_doubles_ten_segments() -> None:
    assert [slow_start_segments(number) for number in range(1, 6)] == [10, 20, 40, 80, 160]
    assert slow_start_segments(3, initial=4, growth=1.5) == 9


def test_a_window_is_carried_once_in_a_round_trip() -> None:
    assert window_limited_rate(65535, 0.1, inf) == 655_350
    assert window_limited_rate(1e6, 0.1, 2.5e6) == 2.5e6


def test_the_sawtooth_of_a_small_path_is_the_sum_by_hand() -> None:
    """Ten segments on the way, ten in the queue; the 21st is dropped, and ten are left.

    Round trips of 0.10, 0.11, ... 0.20 s are 1.65 s; two more at a window of 21 are 0.42 s.
    """
    path = FilledPath(round_trip=0.1, serialization=0.01, queue=10)
    assert (path.product, path.full_window) == (pytest.approx(10), 20)
    assert list(climb(path)) == list(range(10, 21))
    assert climbing_time(path) == pytest.approx(1.65)
    assert sawtooth_period(path) == pytest.approx(2.07)


def test_a_path_without_a_queue_keeps_its_round_trip() -> None:
    path = FilledPath(round_trip=0.1, serialization=0.001, queue=1)
    assert {path.round_trip_at(window) for window in (1, 50, 100)} == {0.1}
    assert path.round_trip_at(200) == 0.2


def test_cubic_begins_at_its_start_and_is_flat_at_its_largest_window() -> None:
    """W_max 1000, reduced to 700: K is the cube root of 300 / 0.4, which is 9.0856 s."""
    plateau = plateau_time(1000, 700)
    assert plateau == pytest.approx(9.0856, abs=1e-4)
    assert cubic_window(0, 1000, 700) == pytest.approx(700)
    assert cubic_window(plateau, 1000, 700) == 1000
    assert cubic_window(2 * plateau, 1000, 700) == pytest.approx(1300)
    assert (plateau_time(500, 600), cubic_window(1, 500, 600)) == (0, 600 + SCALE)


def test_cubics_mean_window_is_that_of_the_rfc() -> None:
    """RFC 9438, section 5.1: 1.054 RTT^0.75 / p^0.75 if one of 1/p packets is lost, at W_max."""
    largest, trip, steps = 1000.0, 0.1, 100_000
    plateau = plateau_time(largest, 0.7 * largest)
    mean = sum(cubic_window(plateau * step / steps, largest, 700) for step in range(steps)) / steps
    loss = trip / (mean * plateau)
    assert mean == pytest.approx(1.054 * (trip / loss) ** 0.75, rel=1e-3)


def test_cubics_other_numbers_are_those_of_the_rfc() -> None:
    assert reno_friendly_growth() == pytest.approx(9 / 17)
    assert remembered_window(90, 100) == pytest.approx(76.5)
    assert remembered_window(110, 100) == 110


def points(*ratios: float) -> list[LawPoint]:
    return [LawPoint(f"{at}", at, 100 * ratio, 100) for at, ratio in enumerate(ratios)]


@pytest.mark.parametrize(
    ("ratios", "word"),
    [
        ((1, 1.09, 0.91, 1, 1, 1), "shown"),
        ((1, 1.2, 1, 1, 1, 1), "not shown"),
        ((1.2, 1.2, 1.2, 1, 1, 1), "not shown"),
        ((1.2, 1.2, 1.2, 0.8, 1, 1), "contradicted"),
        ((*[1.0] * 19, 1.2), "shown"),
        ((1, 1, 1, 1, 1), "not shown"),
        ((), "not shown"),
    ],
)
def test_a_law_is_shown_if_its_points_keep_to_it(ratios: tuple[float, ...], word: str) -> None:
    verdict = verdict_of(LAW, points(*ratios))
    assert (verdict.word, verdict.repetitions) == (word, len(ratios))
    assert verdict.question == LAW.question


def test_a_law_that_is_off_by_half_is_contradicted() -> None:
    measured = points(1.02, 0.97, 1.0, 1.05, 0.99, 1.01)
    wrong = [replace(point, theory=1.5 * point.theory) for point in measured]
    assert verdict_of(LAW, measured).word == "shown"
    verdict = verdict_of(LAW, wrong)
    assert verdict.word == "contradicted"
    assert verdict.estimate is not None and isclose(verdict.estimate, 1.005 / 1.5)
    assert "of which 6 lie outside" in verdict.sentence
