"""How even the variants of a lab are: nobody's should be easier than another's.

Each kind of student tries each variant some times, with the same luck in all of them, so that only
the variant makes a difference. Numbers are taken with the widest tolerance that grading knows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from statistics import mean

from labs.grading.marking import MOST_TOLERANCE, Marker
from labs.instructor.kinds_of_students import KINDS_OF_STUDENTS, earned

TRIES = 20
"""Of each kind of student at each variant: the mean of as many says what a variant gives away."""


@dataclass(frozen=True)
class TriedVariant:
    """What a variant gives to whom.

    `points` are the mean in percent of the lab's, by kind of student; `ordered` is the share of
    tries in which they fell from kind to kind: a guess may be lucky. `mix_ups` are known mistakes,
    QUESTION.MISTAKE, that cannot be told from the right answer here, `unanswered` the questions
    that this variant's runs do not answer plausibly.
    """

    points: Mapping[str, float]
    ordered: float
    mix_ups: tuple[str, ...]
    unanswered: tuple[str, ...]

    @property
    def in_order(self) -> bool:
        """Whether the means fall from kind to kind."""
        return falling(list(self.points.values()))


def tried(marker: Marker, tries: int = TRIES) -> TriedVariant:
    """One variant, tried so often by every kind of student."""
    lenient = replace(marker, tolerance={each.id: MOST_TOLERANCE for each in marker.lab.questions})
    points = {
        kind.name: [
            100 * earned(kind, lenient, number) / lenient.lab.points for number in range(tries)
        ]
        for kind in KINDS_OF_STUDENTS
    }
    return TriedVariant(
        {name: mean(row) for name, row in points.items()},
        mean(falling(row) for row in zip(*points.values(), strict=True)),
        tuple(_mix_ups(lenient)),
        tuple(_unanswered(lenient)),
    )


def falling(points: Sequence[float]) -> bool:
    """Whether each has fewer than the one before."""
    return all(before > after for before, after in pairwise(points))


def unevenness(variants: Sequence[TriedVariant]) -> dict[str, float]:
    """By kind of student, how many percent of the points the best variant gives over the worst."""
    return {
        kind.name: max(each.points[kind.name] for each in variants)
        - min(each.points[kind.name] for each in variants)
        for kind in KINDS_OF_STUDENTS
    }


def _mix_ups(marker: Marker) -> list[str]:
    """Known mistakes whose value the marker takes for right."""
    return [
        f"{question.id}.{mistake}"
        for question in marker.lab.questions
        if question.kind == "number"
        for mistake, value in marker.key.mistakes.get(question.id, {}).items()
        if question.id in marker.right({question.id: [f"{value:.6g} {question.unit}".strip()]})
    ]


def _unanswered(marker: Marker) -> list[str]:
    """Questions to which the runs have no answer, or one that the checks call hardly possible."""
    key, names = marker.key, []
    for question in marker.lab.questions:
        if question.kind == "number":
            value = key.numbers.get(question.id)
            holds = value is not None and question.low <= value <= question.high
        elif question.kind == "evidence":
            holds = bool(key.frames.get(question.id))
        else:
            holds = question.kind != "choice" or bool(key.choices.get(question.id))
        if not holds:
            names.append(question.id)
    return names
