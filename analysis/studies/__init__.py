"""What is particular to one experiment: its published figures and its written answers.

An experiment without a module here still gets its tables and graphs.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from analysis.answers import Answer
from analysis.results import Results
from analysis.studies import plain, sack
from analysis.table import Table


@dataclass(frozen=True)
class Study:
    """How an experiment's results become its table and its answers."""

    table: Callable[[Results], Table]
    answers: Callable[[Results], tuple[Answer, ...]]


_STUDIES = {"sack": Study(sack.table, sack.answers)}
_PLAIN = Study(plain.table, lambda _: ())


def study_of(results: Results) -> Study:
    """The study of the run's experiment, or the plain one."""
    known = _STUDIES.get(results.run.experiment)
    return known if known and sack.is_sack(results) else _PLAIN
