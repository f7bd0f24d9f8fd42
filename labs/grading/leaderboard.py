"""The leaderboard of a class: a row for each student under a pseudonym.

The course's secret draws the pseudonyms, and only the feedback of a student names one.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import fmean

from labs.definition.assignment import Course, drawn_number
from labs.definition.spec import LabSpec
from labs.grading.case import Case, State, exported_points
from labs.templates.rendering import render

_DIGITS = 3
"""Decimal places of a score; scores that are equal in them tie."""
_FIRST = """
amber brave brisk bright calm clever copper coral crisp daring eager early fair fleet gentle
golden green happy humble indigo ivory jolly keen kind lively lucky mellow merry misty noble
olive patient polite proud quick quiet rapid rosy royal scarlet silent silver sly smart
snowy steady sunny swift tidy violet warm wise witty young
""".split()  # noqa: SIM905
_SECOND = """
badger beaver bison bittern buzzard crane cricket curlew deer dolphin eagle egret falcon
ferret finch fox gecko gull hare hawk hedgehog heron ibex jackdaw kestrel kite lark lemur
linnet lizard lynx magpie marten mole newt ocelot osprey otter owl pelican plover puffin
quail raven robin salmon seal shrew sparrow stoat stork swallow swan tern thrush toad trout
walrus weasel wren
""".split()  # noqa: SIM905


def pseudonyms(course: Course, lab: LabSpec, students: Iterable[str]) -> dict[str, str]:
    """Return a different pseudonym for each student of this lab."""
    names: dict[str, str] = {}
    for student in sorted(set(students)):
        drawn = (_drawn(course, lab, student, attempt) for attempt in itertools.count())
        names[student] = next(name for name in drawn if name not in names.values())
    return names


def _drawn(course: Course, lab: LabSpec, student: str, attempt: int) -> str:
    number = drawn_number(
        course,
        (lab.name, student, "pseudonym", str(attempt)),
        len(_FIRST) * len(_SECOND) * 100,
    )
    pair, digits = divmod(number, 100)
    first, second = divmod(pair, len(_SECOND))
    return f"{_FIRST[first]}-{_SECOND[second]}-{digits:02}"


def draw_pseudonyms(course: Course, lab: LabSpec, cases: Sequence[Case]) -> None:
    """Give each case its student's pseudonym, if the lab has a leaderboard."""
    if lab.leaderboard is None:
        return
    names = pseudonyms(course, lab, (case.student for case in cases))
    for case in cases:
        case.pseudonym = names[case.student]


@dataclass(frozen=True)
class Place:
    """A row: students with equal scores share the rank, and the next rank is left out."""

    rank: int
    pseudonym: str
    score: float


def ranking(lab: LabSpec, cases: Sequence[Case]) -> list[Place]:
    """Return a row for each student whose programs were tested, the largest score first.

    A hand-in that a person has to look at first is left out.
    """
    ranked = exported_points([case for case in cases if _is_ranked(lab, case)])
    scores = {entry.case.pseudonym: _score(lab, entry.case) for entry in ranked}
    ordered = sorted(scores.items(), key=lambda row: (-row[1], row[0]))
    return [
        Place(1 + sum(other > score for other in scores.values()), pseudonym, score)
        for pseudonym, score in ordered
    ]


def _is_ranked(lab: LabSpec, case: Case) -> bool:
    tested = lab.leaderboard is not None and case.tested.get(lab.leaderboard.question)
    return bool(tested) and case.state is State.GRADED


def _score(lab: LabSpec, case: Case) -> float:
    assert lab.leaderboard
    tested = case.tested[lab.leaderboard.question]
    return round(fmean(result.score for result in tested), _DIGITS)


def leaderboard_page(course: Course, lab: LabSpec, cases: Sequence[Case]) -> str:
    """Return the page, which can be published: it names no student."""
    assert lab.leaderboard
    places = ranking(lab, cases)
    context = {
        "lab": lab,
        "course": course,
        "board": lab.leaderboard,
        "needed": next(
            test.text
            for test in lab.question(lab.leaderboard.question).tests
            if test.id == lab.leaderboard.needs
        ),
        "networks": lab.question(lab.leaderboard.question).networks,
        "places": places,
        "most": max((place.score for place in places), default=0.0) or 1.0,
    }
    return render("leaderboard.html", context)
