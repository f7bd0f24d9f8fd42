"""Writes the page of a comparison, and prints it."""

from __future__ import annotations

from pathlib import Path

from rich.console import Console
from rich.table import Table

from analysis.graphs.layers import GraphGroup
from analysis.graphs.stored_graphs import board_data
from analysis.pages.comparison.comparison import SideComparison
from analysis.rendering import page_files
from analysis.reporting.run_graphs import DrawnCourse, over_time

MOST_COURSES = 8
"""Curves that one graph can hold and a reader tell apart."""
_SHORT = ("goodput_kbit_s", "retransmitted_segments", "rtt_median_ms", "timeouts", "queue_drops")
"""Metrics of the terminal; the page has all."""


def write_page(comparison: SideComparison, folder: Path, name: str) -> Path:
    """The page in `folder`. Raises TcplabError with a remedy where the folder takes none."""
    groups = _groups(comparison)
    context = {
        "comparison": comparison,
        "letters": [side.letter for side in comparison.sides],
        "groups": groups,
        "graphs": board_data(groups),
        "problems": [
            sentence
            for side in comparison.sides
            for sentence in (*side.warnings, *(f"{side.letter}: {each}" for each in side.problems))
        ],
    }
    text = page_files.render("comparison.html", context)
    page_files.write(folder, [(name, text.encode())], "report RUN_DIR")
    return folder / name


def _groups(comparison: SideComparison) -> list[GraphGroup]:
    """All runs on one axis: of each its first seed."""
    courses = [
        DrawnCourse.of(trial, f"{side.letter}: ")
        for side in comparison.sides
        if side.results
        for trial in side.results.first
    ]
    rates = {side.results.link_rate for side in comparison.sides if side.results}
    link = rates.pop() if len(rates) == 1 else None
    drawn = [course for course in courses if course.sent or course.samples]
    return over_time(drawn[:MOST_COURSES], link)


def print_comparison(comparison: SideComparison, console: Console) -> None:
    """What differs in settings, and the results that matter most."""
    for side in comparison.sides:
        console.print(f"{side.letter}: {side.name}", highlight=False, soft_wrap=True)
    console.print(comparison.sentence, highlight=False)
    letters = [side.letter for side in comparison.sides]
    asked = Table("What differs in settings", *letters)
    for name, values in comparison.differing.items():
        asked.add_row(name, *values)
    if comparison.differing:
        console.print(asked)
    console.print(_results(comparison, letters))


def _results(comparison: SideComparison, letters: list[str]) -> Table:
    against = [f"{letter} against {letters[0]}" for letter in letters[1:]]
    table = Table("Result", *letters, *against)
    several = len({result.condition for result in comparison.results}) > 1
    for result in comparison.results:
        if result.metric.name in _SHORT:
            unit = f" ({result.unit})" if result.unit else ""
            where = f"{result.condition}: " if several else ""
            name = f"{where}{result.metric.title}{unit}"
            table.add_row(name, *result.cells, *result.differences)
    return table
