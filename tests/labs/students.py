"""Every kind of student: the hand-in of the SACK lab, and what the grader should say of it."""

import csv
from pathlib import Path

from tests.labs import dishonest_students, honest_students, hostile_students, spoilt_hand_ins
from tests.labs.student import Kind

POINTS = 10.0
"""Of the questions that the program marks, without the second run and the forecast."""
_MODULES = (honest_students, dishonest_students, hostile_students, spoilt_hand_ins)
_MADE = {name: function for module in _MODULES for name, function in vars(module).items()}


def _kind(row: dict[str, str]) -> Kind:
    """Return the kind of a line of students.csv, whose points are given by what is lost."""
    lost = [float(row[name]) for name in ("lost_most", "lost_least") if row[name]]
    points = (POINTS - lost[0], POINTS - lost[1]) if lost else None
    flags = frozenset(filter(None, row["flags"].split("; ")))
    hand_in, runs = _MADE[row["hand_in"]], row["runs"] != "no"
    return Kind(row["name"], row["state"], hand_in, flags, points, row["said"], runs)


with Path(__file__).with_suffix(".csv").open(newline="", encoding="utf-8") as _file:
    KINDS = tuple(map(_kind, csv.DictReader(_file)))
