"""First lines, sentences and CSV of paired comparisons: exact for made ones."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from msgspec import structs

from analysis.measures.metrics import columns
from analysis.measures.sweep_folder import SweepRecord, SweptFactor
from analysis.records.spec_file import HeadlineEntry, SubjectEntry
from analysis.statistics.comparisons import LevelComparison, csv_text, first_lines, too_few
from analysis.statistics.paired_tests import Paired
from analysis.statistics.sweep_samples import SweepSamples

LARGER = Paired("ratio", 1.5, 1.4, 1.6, 12, 0.001)
SMALLER = Paired("ratio", 0.5, 0.4, 0.6, 12, 0.001)
OPEN = Paired("ratio", 1.1, 0.9, 1.3, 12, 0.3)
DIFFERENCE = Paired("difference", 5.0, 4.0, 6.0, 12, 0.001)
CC = SweptFactor("cc", "cc", "", ("on", "off"), "", {"on": 0, "off": 1})
LOSS = SweptFactor("loss", "loss", "", ("0%", "1%"), "", {"0%": 0, "1%": 1})
HEADLINE = HeadlineEntry(
    metric="metric.goodput_kbit_s",
    what="the throughput",
    subject=SubjectEntry(condition="a"),
    direction="larger",
    against=SubjectEntry(condition="b"),
)


def sweep(headline: HeadlineEntry | None = None) -> SweepRecord:
    conditions = [SimpleNamespace(name="a", label="on"), SimpleNamespace(name="b", label="off")]
    facts: Any = SimpleNamespace(headline=headline, conditions=conditions)
    return SweepRecord(Path(), facts, (CC, LOSS), columns()["goodput_kbit_s"], 0)


def samples(many_flows: bool = False) -> SweepSamples:
    values = np.ones((2, 2, 12))
    return SweepSamples(values, "kbit/s", tuple(range(12)), {}, {}, (), {}, many_flows)


def comparison(
    paired: Paired | None, at: int = 0, first: str = "off", second: str = "on"
) -> LevelComparison:
    corrected = paired.p if paired else 1.0
    place, where = (0, at), f"loss {LOSS.values[at]}"
    return LevelComparison(place, where, first, second, paired, corrected)


@pytest.mark.parametrize(
    ("counts", "text"),
    [
        ([6], []),
        ([5], ["5 seeds cannot show a difference: it takes at least 6 (--seeds 6)."]),
        ([1], ["One seed cannot show a difference: it takes at least 6 (--seeds 6)."]),
        ([7, 7], []),
        (
            [6, 2],
            [
                "6 seeds cannot show a difference in any of 2 comparisons: it takes at least 7"
                " (--seeds 7)."
            ],
        ),
    ],
)
def test_the_fewest_seeds_are_named_and_are_enough(counts: list[int], text: list[str]) -> None:
    made = [comparison(replace(OPEN, count=count)) for count in counts]
    assert too_few(made) == text


@pytest.mark.parametrize(
    ("pairs", "first"),
    [
        ([LARGER], "Shown: the throughput is larger with on than with off."),
        ([SMALLER], "Contradicted: the throughput is larger with on than with off."),
        ([OPEN], "Not shown: the throughput is larger with on than with off."),
        (
            [LARGER, LARGER],
            "Shown in 2 of 2 cases: the throughput is larger with on than with off.",
        ),
        (
            [LARGER, LARGER, SMALLER],
            "Shown in 2 of 3 cases, contradicted in 1: the throughput is larger with on than with"
            " off.",
        ),
    ],
)
def test_the_first_line_judges_the_claim_of_the_experiment(pairs: list[Paired], first: str) -> None:
    made = [comparison(paired, at % 2) for at, paired in enumerate(pairs)]
    assert first_lines(sweep(HEADLINE), made, samples())[0] == first
    opposite = {LARGER.estimate: SMALLER, SMALLER.estimate: LARGER}
    turned = [
        comparison(opposite.get(paired.estimate, paired), at % 2, "on", "off")
        for at, paired in enumerate(pairs)
    ]
    assert first_lines(sweep(HEADLINE), turned, samples())[0] == first


@pytest.mark.parametrize(
    ("headline", "many_flows", "is_claimed"),
    [
        (HEADLINE, True, True),
        (None, False, False),
        ("metric.timeouts", False, False),
        ("metric.total_goodput_kbit_s", False, True),
        ("metric.total_goodput_kbit_s", True, False),
    ],
)
def test_another_metric_than_the_claims_judges_no_claim(
    headline: HeadlineEntry | str | None, many_flows: bool, is_claimed: bool
) -> None:
    if isinstance(headline, str):
        headline = structs.replace(HEADLINE, metric=headline)
    lines = first_lines(sweep(headline), [comparison(LARGER)], samples(many_flows))
    assert lines[0].startswith("Shown: the throughput is") is is_claimed
    assert lines[0].startswith("Shown: Loss 0%: goodput at the receiver is") is not is_claimed


def test_without_a_claim_the_first_line_counts_differences() -> None:
    for first, beginning in (
        (LARGER, "Shown in 1 of 2 comparisons"),
        (OPEN, "Not shown in any comparison"),
    ):
        line, *_ = first_lines(sweep(), [comparison(first), comparison(OPEN, 1)], samples())
        assert line == f"{beginning}: that goodput at the receiver differs."
    few = [comparison(replace(OPEN, count=3))]
    lines = first_lines(sweep(HEADLINE), few, samples())
    assert lines[1].startswith("Not shown: 3 seeds cannot show a difference")
    few = [comparison(replace(OPEN, count=3), at) for at in (0, 1)]
    (line,) = first_lines(sweep(), few, samples())
    assert line.startswith("Not shown: 3 seeds cannot show a difference in any of 2 comparisons")
    assert first_lines(sweep(), [], samples()) == [
        "No comparison: the sweep names no factor to compare. The medians are below."
    ]


def test_a_ratio_has_no_unit_in_the_csv_and_a_difference_has() -> None:
    made = [comparison(LARGER), comparison(DIFFERENCE, 1), comparison(None)]
    assert csv_text(made, sweep(), samples()).splitlines() == [
        "loss,first,second,scale,unit,estimate,low,high,seeds,p,p_holm,verdict",
        "0%,off,on,ratio,,1.5,1.4,1.6,12,0.001,0.001,larger",
        "1%,off,on,difference,kbit/s,5.0,4.0,6.0,12,0.001,0.001,larger",
        "0%,off,on,,,,,,0,,1.0,not shown to differ",
    ]
