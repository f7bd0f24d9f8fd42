"""What is particular to one experiment: its published figures and its written answers.

An experiment without a module here still gets its tables and graphs.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from analysis.measures.run_results import RunResults
from analysis.reporting import plain_table, run_pictures
from analysis.reporting.answers import Answer
from analysis.reporting.run_pictures import Picture
from analysis.reporting.tables import Listing, ReportQuantity, ReportTable
from experiments.cubic_vs_reno import cubic_answers
from experiments.cubic_vs_reno import report as cubic_vs_reno
from experiments.packet_dropper import report as packet_dropper
from experiments.reordering import report as reordering
from experiments.sack import report as sack
from experiments.udp_fairness import report as udp_fairness


@dataclass(frozen=True)
class StudyReport:
    """How an experiment's results become its tables, its pictures and its answers.

    `listings` are tables that only this experiment has; of these and of `pictures` the clearest
    comes first. `short` are the quantities that the terminal shows; the usual ones where it is
    empty.
    """

    table: Callable[[RunResults], ReportTable]
    answers: Callable[[RunResults], tuple[Answer, ...]] = lambda _: ()
    listings: Callable[[RunResults], tuple[Listing, ...]] = lambda _: ()
    pictures: Callable[[RunResults], list[Picture]] = lambda results: run_pictures.pictures(results)
    short: tuple[ReportQuantity, ...] = ()


_STUDIES = {
    "sack": StudyReport(sack.table, sack.answers),
    "cubic_vs_reno": StudyReport(
        plain_table.table,
        cubic_answers.all_answers,
        cubic_vs_reno.listings,
        cubic_vs_reno.pictures,
        cubic_vs_reno.SHORT,
    ),
    "udp_fairness": StudyReport(
        plain_table.table,
        udp_fairness.answers,
        udp_fairness.listings,
        udp_fairness.pictures,
        udp_fairness.SHORT,
    ),
    "reordering": StudyReport(
        plain_table.table,
        reordering.answers,
        reordering.listings,
        reordering.pictures,
        reordering.SHORT,
    ),
    "packet_dropper": StudyReport(
        plain_table.table,
        packet_dropper.answers,
        packet_dropper.listings,
        packet_dropper.pictures,
        packet_dropper.SHORT,
    ),
}
_PLAIN = StudyReport(plain_table.table)


def study_of(results: RunResults) -> StudyReport:
    """The study of the run's experiment, or the plain one."""
    known = _STUDIES.get(results.run.experiment)
    return (
        _PLAIN
        if known is None or (results.run.experiment == "sack" and not sack.is_sack(results))
        else known
    )
