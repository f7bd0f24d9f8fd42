"""What is particular to one experiment: its published figures and its written answers.

An experiment without a module here still gets its tables and graphs.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from analysis.answers import Answer
from analysis.draw import Picture
from analysis.results import Results
from analysis.studies import plain, sack
from analysis.table import Listing, Quantity, Table


@dataclass(frozen=True)
class Study:
    """How an experiment's results become its tables, its pictures and its answers.

    `listings` and `pictures` are what only this experiment has, the clearest first. `short` are the quantities that the
    terminal shows; the usual ones where it is empty.
    """

    table: Callable[[Results], Table]
    answers: Callable[[Results], tuple[Answer, ...]] = lambda _: ()
    listings: Callable[[Results], tuple[Listing, ...]] = lambda _: ()
    pictures: Callable[[Results], list[Picture]] = lambda _: []
    short: tuple[Quantity, ...] = ()


_STUDIES = {"sack": Study(sack.table, sack.answers)}
_PLAIN = Study(plain.table)


def study_of(results: Results) -> Study:
    """The study of the run's experiment, or the plain one."""
    known = _STUDIES.get(results.run.experiment)
    return _PLAIN if known is None or (results.run.experiment == "sack" and not sack.is_sack(results)) else known
