"""Families of comparisons, the words for them, and the parts of their graphs."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from analysis.fmt import called, decimals, fixed, probability, verb
from analysis.graphs import distributions
from analysis.measures.metrics import columns
from analysis.measures.sweep_folder import SweepRecord, SweptFactor
from analysis.pages import sweep_layout
from analysis.statistics import comparisons
from analysis.statistics.comparisons import LevelComparison, compare
from analysis.statistics.paired_tests import DifferenceVerdict
from analysis.statistics.sweep_samples import SweepSamples


def test_no_family_of_equal_levels_is_claimed_to_differ_too_often() -> None:
    """12 comparisons without any effect, 200 times: one false claim or more in at most 5 % of
    them.
    """
    names = tuple("abcdef")
    factors = tuple(
        SweptFactor(name, name, "", values, "", {value: at for at, value in enumerate(values)})
        for name, values in (("cell", names), ("cc", ("one", "two", "three")))
    )
    sweep = SweepRecord(Path(), {}, factors, columns()["goodput_kbit_s"], 1)
    chance, false_claims = np.random.default_rng(8), 0
    for _ in range(200):
        values = chance.lognormal(0, 0.5, (6, 1, 12)) * chance.lognormal(0, 0.3, (6, 3, 12))
        samples = SweepSamples(values, "", tuple(range(12)), {}, {}, (), {}, False)
        verdicts = {one.verdict for one in compare(sweep, samples)}
        false_claims += verdicts != {DifferenceVerdict.UNSHOWN}
    assert false_claims <= 0.05 * 200 + 3 * (0.05 * 0.95 * 200) ** 0.5


def test_more_than_three_levels_are_compared_with_the_first() -> None:
    assert comparisons.level_pairs(3) == [(0, 1), (0, 2), (1, 2)]
    assert comparisons.level_pairs(5) == [(0, 1), (0, 2), (0, 3), (0, 4)]


def test_axes_suit_the_swept_values() -> None:
    assert distributions.swept(("10ms", "50ms", "300ms"), (0.01, 0.05, 0.3)).spacing == "linear"
    assert distributions.swept(("1ms", "10ms", "1s"), (0.001, 0.01, 1.0)).spacing == "log"
    assert distributions.swept(("0%", "0.1%", "10%"), (0.0, 0.001, 0.1)).spacing == "even"
    assert distributions.swept(("0%", "never run"), (0.0, None)).spacing == "even"


def test_panels_are_chosen_over_the_whole_grid() -> None:
    assert (sweep_layout.chosen(0), sweep_layout.chosen(3)) == ([], [0, 1, 2])
    many = sweep_layout.chosen(100)
    assert (len(many), many[0], many[-1]) == (12, 0, 99)


def test_figures_have_the_digits_that_the_interval_supports() -> None:
    assert fixed(1.4213, decimals(1.31, 1.60)) == "1.42"
    assert fixed(12345.6, decimals(12000, 13000)) == "12,346"
    assert fixed(-0.001, 2) == "0.00"
    assert fixed(0.999, decimals(0.641, 0.999, neutral=1.0)) == "0.999"
    assert [probability(p) for p in (0.00001, 0.0314, 1.0)] == ["< 0.0001", "= 0.031", "= 1"]


def test_metrics_are_called_by_grammatical_names() -> None:
    named = {metric.name: f"{called(metric)} {verb(metric)}" for metric in columns().values()}
    assert named["goodput_kbit_s"] == "goodput at the receiver is"
    assert named["mean_second_kbit_s"] == "the mean of the seconds' rates at the sender is"
    assert named["timeouts"] == "retransmission time-outs of all senders are"
    assert named["jain_index"] == "Jain's fairness index of the flows' goodput is"


def test_a_number_is_named_with_its_factor_in_sentences() -> None:
    comparison = LevelComparison((0,), "", "20", "200", None, factor="queue")
    assert comparison.in_words("200") == "queue 200" and comparison.in_words("cubic") == "cubic"
