"""Thirty texts read by keys: rubric items, comments used again, and all kept at a reload."""

import tomllib
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from labs.definition import catalogue
from labs.definition.assignment import common_mistakes, rubric_items, variant
from labs.definition.key import Key, key_module
from labs.definition.spec import READ_BY_HAND, LabSpec
from labs.grading.case import Case
from labs.grading.decisions import OVERRIDES, Decisions, apply_overrides, read_decisions
from labs.grading.inspection import InspectedHandIn
from labs.grading.intake import HandIn
from labs.grading.marking import Marker
from labs.grading.pages import GradedClass, feedback_page, reading_page
from labs.grading.tables import Person
from tests.analysis.browser import CHROMIUM, NO_CHROMIUM, Page, browser
from tests.labs.conftest import COURSE
from topologies.errors import UsageError

DERIVED = key_module("sack").DERIVED

STUDENTS = 30
SHIFT = 8
MISSING = "You say that it is slow, and not why."
_PROGRESS = "document.getElementById('progress').textContent.trim()"
_POINTS = "[...document.querySelectorAll('.answer .points')].map((each) => each.value)"


def test_the_items_of_every_rubric_earn_all_points() -> None:
    for name in catalogue.names():
        for language in catalogue.languages(catalogue.folder_of(name)):
            for question in catalogue.find(name, language).questions:
                if question.kind not in READ_BY_HAND:
                    continue
                items = rubric_items(question)
                assert items and all(item.text for item in items), (name, question.id)
                assert round(sum(item.points for item in items), 9) == question.points
                mistakes = " ".join(common_mistakes(question))
                assert ("common mistake" in question.rubric) == bool(mistakes)


def class_of(lab: LabSpec, key: Key) -> list[Case]:
    """Return hand-ins that have texts to read, each with other words."""
    cases = []
    for number in range(STUDENTS):
        name = f"student{number:02}"
        given = {"why": [f"In frame {number} SACK names each gap, so I waited {number} s less."]}
        case = Case(HandIn(Path(), name), Path(), InspectedHandIn(student=name, answers=given))
        own, marks = (
            variant(COURSE, lab, name),
            Marker(lab, key, {}, DERIVED, {}, {}).marks(given),
        )
        cases.append(replace(case, variant=own, person=Person(name), marks=marks, digest=name * 3))
    return cases


class KeyReader:
    """A person at the keyboard; `strokes` counts the keys."""

    def __init__(self, page: Page) -> None:
        self.page, self.strokes = page, 0

    def press(self, *keys: str) -> None:
        for key in keys:
            self.strokes += 1
            if key.startswith("Shift+"):
                self.page.key("!", f"Digit{key[-1]}", SHIFT)
            else:
                self.page.key(key, f"Digit{key}" if key.isdecimal() else "")

    def read(self, number: int) -> None:
        """Give items of one text, and every other time the comment about what is missing."""
        if number == 1:
            self.press("1", "2", "c", *MISSING, "Escape")
        elif number % 2:
            self.press("1", "2", "Shift+1")
        else:
            self.press("a")
        self.press("Enter")


def opened(page: Page, text: str, tmp_path: Path) -> None:
    (tmp_path / "reading.html").write_text(text)
    page.open(tmp_path / "reading.html")


def read_all(page: Page, text: str, tmp_path: Path) -> int:
    """Read every text, with a reload in the middle; returns the strokes."""
    opened(page, text, tmp_path)
    reader = KeyReader(page)
    for number in range(STUDENTS):
        if number == STUDENTS // 2:
            opened(page, text, tmp_path)
            assert page.run(_PROGRESS).startswith(f"{number} of {STUDENTS} read")
        reader.read(number)
    return reader.strokes


@pytest.mark.skipif(CHROMIUM is None, reason=NO_CHROMIUM)
def test_thirty_texts_are_read_by_keys(sack: LabSpec, key: Key, tmp_path: Path) -> None:
    cases = class_of(sack, key)
    graded = GradedClass(sack, COURSE, [], cases)
    text = reading_page(graded, {case: case.student for case in cases})
    with browser(tmp_path) as page:
        strokes = read_all(page, text, tmp_path)
        assert page.run(_PROGRESS).startswith(f"{STUDENTS} of {STUDENTS} read")
        assert page.complaints == []
        saved = page.run("overrides()")
    assert (strokes - len(MISSING)) / STUDENTS < 4
    (tmp_path / OVERRIDES).write_text(saved)
    decided = read_decisions(tmp_path, sack)
    assert len(decided.override) == STUDENTS
    assert {line.items for line in decided.override} == {(1, 2), (1, 2, 3, 4)}
    cases = [apply_overrides(case, sack, decided) for case in cases]
    check_feedback(sack, cases, decided)
    with browser(tmp_path / "again") as page:
        graded = replace(graded, cases=cases, decisions=decided)
        again = reading_page(graded, {c: c.student for c in cases})
        opened(page, again, tmp_path)
        assert page.run(_PROGRESS).startswith(f"{STUDENTS} of {STUDENTS} read")
        assert (
            tomllib.loads(page.run("overrides()"))["override"] == tomllib.loads(saved)["override"]
        )


def check_feedback(sack: LabSpec, cases: Sequence[Case], decided: Decisions) -> None:
    """Check that a student reads which items were given, and why points are missing."""
    partly = next(case for case in cases if decided.lines_for(case)["why"].items == (1, 2))
    items = rubric_items(sack.question("why"))
    page = feedback_page(sack, partly)
    assert f"✓ 1 of 1: {items[0].text}" in page and f"✗ 0 of 2: {items[3].text}" in page
    assert MISSING in page
    hidden = feedback_page(sack, replace(partly, key_after="2999-01-01"))
    assert items[0].text in hidden and items[3].text not in hidden


@pytest.mark.skipif(CHROMIUM is None, reason=NO_CHROMIUM)
def test_undo_points_by_hand_and_pseudonyms(sack: LabSpec, key: Key, tmp_path: Path) -> None:
    cases = class_of(sack, key)[:2]
    text = reading_page(GradedClass(sack, COURSE, [], cases), {c: c.student for c in cases})
    with browser(tmp_path) as page:
        opened(page, text, tmp_path)
        reader = KeyReader(page)
        reader.press("1", "4")
        assert page.run(_POINTS) == ["3", ""]
        reader.press("u", "u")
        assert page.run(_POINTS) == ["", ""]
        reader.press("p", "2", ".", "5", "Escape", "j", "0")
        assert page.run(_POINTS) == ["2.5", "0"]
        page.run("document.querySelectorAll('.answer')[1].querySelector('.item').click()")
        assert page.run(_POINTS) == ["2.5", "1"]
        assert "student0" not in page.run("document.body.innerText")
        reader.press("h")
        assert "student01" in page.run("document.body.innerText")


def test_an_item_that_the_rubric_lacks_is_refused(sack: LabSpec, tmp_path: Path) -> None:
    line = '[[override]]\nstudent = "ann"\nquestion = "why"\npoints = 1\nitems = [5]\n'
    (tmp_path / OVERRIDES).write_text(line)
    with pytest.raises(UsageError, match="has 4 items"):
        read_decisions(tmp_path, sack)
