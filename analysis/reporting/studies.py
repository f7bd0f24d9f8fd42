"""Report of a study: its table, answers, listings and graphs.

A study has it as `REPORT` of its module `report`. An experiment without one gets the usual tables
and graphs."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from analysis.graphs.layers import GraphGroup
from analysis.measures.results import RunResults
from analysis.reporting import run_graphs
from analysis.reporting.answers import Answer
from analysis.reporting.claims import claim_of_run
from analysis.reporting.plain import plain_answers, plain_table
from analysis.reporting.tables import Listing, ReportQuantity, ReportTable
from analysis.statistics.claims import ClaimVerdict

if TYPE_CHECKING:
    from analysis.measures.sweep_folder import SweepRecord
    from analysis.records.run_directory import RunRecord
    from analysis.reporting.sweeps import MakeEffect, MakeListings, SweepStudy
    from analysis.statistics.sweep_samples import SweepSamples


@dataclass(frozen=True)
class StudyReport:
    """Functions from an experiment's results to its tables, graphs and answers.

    `verdict` is that of the claim, which by default is the headline of the spec; None if there is
    no claim (analysis.statistics.claims has the ways to judge one).
    `listings` are tables that only this experiment has; of these and of `graphs` the clearest
    comes first. `effect` is a sentence that leads the page; if it is empty, the page finds one.
    `short` are the quantities that the terminal shows; the usual ones if it is empty.
    `extra_files` are names and contents that lie next to the report.

    The last three are for a sweep's page: tables of the experiment's own, from the runs of each
    cell of the grid; its effect; and what the page has if the sweep is the study itself (None if
    it is not).
    """

    verdict: Callable[[RunResults], ClaimVerdict | None] = claim_of_run
    table: Callable[[RunResults], ReportTable] = plain_table
    answers: Callable[[RunResults], tuple[Answer, ...]] = plain_answers
    listings: Callable[[RunResults], tuple[Listing, ...]] = lambda _: ()
    graphs: Callable[[RunResults], list[GraphGroup]] = run_graphs.all_graphs
    short: tuple[ReportQuantity, ...] = ()
    effect: Callable[[RunResults], str] = lambda _: ""
    extra_files: Callable[[RunRecord], Iterable[tuple[str, bytes]]] = lambda _: ()
    sweep_listings: MakeListings | None = None
    sweep_effect: MakeEffect | None = None
    sweep_study: Callable[[SweepRecord, SweepSamples], SweepStudy | None] = lambda *_: None


ReportOf = Callable[[str], StudyReport]
"""Returns the report of the study of a name: who starts the analysis passes it in."""


def plain(_experiment: str) -> StudyReport:
    """Return the report of an experiment without tables or answers of its study."""
    return StudyReport()
