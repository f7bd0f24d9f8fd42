"""The files that grading writes: tables for people and course systems, and pages.

The files of one hand-in are made in a limited process (labs.measuring.contained), since pages quote
the student. written.json lists all files, so that outdated ones can be removed.
"""

import hashlib
import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from analysis.rendering import write as write_files
from labs.definition.answers import LARGEST_PICTURE, as_json
from labs.definition.spec import LabSpec
from labs.grading import exports as exports_module
from labs.grading import log, moodle, pages
from labs.grading.case import Case, Flag, exported_points
from labs.grading.intake_report import INTAKE
from labs.grading.opening import Stage, at_once, attempt
from labs.grading.pages import GradedClass, leaderboard_page, with_pseudonyms
from labs.grading.tables import FilledTable, table
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
    if files:
        return case, files[0]
    kept = ("person", "variant", "pseudonym", "digest", "refused")
    bare = Case(case.hand_in, case.folder, **{name: getattr(case, name) for name in kept})
    return case, rendered(lab, bare)


def rendered(lab: LabSpec, case: Case) -> CaseFiles:
    """Return the files of a hand-in, in a process of its own."""
    page, results = pages.feedback_page(lab, case), exports_module.results(lab, case)
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
    stale = {name: digest for name, digest in former.items() if name not in written}
    gone = [name for name, digest in stale.items() if _is_ours(folder, name, digest)]
    for name in gone:
        (folder / name).unlink()
        _tidy(folder, (folder / name).parent)
    (folder / WRITTEN).write_text(as_json(dict(sorted(written.items()))))
    return gone


def _is_ours(folder: Path, name: str, digest: str) -> bool:
    try:
        return untrusted.digest(folder, name) == digest
    except (OSError, untrusted.StrangeFile):
        return False


def _tidy(folder: Path, place: Path) -> None:
    if place != folder and not any(place.iterdir()):
        place.rmdir()
        _tidy(folder, place.parent)


@dataclass(frozen=True)
class CourseFiles:
    """Moodle's grading worksheet, and the table of the class or Canvas's gradebook."""

    worksheet: Path | None = None
    roster: Path | None = None


def check_given(given: CourseFiles, lab: LabSpec) -> None:
    """Raises UsageError for files of course systems that could not be filled at the end."""
    if given.worksheet:
        moodle.read_worksheet(given.worksheet)
    if given.roster:
        exports_module.read_gradebook(given.roster, lab)


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
    rendered = dict(at_once(lambda case: files_of(lab, case), named))
    graded_class = replace(graded_class, cases=[*rendered])
    tables = _tables(graded_class, given)
    names = file_names(graded_class.cases)
    exports = {f"gradescope/{names[case]}.json": each.results for case, each in rendered.items()}
    exports["report.json"] = as_json([each.report for each in rendered.values()])
    whole = {name: text.encode() for name, text in exports.items()}
    whole |= {name: filled.content for name, filled in tables.items() if filled.content}
    log.add_decisions(out, graded_class.overrides, graded_class.acceptances)
    for sentence in log.keep_former(out, graded_class.cases, whole):
        tell(sentence)
    written: dict[str, str] = {}
    files = itertools.chain(whole.items(), _pages(graded_class, names, rendered, log.read(out)))
    write_files(out, _listed(files, written), "grade")
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
    rendered: Mapping[Case, CaseFiles],
    entries: Sequence[log.LogEntry],
) -> Iterator[tuple[str, bytes]]:
    """Yield pages and pictures one after the other: the pictures of a class are many."""
    yield "class.html", pages.class_page(graded, names, entries).encode()
    yield "reading.html", pages.reading_page(graded, names).encode()
    if graded.lab.leaderboard:
        page = leaderboard_page(graded.course, graded.lab, graded.cases)
        yield "leaderboard.html", page.encode()
    for case, each in rendered.items():
        yield f"feedback/{names[case]}.html", each.feedback.encode()
    for case in graded.cases:
        for name in case.inspected.pictures.values():
            content = untrusted.content(case.folder, name, LARGEST_PICTURE)
            yield f"handed-in/{names[case]}/{name}", content


def _listed(
    files: Iterable[tuple[str, bytes]], written: dict[str, str]
) -> Iterator[tuple[str, bytes]]:
    for name, content in files:
        written[name] = hashlib.sha256(content).hexdigest()
        yield name, content


def file_names(cases: Sequence[Case]) -> dict[Case, str]:
    """Return a file's name for each case: its student's, with a number if two would be alike."""
    names: dict[Case, str] = {}
    for case in cases:
        plain = safe_name(case.student)[:60] or "hand-in"
        numbered = (f"{plain}--{number}" for number in itertools.count(2))
        possible, taken = itertools.chain([plain], numbered), {*names.values()}
        names[case] = next(each for each in possible if each not in taken)
    return names


def _tables(graded_class: GradedClass, given: CourseFiles) -> dict[str, FilledTable]:
    """Return every table by its name; one that would have no row is empty and not written."""
    lab, cases, absent = graded_class.lab, graded_class.cases, graded_class.absent
    zeros = [case for case in absent if case.final is not None]
    students = exported_points([*cases, *zeros])
    made = {
        "grades.csv": grades(lab, [*cases, *absent]),
        INTAKE: table(*graded_class.report.table()),
        "moodle.csv": "" if given.worksheet else moodle.own_worksheet(lab, students),
        "canvas.csv": exports_module.own_gradebook(lab, students),
    }
    tables = {name: FilledTable(text.encode()) for name, text in made.items()}
    if given.worksheet:
        tables["moodle.csv"] = moodle.filled(given.worksheet, lab, students)
    if given.roster and (book := exports_module.read_gradebook(given.roster, lab)):
        tables["canvas.csv"] = exports_module.matched(book, lab, students)
    return tables


def grades(lab: LabSpec, cases: Sequence[Case]) -> str:
    dated = any(case.late for case in cases)
    rows = [[*_row(lab, case), *(_lateness(case) if dated else ())] for case in cases]
    heading = [name for name, _ in rows[0]] if rows else ["student"]
    return table(heading, [[value for _, value in row] for row in rows])


def _row(lab: LabSpec, case: Case) -> list[tuple[str, Any]]:
    """Return each column's heading and value; a question's id may repeat a heading."""
    marks = {mark.question: mark.points for mark in case.marks}
    authentic = "yes" if all(case.authentic.values()) else "no"
    return [
        ("student", case.student),
        ("name", case.person.name if case.person else ""),
        ("state", case.state),
        ("points", case.points),
        ("of", lab.points),
        ("final", case.final),
        ("to_read", len(case.open)),
        ("authentic", authentic if case.authentic and not case.refused else ""),
        ("flags", _kinds(case.flags)),
        ("accepted", _kinds(case.accepted)),
        *((question.id, marks.get(question.id)) for question in lab.questions),
        ("hand_in", case.hand_in.label),
        ("message", case.refused),
    ]


def _lateness(case: Case) -> list[tuple[str, Any]]:
    late = case.late
    return [
        ("submitted", late.submitted if late else ""),
        ("late_days", ("unknown" if late.days is None else late.days) if late else ""),
        ("late_percent", late.percent if late else ""),
    ]


def _kinds(flags: Sequence[Flag]) -> str:
    return "; ".join(sorted({flag.kind for flag in flags}))
