"""The files that grading writes: tables for people and course systems, and pages.

The files of one hand-in are made in a limited process (labs.measuring.contained), since pages quote
the student. written.json lists all files, so that outdated ones can be removed.
"""

import hashlib
import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from analysis.rendering import write as write_files
from labs.definition.answers import LARGEST_PICTURE, as_json
from labs.definition.spec import LabSpec
from labs.grading import exports as canvas
from labs.grading import log, moodle, pages
from labs.grading.case import Case, exported_points
from labs.grading.intake_report import INTAKE
from labs.grading.opening import Stage, at_once, attempt
from labs.grading.pages import GradedClass, with_pseudonyms
from labs.grading.tables import FilledTable, Person, table
from labs.measuring.contained import contained_as
from labs.student.hand_in import safe_name
from topologies import untrusted


@dataclass(frozen=True)
class CaseFiles:
    feedback: str
    results: str
    report: dict[str, Any]


def files_of(lab: LabSpec, case: Case) -> tuple[Case, CaseFiles]:
    """Return a hand-in with its files. One that cannot be rendered is refused, and they say so."""
    files: list[CaseFiles] = []

    def render(case: Case) -> Case:
        unmeasured = replace(case, runs={}, repeated={})
        files.append(contained_as(CaseFiles, rendered, lab, unmeasured))
        return case

    case = attempt(Stage.RENDER, case, render)
    if not files:
        kept = ("person", "variant", "pseudonym", "digest", "refused")
        bare = Case(case.hand_in, case.folder, **{name: getattr(case, name) for name in kept})
        files.append(rendered(lab, bare))
    return case, files[0]


def rendered(lab: LabSpec, case: Case) -> CaseFiles:
    page, results = pages.feedback_page(lab, case), canvas.results(lab, case)
    return CaseFiles(page, as_json(results), case.described())


WRITTEN = "written.json"
_SHOWN = 5


def remove_stale(folder: Path, written: Mapping[str, str]) -> list[str]:
    """Remove what a former grading wrote into `folder` and this one did not.

    Files that somebody has changed since stay, and so do all others. `written` holds this grading's
    files, by their path inside, with their digests. Returns what was removed. Raises UsageError.
    """
    remedy = "Delete it: then what former gradings wrote stays."
    former = log.former_data(folder / WRITTEN, dict[str, str], {}, remedy)
    gone = []
    for name in (name for name in former if name not in written):
        try:
            is_ours = untrusted.digest(folder, name) == former[name]
        except (OSError, untrusted.StrangeFile):  # it is gone, or is another thing now
            continue
        if is_ours:
            (folder / name).unlink()
            gone.append(name)
            place = (folder / name).parent
            while place != folder and not any(place.iterdir()):
                place.rmdir()
                place = place.parent
    (folder / WRITTEN).write_text(as_json(dict(sorted(written.items()))))
    return gone


@dataclass(frozen=True)
class CourseFiles:
    """Moodle's grading worksheet, and the table of the class or Canvas's gradebook."""

    worksheet: Path | None = None
    roster: Path | None = None


def write(
    out: Path,
    graded_class: GradedClass,
    given: CourseFiles,
    tell: Callable[[str], None] = lambda _sentence: None,
) -> list[str]:
    """Write all files except those of decisions, which belong to people.

    Pages and tables of a former grading without a hand-in are removed. Changed grades are told
    before the former export is written over. Returns further sentences for the instructor.
    """
    # Pages first: the tables name each hand-in that could not be rendered.
    lab, course = graded_class.lab, graded_class.course
    named = with_pseudonyms(course, lab, graded_class.cases)
    files = dict(at_once(lambda case: files_of(lab, case), named))
    graded_class = replace(graded_class, cases=[*files])
    tables = _tables(graded_class, given)
    names = file_names(graded_class.cases)
    exports = {f"gradescope/{names[case]}.json": each.results for case, each in files.items()}
    exports["report.json"] = as_json([each.report for each in files.values()])
    whole = {name: text.encode() for name, text in exports.items()}
    whole |= {name: filled.content for name, filled in tables.items() if filled.content}
    log.add_decisions(out, graded_class.decisions)
    for sentence in log.keep_former(out, graded_class.cases, whole):
        tell(sentence)
    written: dict[str, str] = {}

    def listed() -> Iterator[tuple[str, bytes]]:
        whole_pages = _pages(graded_class, names, files, log.read(out))
        for name, content in itertools.chain(whole.items(), whole_pages):
            written[name] = hashlib.sha256(content).hexdigest()
            yield name, content

    write_files(out, listed(), "grade")
    gone = remove_stale(out, written)
    notices = [sentence for filled in tables.values() for sentence in filled.notices]
    notices += [
        f"There are decisions about '{name}', who has no hand-in."
        for name in graded_class.unknown_students()
    ]
    if gone:
        shown = ", ".join(gone[:_SHOWN]) + (", ..." if len(gone) > _SHOWN else "")
        notices.append(f"Removed {len(gone)} outdated files of a former grading: {shown}.")
    return notices


def _pages(
    graded: GradedClass,
    names: Mapping[Case, str],
    files: Mapping[Case, CaseFiles],
    entries: Sequence[log.LogEntry],
) -> Iterator[tuple[str, bytes]]:
    """Yield pages and pictures one after the other: the pictures of a class are many."""
    yield "class.html", pages.class_page(graded, names, entries).encode()
    yield "reading.html", pages.reading_page(graded, names).encode()
    if graded.lab.leaderboard:
        page = pages.leaderboard_page(graded.course, graded.lab, graded.cases)
        yield "leaderboard.html", page.encode()
    for case, each in files.items():
        yield f"feedback/{names[case]}.html", each.feedback.encode()
        for name in case.inspected.pictures.values():
            content = untrusted.content(case.folder, name, LARGEST_PICTURE)
            yield f"handed-in/{names[case]}/{name}", content


def file_names(cases: Sequence[Case]) -> dict[Case, str]:
    names: dict[Case, str] = {}
    for case in cases:
        name = plain = safe_name(case.student)[:60] or "hand-in"
        numbers = itertools.count(2)
        while name in names.values():
            name = f"{plain}--{next(numbers)}"
        names[case] = name
    return names


def _tables(graded_class: GradedClass, given: CourseFiles) -> dict[str, FilledTable]:
    """Return every table by its name; one that would have no row is empty and not written."""
    lab, cases, absent = graded_class.lab, graded_class.cases, graded_class.absent
    zeros = [case for case in absent if case.final is not None]
    students = exported_points([*cases, *zeros])
    made = {
        "grades.csv": grades(lab, [*cases, *absent]),
        INTAKE: graded_class.report.table(),
        "moodle.csv": "" if given.worksheet else moodle.own_worksheet(lab, students),
        "canvas.csv": canvas.own_gradebook(lab, students),
    }
    tables = {name: FilledTable(text.encode()) for name, text in made.items()}
    if given.worksheet:
        tables["moodle.csv"] = moodle.filled(given.worksheet, lab, students)
    if given.roster and (book := canvas.read_gradebook(given.roster, lab)):
        tables["canvas.csv"] = canvas.matched(book, lab, students)
    return tables


def grades(lab: LabSpec, cases: Sequence[Case]) -> str:
    """Return grades.csv; a question's id may repeat a heading."""
    if not cases:
        return table(["student"], [])
    dated = any(case.late for case in cases)
    heading = ["student", "name", "state", "points", "of", "final", "to_read", "authentic"]
    heading += ["flags", "accepted", *(each.id for each in lab.questions), "hand_in", "message"]
    heading += ["submitted", "late_days", "late_percent"] if dated else []
    return table(heading, [_row(lab, case)[: len(heading)] for case in cases])


def _row(lab: LabSpec, case: Case) -> list[Any]:
    person, late = case.person or Person(""), case.late
    marks = {mark.question: mark.points for mark in case.marks}
    authentic = "yes" if all(case.authentic.values()) else "no"
    row = [case.student, person.name, case.state, case.points, lab.points, case.final]
    row += [len(case.open), authentic if case.authentic and not case.refused else ""]
    row += ["; ".join(sorted({flag.kind for flag in of})) for of in (case.flags, case.accepted)]
    row += [*(marks.get(question.id) for question in lab.questions), case.hand_in.label]
    days = "unknown" if late and late.days is None else late and late.days
    return [*row, case.refused, *((late.submitted, days, late.percent) if late else ("", "", ""))]
