"""Tables of grading, opened by spreadsheets of any language: no stranger's text is a formula."""

import csv
import io
from collections.abc import Iterator
from dataclasses import replace
from itertools import product
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from labs.definition.spec import LabSpec
from labs.grading import exports, moodle
from labs.grading.case import AnswerMark, Case, Flag, exported_points
from labs.grading.files import grades
from labs.grading.intake import HandIn
from labs.grading.intake_report import DownloadReport, IntakeLine
from labs.grading.tables import Person, cell, table

FORMULA = "=+-@|%\t\r\n\uff1d\uff0b\uff0d\uff20"
SEPARATORS = ",;\t"
APART = ["", " ", '"', '""', "'", "\n", "\t", "\u00a0", "\u2028", '" ']
TEXTS = [
    f"{before}{separator}{apart}{sign}cmd|' /C calc'!A0{after}"
    for before, separator, apart, sign, after in product(
        ["", "a", '"', 'a"'], ["", ";", ",", "\t", "\n", ";;", ',"'], APART, FORMULA, ["", '"', ";"]
    )
]


def cells_of(content: str) -> Iterator[str]:
    """Every cell that a spreadsheet may see, whatever separates cells there."""
    for separator in SEPARATORS:
        for row in csv.reader(io.StringIO(content, newline=""), delimiter=separator):
            yield from row


def formulas_of(content: str) -> list[str]:
    """The cells that a spreadsheet would calculate. A negative number is a number."""
    return [
        each
        for each in cells_of(content)
        if (text := each.strip()) and text[0] in FORMULA and not _is_number(text)
    ]


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


@pytest.mark.parametrize("place", range(3))
def test_no_generated_text_is_a_formula_in_any_column(place: int) -> None:
    for text in TEXTS:
        row = ["ann;", "x", 'b"']
        row[place] = text
        content = table(
            ["one", "two", "three"], [row, [text, text, text], ["x", -1.5, text], [None, text, -2]]
        )
        assert not formulas_of(content), text
        rows = list(csv.reader(io.StringIO(content, newline="")))
        assert [len(each) for each in rows] == [3, 3, 3, 3, 3]


@given(st.lists(st.lists(st.text(FORMULA + SEPARATORS + "'\" a"), min_size=2, max_size=2)))
def test_no_text_by_chance_is_a_formula(rows: list[list[str]]) -> None:
    content = table(["one", "two"], rows)
    assert not formulas_of(content)
    read = list(csv.reader(io.StringIO(content, newline="")))[1:]
    assert read == [[cell(text) for text in row] for row in rows]


def test_plain_texts_and_numbers_stay_as_they_are() -> None:
    content = table(["a", "b"], [["Ann Lee", -2.5], ["a=b; c", "1-2"], ["x, y", 'say "so"']])
    assert content == 'a,b\nAnn Lee,-2.5\n"a=b; c",1-2\n"x, y","say ""so"""\n'


@pytest.mark.parametrize("text", ["a;=cmd|' /C calc'!A0.zip", '=1+1;"@x', "a\t=1", '-b;\n"+c'])
def test_no_table_of_grading_has_a_formula(text: str, sack: LabSpec, tmp_path: Path) -> None:
    """Names of files and people, reasons, flags and notes are a stranger's."""
    case = Case(
        HandIn(tmp_path, text, moodle="17"),
        tmp_path,
        person=Person(text, text, text, canvas=text),
        marks=[AnswerMark("why", text, text, 1.0, "read")],
        notes=[text],
    )
    students = exported_points([case])
    refused = replace(case, refused=text, marks=[])
    flagged = case.flagged(Flag("whose", text, text))
    line = {name: text for name in IntakeLine.__dataclass_fields__ if name != "look"}
    report = DownloadReport([IntakeLine(**line, look=True)])
    for content in (
        grades(sack, [case, refused, flagged]),
        moodle.own_worksheet(sack, students),
        exports.own_gradebook(sack, students),
        report.table(),
    ):
        assert content.count("\n") > 1 and not formulas_of(content)
