"""How long a student works on a lab: reading, and thinking about each question.

Runs take seconds, which `lab preview` measures. The rest is computed and not observed: no
class has confirmed the minutes of a point.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from labs.definition.lab_spec import LabSpec
from labs.definition.question import Kind, Question

WORDS_A_MINUTE = 200
"""Of prose that is read with care; 238 is the mean of adults in English (Brysbaert 2019)."""
MINUTES: Mapping[Kind, float] = {
    "prediction": 0.5,
    "number": 1.0,
    "evidence": 1.0,
    "choice": 0.75,
    "choices": 1.0,
    "design": 1.0,
    "text": 1.5,
    "graph": 2.0,
    "module": 6.0,
    "script": 2.0,
}
"""For each point of a question by its kind: a guess, since points are given for thinking."""
CALCULATED = 0.75
"""The same for a number that follows from earlier answers."""
FAR = 0.2
"""Share of the computed time by which the time that a lab states may differ."""
_SPOKEN = re.compile(r"[^\W\d_]+")


@dataclass(frozen=True)
class WorkingTime:
    """Minutes of each part."""

    reading: float
    questions: float

    @property
    def total(self) -> float:
        return self.reading + self.questions

    def is_far_from(self, stated: float) -> bool:
        """Whether the minutes that a lab states are others."""
        return abs(stated - self.total) > FAR * self.total


def working_time(lab: LabSpec, handout: str) -> WorkingTime:
    """For a lab with this handout."""
    words = len(_SPOKEN.findall(handout))
    return WorkingTime(words / WORDS_A_MINUTE, sum(map(_minutes, lab.questions)))


def _minutes(question: Question) -> float:
    return question.points * (CALCULATED if question.follows else MINUTES[question.kind])
