"""The pages of a class: feedback, the whole class, what a person is to read, the leaderboard.

The course's secret draws the leaderboard's pseudonyms, and only the feedback of a student names
one.
"""

import itertools
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from statistics import fmean
from typing import Any

from labs.definition.assignment import Course, common_mistakes, drawn_number, rubric_items
from labs.definition.runs import MODULE
from labs.definition.spec import LabSpec, Question
from labs.grading.case import AnswerMark, Case, Verdict, exported_points
from labs.grading.decisions import REST, Decisions, Override
from labs.grading.intake import HandIn
from labs.grading.intake_report import DownloadReport
from labs.grading.log import LogEntry
from labs.grading.shared_work import similar_sentences
from labs.grading.tables import Person
from labs.templates.rendering import page_with_script, render
from topologies import untrusted
from topologies.data import to_data
from topologies.notation import toml_file

_DIGITS = 3  # decimal places of a score; scores that are equal in them tie
_WORDS = toml_file(Path(__file__).with_name("pseudonyms.toml"))
_FIRST, _SECOND = (_WORDS[name].split() for name in ("first", "second"))


def pseudonyms(course: Course, lab: LabSpec, students: Iterable[str]) -> dict[str, str]:
    names: dict[str, str] = {}
    possible = len(_FIRST) * len(_SECOND) * 100
    for student in sorted(set(students)):
        for attempt in itertools.count():
            drawn = lab.name, student, "pseudonym", str(attempt)
            pair, digits = divmod(drawn_number(course, drawn, possible), 100)
            first, second = divmod(pair, len(_SECOND))
            name = f"{_FIRST[first]}-{_SECOND[second]}-{digits:02}"
            if name not in names.values():
                names[student] = name
                break
    return names


def with_pseudonyms(course: Course, lab: LabSpec, cases: Sequence[Case]) -> Sequence[Case]:
    if lab.leaderboard is None:
        return cases
    names = pseudonyms(course, lab, (case.student for case in cases))
    return [replace(case, pseudonym=names[case.student]) for case in cases]


@dataclass(frozen=True)
class Place:
    """A row: students with equal scores share the rank, and the next rank is left out."""

    rank: int
    pseudonym: str
    score: float


def ranking(lab: LabSpec, cases: Sequence[Case]) -> list[Place]:
    """Return a row for each student whose programs were tested, the largest score first."""
    name = lab.leaderboard.question if lab.leaderboard else ""
    tested = (case for case in cases if case.tested.get(name) and case.state == "graded")
    scores = {
        entry.case.pseudonym: round(fmean(each.score for each in entry.case.tested[name]), _DIGITS)
        for entry in exported_points([*tested])
    }
    return [
        Place(1 + sum(other > score for other in scores.values()), pseudonym, score)
        for pseudonym, score in sorted(scores.items(), key=lambda row: (-row[1], row[0]))
    ]


def leaderboard_page(course: Course, lab: LabSpec, cases: Sequence[Case]) -> str:
    """Return the page, which can be published: it names no student."""
    assert lab.leaderboard
    places, question = ranking(lab, cases), lab.question(lab.leaderboard.question)
    needed = next(test.text for test in question.tests if test.id == lab.leaderboard.needs)
    context = {
        "lab": lab,
        "course": course,
        "board": lab.leaderboard,
        "needed": needed,
        "networks": question.networks,
        "places": places,
        "most": max((place.score for place in places), default=0.0) or 1.0,
    }
    return render("leaderboard.html", context)


@dataclass(frozen=True)
class GradedClass:
    lab: LabSpec
    course: Course
    people: Sequence[Person]
    cases: Sequence[Case]
    decisions: Decisions = field(default_factory=Decisions)
    report: DownloadReport = field(default_factory=DownloadReport)

    @cached_property
    def absent(self) -> list[Case]:
        """Students without a hand-in; zeros wait while the owner of a hand-in is unknown."""
        handed_in = {case.student for case in self.cases}
        owners_known = all(case.person or case.variant for case in self.cases)
        zero = AnswerMark(REST, "", "", 0.0, Verdict.EMPTY, "There is no hand-in.")
        marks = (zero,) if self.course.zero_if_missing and owners_known else ()
        return [
            Case(HandIn(Path(), ""), Path(), person=each, marks=marks, absent=True)
            for each in self.people
            if each.id not in handed_in
        ]

    def unknown_students(self) -> list[str]:
        names = {line.student for line in self.decisions.override}
        names |= {line.student for line in self.decisions.accept}
        return sorted(name for name in names if not any(case.is_of(name) for case in self.cases))


_LONGEST_SOURCE = 64 * 1024  # characters on the page
_WIDELY = 0.2  # of a class
_LATEST = 100  # entries of the log


def feedback_page(lab: LabSpec, case: Case) -> str:
    """Return a student's page: questions, answers, the run's values, their sources, points."""
    if case.key_after:  # it says what is wrong about an answer, and no right one
        said = "A number of a run in real time lies outside of repeated runs."
        flags = [replace(flag, text=said) if flag.kind == "band" else flag for flag in case.flags]
        marks = [replace(mark, expected="") for mark in case.marks]
        case = replace(case, marks=marks, flags=flags, bands={})
    pairs = [(_asked(lab, mark), mark) for mark in case.marks]
    verdicts = {verdict: verdict.words for verdict in Verdict}
    context = {"lab": lab, "case": case, "pairs": pairs, "verdicts": verdicts}
    return render("feedback.html", context)


def _asked(lab: LabSpec, mark: AnswerMark) -> dict[str, Any]:
    if mark.question == REST:
        left = {"ask": "Everything else", "points": "what was left", "rubric": ()}
        return left | {"how": "", "kind": "number", "id": REST}
    question, given = lab.question(mark.question), mark.items or ()
    items = rubric_items(question) if mark.items is not None else ()
    rubric = [(item, number in given) for number, item in enumerate(items, 1)]
    return vars(question) | {"rubric": rubric}


def class_page(
    graded_class: GradedClass, names: Mapping[Case, str], entries: Sequence[LogEntry] = ()
) -> str:
    lab, cases, absent = graded_class.lab, graded_class.cases, graded_class.absent
    return render(
        "class.html",
        {
            "lab": lab,
            "course": graded_class.course,
            "cases": cases,
            "rows": sorted([*cases, *absent], key=lambda case: case.student),
            "names": names,
            "states": Counter(case.state for case in cases),
            "points": _points(lab, cases),
            "questions": [_question(question, cases) for question in lab.questions],
            "looks": [(case, flag) for case in cases for flag in case.flags],
            "misunderstood": list(_misunderstood(lab, cases)),
            "open": sum(len(case.open) for case in cases),
            "missing": [case.student for case in absent],
            "refused": [case for case in cases if case.refused],
            "finals": {entry.case: entry.points for entry in exported_points([*cases, *absent])},
            "banded": [case for case in cases if case.bands],
            "received": graded_class.report,
            "dated": any(case.late for case in cases),
            "log": entries[::-1][:_LATEST],
            "logged": len(entries),
        },
    )


def _points(lab: LabSpec, cases: Sequence[Case]) -> list[tuple[str, int]]:
    tenths = Counter(
        min(9, int(10 * case.points / lab.points)) for case in cases if case.points is not None
    )
    return [(f"{10 * tenth} to {10 * tenth + 10} %", tenths[tenth]) for tenth in range(10)]


def _marks(question: Question, cases: Sequence[Case]) -> Iterator[AnswerMark]:
    return (mark for case in cases for mark in case.marks if mark.question == question.id)


def _question(question: Question, cases: Sequence[Case]) -> dict[str, Any]:
    verdicts = Counter(mark.verdict for mark in _marks(question, cases))
    total = sum(verdicts.values()) or 1
    shares = [
        {"verdict": each.words, "count": count, "share": 100 * count / total, "kind": each.share}
        for each in Verdict
        if (count := verdicts[each])
    ]
    return {"question": question, "shares": shares}


def _misunderstood(lab: LabSpec, cases: Sequence[Case]) -> list[dict[str, Any]]:
    """Known mix-ups and factors that a fifth of those who answered share, most frequent first."""
    found = []
    for question in lab.questions:
        marks = [mark for mark in _marks(question, cases) if mark.given]
        for mistake, count in Counter(mark.mistake for mark in marks if mark.mistake).items():
            if count >= 2 and count >= _WIDELY * len(marks):
                note = next(mark.note for mark in marks if mark.mistake == mistake)
                found.append({"question": question, "note": note, "count": count, "of": len(marks)})
    return sorted(found, key=lambda mix_up: -mix_up["count"])


def reading_page(graded_class: GradedClass, names: Mapping[Case, str]) -> str:
    """Return the page of open decisions, with fields that make lines for the files of decisions."""
    lab, cases = graded_class.lab, graded_class.cases
    aliases = pseudonyms(graded_class.course, lab, (case.student for case in cases))
    # The order of pseudonyms, so that no student is always the first to be read.
    in_order = sorted(cases, key=lambda case: aliases[case.student])
    rubrics = {question.id: rubric_items(question) for question in lab.questions}
    queue = []
    for each in lab.questions:
        if answers := _to_read(each, in_order, graded_class, names):
            texts = {case.student: mark.given for case, mark, *_ in answers}
            model = f"{each.ask}\n{each.how}"
            alike = similar_sentences(texts, model) if each.kind == "text" else []
            queue.append((each, rubrics[each.id], common_mistakes(each), answers, alike))
    context = {
        "lab": lab,
        "names": names,
        "aliases": aliases,
        "rubrics": rubrics,
        "queue": queue,
        "looks": [case for case in cases if case.state == "look"],
        "refused": [case for case in cases if case.refused],
        "rest": REST,
        "decided": to_data(graded_class.decisions),
    }
    return page_with_script("reading.html", "reading.js", context)


AnswerToRead = tuple[Case, AnswerMark, Override | None, str, str]
"""An answer with the line that decides it, its picture and its source."""


def _to_read(
    question: Question, cases: Sequence[Case], graded: GradedClass, names: Mapping[Case, str]
) -> list[AnswerToRead]:
    found: list[AnswerToRead] = []
    for case in cases:
        line = graded.decisions.lines_for(case).get(question.id)
        for mark in case.marks if not case.refused else ():
            read = line is not None and mark.verdict is Verdict.BY_HAND and bool(mark.given)
            if mark.question == question.id and (mark.points is None or read):
                picture = case.inspected.pictures.get(question.id, "")
                path = f"handed-in/{names[case]}/{picture}" if picture else ""
                found.append((case, mark, line if read else None, path, _source(question, case)))
    return found


def _source(question: Question, case: Case) -> str:
    if question.kind == "module":
        return untrusted.text_if_any(case.folder, MODULE)[:_LONGEST_SOURCE]
    script = case.scripts.get(question.id)
    return script.text[:_LONGEST_SOURCE] if script else ""
