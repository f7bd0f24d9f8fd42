"""Each lab's runs, carried out in the middle of its ranges: the lesson shows, and the key's numbers are plausible."""

from __future__ import annotations

from pathlib import Path

import pytest

from labs import catalogue
from labs.ranges import check_ranges, corners


def test_corners_are_all_ends_and_the_middle() -> None:
    found = corners(catalogue.find("fairness"))
    assert [tuple(value for _, value in one) for one in found] == [
        ("18mbit", "7"), ("18mbit", "12"), ("30mbit", "7"), ("30mbit", "12"), ("24mbit", "10"),
    ]  # fmt: skip


@pytest.mark.virtual
@pytest.mark.parametrize("name", catalogue.names())
def test_the_lesson_shows_in_the_middle(name: str, tmp_path: Path) -> None:
    lab = catalogue.find(name)
    found = check_ranges(lab, 1, tmp_path, 1, corners(lab)[-1:])
    assert [(one.lesson, one.problem) for one in found] == [(True, "")]
