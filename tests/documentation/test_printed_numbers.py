"""Printed results of docs/studies: their sums, and what the studies' data says of them."""

import re
from pathlib import Path

import pytest

from experiments.study.published import law_file, targets_of

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs/studies/index.md").read_text(encoding="utf-8")
ROWS = [
    [cell.strip() for cell in line.strip("|").split("|")]
    for line in PAGE.splitlines()
    if re.match(r"\| (?!study|---)\w+ \|", line)
]
COUNTS = {row[0]: [int(cell or 0) for cell in row[1:]] for row in ROWS}
LAWS = re.findall(
    r"^\* \[(\w+)\]\([^)]*\): (.*?)(?=^\* |^$)",
    PAGE.partition("Against theory")[2],
    re.MULTILINE | re.DOTALL,
)


def test_the_table_of_reproduction_adds_up() -> None:
    studies = [counts for name, counts in COUNTS.items() if name != "all"]
    assert COUNTS["all"] == [sum(column) for column in zip(*studies, strict=True)]
    for name, counts in COUNTS.items():
        settings, hold, full, part, differ, numbers, *judged = counts
        assert full <= hold and hold + part + differ <= settings, name
        assert sum(judged) <= numbers, name


@pytest.mark.parametrize("study", [name for name in COUNTS if name != "all"])
def test_the_table_has_all_numbers_of_a_study(study: str) -> None:
    targets = targets_of(study, quick=True)
    *_, full_only = COUNTS[study]
    assert (COUNTS[study][5], full_only) == (len(targets), sum(bool(t.needs) for t in targets))
    unjudged = sum(bool(target.listed) for target in targets)
    assert sum(COUNTS[study][6:]) <= len(targets) - unjudged


def test_the_text_has_the_sums_of_the_table() -> None:
    settings, hold, full, part, differ, numbers, *_ = COUNTS["all"]
    assert f"compares {numbers} published numbers of {settings} settings" in PAGE
    judged = hold + part + differ - full
    assert f"Without the full links, {hold - full} of {judged} judged settings hold" in PAGE


@pytest.mark.parametrize(("study", "text"), LAWS)
def test_a_printed_tolerance_is_that_of_the_law(study: str, text: str) -> None:
    law = law_file(ROOT / "experiments" / study / "law.toml")
    printed = re.search(r"(?:±|\+)\s+([\d.]+) %", text)
    if printed:
        assert float(printed[1]) == pytest.approx(100 * law["tolerance"])
    elif most := re.search(r"at most (1\.\d+)", text):
        assert float(most[1]) == pytest.approx(1 + law["tolerance"])
    else:
        assert study in (
            "buffer_size",
            "reno_friendly",
            "tail_loss",
            "unfair_round_trips",
            "vegas_queue",
        ), "a law without a tolerance in words"
