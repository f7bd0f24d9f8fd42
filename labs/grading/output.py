"""What grading leaves: tables for people and course systems, a page for each student, for the class and for reading.

Cells of CSV files that a spreadsheet would take for a formula get an apostrophe in front (OWASP, CSV injection).
"""

from __future__ import annotations

import csv
import io
import json
import shutil
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from analysis.pages import write as write_files
from labs.course import Course
from labs.grading import pages
from labs.grading.case import Case
from labs.grading.overrides import ByHand
from labs.grading.received import FILE as INTAKE
from labs.grading.received import Received
from labs.grading.roster import Person
from labs.packing import safe_name
from labs.spec import LabSpec

_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "|", "%")


def write(
    out: Path, lab: LabSpec, course: Course, people: Sequence[Person], cases: Sequence[Case], by_hand: ByHand,
    received: Received,
) -> None:  # fmt: skip
    """Everything but the file of overrides, which belongs to people."""
    names = file_names(cases)
    files: list[tuple[str, str]] = [
        ("grades.csv", _grades(lab, cases)), ("moodle.csv", _moodle(lab, cases)), ("canvas.csv", _canvas(lab, cases)),
        ("report.json", json.dumps([case.described() for case in cases], indent=1) + "\n"),
        ("class.html", pages.class_page(lab, course, people, cases, names, received)),
        (INTAKE, _table(*received.table())),
        ("reading.html", pages.reading_page(lab, cases, names, by_hand)),
    ]  # fmt: skip
    for case in cases:
        name = names[id(case)]
        files.append((f"feedback/{name}.html", pages.feedback_page(lab, case)))
        files.append((f"gradescope/{name}.json", json.dumps(gradescope(lab, case), indent=1) + "\n"))
        _pictures(case, out / "handed-in" / name)
    write_files(out, ((name, text.encode()) for name, text in files), "grade")


def file_names(cases: Sequence[Case]) -> dict[int, str]:
    """A file's name for each case: of its student, with a number where two would be alike."""
    found: dict[int, str] = {}
    for case in cases:
        name = safe_name(case.student)[:60] or "hand-in"
        number = sum(other == name or other.startswith(f"{name}--") for other in found.values())
        found[id(case)] = f"{name}--{number + 1}" if number else name
    return found


def _pictures(case: Case, folder: Path) -> None:
    for name in case.inspected.pictures.values():
        folder.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(case.folder / name, folder / name)


def cell(value: Any) -> str:
    """A cell that no spreadsheet takes for a formula. Numbers stay numbers."""
    if value is None:
        return ""
    if isinstance(value, int | float):
        return f"{value:g}"
    text = " ".join(str(value).split())
    return f"'{text}" if text.startswith(_FORMULA) else text


def _table(heading: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(heading)
    writer.writerows([[cell(value) for value in row] for row in rows])
    return stream.getvalue()


def _grades(lab: LabSpec, cases: Sequence[Case]) -> str:
    heading = ["student", "name", "state", "points", "of", "to_read", "authentic", "flags",
               *(question.id for question in lab.questions), "hand_in", "message"]  # fmt: skip
    return _table(heading, (_row(lab, case) for case in cases))


def _row(lab: LabSpec, case: Case) -> list[Any]:
    marks = {mark.question: mark.points for mark in case.marks}
    authentic = "" if case.refused or not case.authentic else "yes" if all(case.authentic.values()) else "no"
    return [
        case.student, case.person.name if case.person else "", case.state, case.points, lab.points, len(case.open),
        authentic, "; ".join(sorted({flag.kind for flag in case.flags})),
        *(marks.get(question.id) for question in lab.questions), case.hand_in.label, case.refused,
    ]  # fmt: skip


def _moodle(lab: LabSpec, cases: Sequence[Case]) -> str:
    """The columns of Moodle's offline grading worksheet that its upload reads."""
    heading = ["Identifier", "Full name", "Email address", "Grade", "Maximum grade", "Feedback comments"]
    rows = (
        [f"Participant {number}", case.person.name if case.person else "", case.person.email if case.person else "",
         case.points, lab.points, _comment(case)]
        for case in cases if (number := case.hand_in.moodle or (case.person.moodle if case.person else ""))
    )  # fmt: skip
    return _table(heading, rows)


def _canvas(lab: LabSpec, cases: Sequence[Case]) -> str:
    """The columns of Canvas's gradebook import; the second line holds the points possible."""
    heading = ["Student", "ID", "SIS User ID", "SIS Login ID", "Section", lab.title]
    possible = ["    Points Possible", "", "", "", "", lab.points]
    rows = (
        [case.person.name, case.person.canvas or case.hand_in.canvas, case.person.id, case.person.email,
         case.person.section, case.points]
        for case in cases if case.person
    )  # fmt: skip
    return _table(heading, [possible, *rows])


def _comment(case: Case) -> str:
    if case.refused:
        return f"Could not be graded: {case.refused}"
    waiting = f" {len(case.open)} answers are still to be read." if case.open else ""
    return f"{case.points:g} points so far.{waiting}" if waiting else f"{case.points:g} points."


def gradescope(lab: LabSpec, case: Case) -> dict[str, Any]:
    """results.json of a Gradescope autograder. A hand-in that could not be graded has no score of zero: it has none."""
    if case.refused:
        return {"output": f"Could not be graded: {case.refused}", "output_format": "text", "tests": []}
    tests = [
        {"name": lab.question(mark.question).ask, "score": mark.points or 0.0,
         "max_score": lab.question(mark.question).points, "output_format": "text",
         "output": f"You gave: {mark.given or 'nothing'}\n{mark.note}".strip()}
        for mark in case.marks
    ]  # fmt: skip
    return {"score": case.points, "output": _comment(case), "output_format": "text", "tests": tests}
