"""Which of several hand-ins of one upload counts.

A hand-in that can be read comes before one that cannot, and one that says that it is the uploader's
own before one that says that it is another's. Among those the newest counts: by Canvas's numbers of
files, or by the times in the download if they are further apart than packing takes. If nothing
tells which is newer, all are graded, and a person decides.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field

from labs.definition.course import student_id
from labs.grading.case import Case
from topologies.foundation.errors import UsageError

_APART = 60.0
"""Seconds. Moodle gives all files the time of the download
(files/classes/local/archive_writer/zip_writer.php names none), and then the order is that of
packing.
"""


@dataclass
class CountingHandIns:
    """The cases that are graded, and the others, each with the reason why it is not."""

    cases: list[Case] = field(default_factory=list)
    superseded: list[tuple[Case, str]] = field(default_factory=list)


def counting_hand_ins(cases: Sequence[Case]) -> CountingHandIns:
    """Choose in each upload; flags of the hand-in that counts name the others."""
    groups: dict[str, list[Case]] = defaultdict(list)
    for number, case in enumerate(cases):
        groups[case.hand_in.upload or f"alone {number}"].append(case)
    counting = CountingHandIns()
    for group in groups.values():
        for cases_of_student in _by_student(group):
            _choose(cases_of_student, counting)
    return counting


def _by_student(group: Sequence[Case]) -> list[list[Case]]:
    """The cases of each student; a hand-in of a group that cannot be read stands alone."""
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
    settled = [first, *(case for case in others if not _is_known_newer(first, case))]
    for case in group:
        if not any(case is counted for counted in settled):
            reason = _reason(case, first)
            counting.superseded.append((case, f"{reason}; what counts is {first.hand_in.label}"))
            first.flag(
                "twice", f"{case.hand_in.label} was uploaded too and is not graded: {reason}."
            )
    counting.cases += settled


def _rank(case: Case) -> tuple[bool, bool]:
    return not case.refused, _is_own(case)


def _is_own(case: Case) -> bool:
    """Whether the hand-in says that it is its uploader's own."""
    try:
        return case.person is None or student_id(case.inspected.student) == case.person.id
    except UsageError:
        return False


def _age(case: Case) -> tuple[int, float]:
    return case.hand_in.file, case.hand_in.time


def _is_known_newer(newer: Case, older: Case) -> bool:
    """Whether the download tells that one is newer."""
    numbers = newer.hand_in.file, older.hand_in.file
    return all(numbers) or newer.hand_in.time - older.hand_in.time >= _APART


def _reason(case: Case, first: Case) -> str:
    if case.refused and not first.refused:
        return f"it cannot be read ({case.refused.rstrip('.')})"
    if _is_own(case) != _is_own(first):
        return f"it says that it is of {case.inspected.student or 'nobody'}"
    return "it is older"
