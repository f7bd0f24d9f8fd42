"""Which of several hand-ins of one upload counts.

A hand-in that can be read comes before one that cannot, and one that says that it is the uploader's
own before one that says that it is another's. Among those the newest counts: by Canvas's numbers of
files, or if the download gives times that are further apart than packing takes. If nothing tells
which is newer, all are graded, and a person decides.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field

from labs.definition.course import student_id
from labs.grading.case import Case
from topologies.errors import UsageError

_APART = 60.0
"""Seconds. Moodle gives all files the time of the download
(files/classes/local/archive_writer/zip_writer.php names none), and then the order is that of
packing.
"""


@dataclass
class CountingHandIns:
    """The cases that are graded, and of each other one why it is not."""

    cases: list[Case] = field(default_factory=list)
    left: list[tuple[Case, str]] = field(default_factory=list)


def counting_hand_ins(cases: Sequence[Case]) -> CountingHandIns:
    """Choose in each upload. What is left is named in a flag of what counts."""
    groups: dict[str, list[Case]] = defaultdict(list)
    for number, case in enumerate(cases):
        groups[case.hand_in.upload or f"alone {number}"].append(case)
    counting = CountingHandIns()
    for group in groups.values():
        for cases_of_one in _by_student(group):
            _choose(cases_of_one, counting)
    return counting


def _by_student(group: Sequence[Case]) -> list[list[Case]]:
    """A group's upload may hold its members' hand-ins; what cannot be read then stands alone."""
    students = {case.student for case in group if not case.refused}
    if len(students) <= 1:
        return [list(group)]
    by_student: dict[str, list[Case]] = defaultdict(list)
    for case in group:
        by_student[case.student].append(case)
    return list(by_student.values())


def _choose(group: Sequence[Case], counting: CountingHandIns) -> None:
    best = max(_rank(case) for case in group)
    first, *others = sorted((case for case in group if _rank(case) == best), key=_age, reverse=True)
    settled = [first, *(case for case in others if not _told(first, case))]
    for case in group:
        if not any(case is counting for counting in settled):
            why = _why(case, first)
            counting.left.append((case, f"{why}; what counts is {first.hand_in.label}"))
            first.flag("twice", f"{case.hand_in.label} was uploaded too and is not graded: {why}.")
    counting.cases += settled


def _rank(case: Case) -> tuple[bool, bool]:
    return not case.refused, _own(case)


def _own(case: Case) -> bool:
    """Whether it says that it is of who uploaded it."""
    try:
        return case.person is None or student_id(case.inspected.student) == case.person.id
    except UsageError:
        return False


def _age(case: Case) -> tuple[int, float]:
    return case.hand_in.file, case.hand_in.time


def _told(newer: Case, older: Case) -> bool:
    """Whether the download tells that one is newer."""
    numbers = newer.hand_in.file, older.hand_in.file
    return all(numbers) or newer.hand_in.time - older.hand_in.time >= _APART


def _why(case: Case, first: Case) -> str:
    if case.refused and not first.refused:
        return f"it cannot be read ({case.refused.rstrip('.')})"
    if _own(case) != _own(first):
        return f"it says that it is of {case.inspected.student or 'nobody'}"
    return "it is older"
