"""Settings of a time beside a kernel of that time: the verdict, and where it is shown."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from analysis.records.json_reader import Problems
from analysis.records.spec_file import RowEntry, checked_row
from analysis.statistics.paired_tests import DifferenceVerdict
from analysis.statistics.published import (
    Judged,
    Word,
    imitation_sentence,
    imitations,
    judge_row,
)
from tests.analysis.made_reproductions import row, run, study, table, write
from tests.analysis.stored_graphs import graphs_of

KERNEL = {
    "linux": "2.6.27",
    "known": "Its text names it.",
    "taken": "3.13",
    "remarks": ["This tcplab does not know Linux 2.6.32."],
}
NEAR_20 = [19.0, 19.5, 20.0, 20.5, 21.0, 22.0]


def judged(settings: Sequence[float], kernel: Sequence[float]) -> Judged:
    entry = RowEntry(published=1.0, period=list(settings), period_kernel=list(kernel))
    return judge_row(checked_row(entry, "sack", Problems()))


@pytest.mark.parametrize(
    ("settings", "word", "ratio"),
    [
        ([30.0, 31.0, 32.0, 33.0, 34.0, 35.0], DifferenceVerdict.LARGER, 32.5 / 20.25),
        ([9.0, 9.5, 10.0, 10.5, 11.0, 12.0], DifferenceVerdict.SMALLER, 10.25 / 20.25),
        ([15.0, 17.0, 19.0, 21.0, 23.0, 25.0], DifferenceVerdict.UNSHOWN, 20.0 / 20.25),
        ([22.1] * 6, DifferenceVerdict.LARGER, 22.1 / 20.25),
        ([30.0] * 5, DifferenceVerdict.UNJUDGED, 30.0 / 20.25),
    ],
)
def test_intervals_that_do_not_meet_are_a_difference(
    settings: list[float], word: str, ratio: float
) -> None:
    (found,) = imitations([judged(settings, NEAR_20)])
    assert (found.word, found.ratio) == (word, pytest.approx(ratio))


def test_what_differs_by_less_than_machines_do_is_no_difference() -> None:
    (found,) = imitations([judged([100.0] * 6, [101.0] * 6)])
    assert found.word == DifferenceVerdict.UNSHOWN


def test_numbers_that_share_their_runs_are_one_figure() -> None:
    assert len(imitations([judged(NEAR_20, [1.0] * 6)] * 3)) == 1
    assert imitations([judged([], NEAR_20), judged(NEAR_20, [])]) == ()


def test_the_sentence_counts_what_was_judged() -> None:
    found = [
        judged([1.0] * 6, NEAR_20),
        judged([90.0] * 6, NEAR_20),
        judged([20.0] * 6, NEAR_20),
        judged([20.0] * 2, NEAR_20),
    ]
    assert imitation_sentence(imitations(found), "3.13") == (
        "In 2 of 3 figures they give something else than Linux 3.13 does (1 larger, 1 smaller):"
        " they do not stand for that kernel."
    )
    assert "In none of 1 figures" in imitation_sentence(imitations(found[2:3]), "3.13")
    assert imitation_sentence((), "3.13") == ""


def test_the_page_counts_by_the_kernel_and_judges_the_settings(tmp_path: Path) -> None:
    rows = [
        row(10.0, "a", period=[30.0] * 6, period_kernel=[10.0] * 6),
        row(10.0, "b", period=[10.0] * 6, period_kernel=[20.0] * 6),
        row(10.0, "c", period=[10.0] * 6),
    ]
    result = run(write(tmp_path, study(*rows, kernel=KERNEL), rows=["5 % loss"]))
    page, lines = (tmp_path / "reproduction.html").read_text(), table(tmp_path)
    assert result.exit_code == 0, result.output
    assert [line["outcome"] for line in lines] == [Word.AGREES, Word.DIFFERS, Word.AGREES]
    assert [line["period_kernel_center"] for line in lines] == ["10.0", "20.0", ""]
    assert "Measured, on Linux 3.13" in page
    assert "Linux 2.6.27. Its text names it." in page
    assert "This tcplab does not know Linux 2.6.32." in page
    assert "Do they do what Linux 3.13 does?" in page
    assert "larger (3 times)" in page and "smaller (0.5 times)" in page
    assert "Selected: rows with 5 % loss." in page
    assert "./tcplab reproduce --quick --rows &#39;5 % loss&#39;" in page
    words = "In 2 of 2 figures they give something else than Linux 3.13 does"
    assert words in page and words in result.output


def test_the_kernel_of_its_time_is_in_the_picture(tmp_path: Path) -> None:
    run(write(tmp_path, study(row(10.0, period_kernel=NEAR_20), kernel=KERNEL)))
    (graph,) = graphs_of((tmp_path / "reproduction.html").read_text())
    words = [layer["words"] for layer in graph["layers"] if layer["marks"]]
    assert words[0] == "kernel of its time" and words[-1] == "published"
