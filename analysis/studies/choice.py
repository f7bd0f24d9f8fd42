"""What is particular to one experiment: its published figures and its written answers.

An experiment without a module here still gets its tables and graphs.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from analysis import draw
from analysis.answers import Answer
from analysis.draw import Picture
from analysis.results import Results
from analysis.studies import (
    cubic_answers,
    cubic_vs_reno,
    packet_dropper,
    plain,
    reordering,
    sack,
    udp_fairness,
)
from analysis.table import Listing, Quantity, Table


@dataclass(frozen=True)
class Study:
    """How an experiment's results become its tables, its pictures and its answers.

    `listings` are tables that only this experiment has; of these and of `pictures` the clearest
    comes first. `short` are the quantities that the terminal shows; the usual ones where it is
    empty.
    """

    table: Callable[[Results], Table]
    answers: Callable[[Results], tuple[Answer, ...]] = lambda _: ()
    listings: Callable[[Results], tuple[Listing, ...]] = lambda _: ()
    pictures: Callable[[Results], list[Picture]] = lambda results: draw.pictures(results)
    short: tuple[Quantity, ...] = ()


_STUDIES = {
    "sack": Study(sack.table, sack.answers),
    "cubic_vs_reno": Study(
        plain.table,
        cubic_answers.all_answers,
        cubic_vs_reno.listings,
        cubic_vs_reno.pictures,
        cubic_vs_reno.SHORT,
    ),
    "udp_fairness": Study(
        plain.table,
        udp_fairness.answers,
        udp_fairness.listings,
        udp_fairness.pictures,
        udp_fairness.SHORT,
    ),
    "reordering": Study(
        plain.table, reordering.answers, reordering.listings, reordering.pictures, reordering.SHORT
    ),
    "packet_dropper": Study(
        plain.table,
        packet_dropper.answers,
        packet_dropper.listings,
        packet_dropper.pictures,
        packet_dropper.SHORT,
    ),
}
_PLAIN = Study(plain.table)


def study_of(results: Results) -> Study:
    """The study of the run's experiment, or the plain one."""
    known = _STUDIES.get(results.run.experiment)
    return (
        _PLAIN
        if known is None or (results.run.experiment == "sack" and not sack.is_sack(results))
        else known
    )
