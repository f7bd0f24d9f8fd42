"""Comparison of a run with a law of TCP."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from math import isnan

import numpy as np

from analysis.graphs.layers import Axis, Graph, GraphGroup, Layer, SeriesLook, alone
from analysis.measures.expressions import parse
from analysis.measures.results import RunResults, written
from analysis.rendering.colours import BLUE, GREY, VERMILLION
from analysis.reporting.answers import Answer
from analysis.reporting.claims import claim_of_run, claimed_samples
from analysis.reporting.run_graphs import all_graphs
from analysis.reporting.studies import StudyReport
from analysis.reporting.tables import Listing
from analysis.theory.law import Law, LawGraph, LawLine, LawPoint, ratios, verdict_of
from topologies.errors import UsageError


@dataclass(frozen=True)
class LawComparison:
    """Run compared with a law.

    `head` names what a point's name is, and the quantity with its unit; points of one name share a
    row of the table. `graph` is None without a measurement, and `caption` says what to look for.
    `assumptions` are sentences about what the law takes for granted, true of this run.
    """

    law: Law
    points: tuple[LawPoint, ...]
    head: tuple[str, str]
    graph: LawGraph | None
    caption: str
    assumptions: tuple[str, ...] = ()
    more: tuple[Listing, ...] = ()

    @property
    def listing(self) -> Listing:
        """A row for each name: measured, the law, and their ratio."""
        what, quantity = self.head
        names = dict.fromkeys(point.name for point in self.points)
        groups = [[point for point in self.points if point.name == name] for name in names]
        titles = (what, f"{quantity}, measured", "by the law", "measured / law", self.law.allowed)
        return Listing("Measured, and what the law gives", titles, tuple(map(self._row, groups)))

    def _row(self, points: list[LawPoint]) -> tuple[str, ...]:
        kept = sum(map(self.law.admits, points))
        first = points[0]
        if len(points) == 1:
            figures = (written(first.measured), written(first.theory))
            return (first.name, *figures, f"{first.ratio:.3f}", "within" if kept else "outside")
        ends = (f"{len(points)} samples", "")
        return (first.name, *ends, ratios(points), f"{kept} of {len(points)} within")

    @property
    def answers(self) -> tuple[Answer, ...]:
        """Return the statement of the law, and which of its assumptions hold in this run."""
        law = self.law
        stated = Answer(
            "What does the law say, and how near must a run come?",
            (f"{law.formula} ({law.source}).", f"Allowed are {law.allowed}: {law.reason}"),
        )
        held = Answer("What does it take for granted, and does that hold?", self.assumptions)
        return (stated, held) if self.assumptions else (stated,)


def law_report(law: Law, compare: Callable[[RunResults], LawComparison]) -> StudyReport:
    """Return the report of a study whose run `compare` compares with `law`.

    A run that does not say what its path was, or whose samples are broken, cannot be compared.
    """

    def compared(results: RunResults) -> LawComparison:
        try:
            return compare(results)
        except (UsageError, ValueError):
            return LawComparison(law, (), ("", ""), None, "")

    def listings(results: RunResults) -> tuple[Listing, ...]:
        beside = compared(results)
        return (beside.listing, *beside.more) if beside.points else ()

    return StudyReport(
        verdict=lambda results: verdict_of(law, compared(results).points),
        listings=listings,
        graphs=lambda results: _graphs(compared(results)),
        answers=lambda results: compared(results).answers,
    )


def claimed_report(law: Law, caption: str, assumptions: tuple[str, ...] = ()) -> StudyReport:
    """Return the report of a study whose claim expects the law's value of its metric."""

    def compared(results: RunResults) -> LawComparison:
        headline = results.run.spec.headline
        if headline is None:
            raise UsageError("spec.json has no claim.", "Run the experiment again.")
        samples = claimed_samples(results, headline)
        points = tuple(
            LawPoint(f"seed {seed}", seed, value, headline.expected)
            for seed, value in zip(results.run.seeds, samples, strict=True)
            if not isnan(value)
        )
        seeds = [point.x for point in points]
        lines = LawLine("the law", seeds, [point.theory for point in points])
        unit = parse(headline.metric).root.unit
        quantity = f"{headline.what} ({unit})" if unit else headline.what
        graph = LawGraph(
            ("seed", quantity),
            (lines,),
            (seeds, [point.measured for point in points]),
            tolerance=law.tolerance,
        )
        drawn = graph if points else None
        return LawComparison(law, points, ("Seed", quantity), drawn, caption, assumptions)

    report = law_report(law, compared)
    graphs = lambda results: report.graphs(results) + all_graphs(results)  # noqa: E731
    return replace(report, verdict=claim_of_run, graphs=graphs)


def _graphs(compared: LawComparison) -> list[GraphGroup]:
    if compared.graph is None:
        return []
    return [alone(_drawn(compared.graph, compared.caption))]


def _drawn(law: LawGraph, caption: str) -> Graph:
    """Return the formula's lines, the first with its tolerance, and the run's dots."""
    lines = [_line(each, number) for number, each in enumerate(law.lines)]
    band = [_tolerance(law)] if law.tolerance and law.lines else []
    across, up = (np.array(values, dtype=float) for values in law.dots)
    order = np.argsort(across, kind="stable")
    dots = Layer(_DOTS, "dots", across[order], up[order])
    is_log = "y" in law.logarithmic
    return Graph(
        "law",
        "The law, and the run",
        caption,
        Axis(law.labels[0], "", log="x" in law.logarithmic),
        Axis(law.labels[1], "", log=is_log, zero=not is_log),
        (*band, *lines, dots),
        height=400,
    )


_DOTS = SeriesLook("measured", VERMILLION, "circle", every=True)
_LAW = SeriesLook("", BLUE, width=2)
_OTHER = SeriesLook("", GREY, dash=True)


def _line(law: LawLine, number: int) -> Layer:
    look = _OTHER if law.other else _LAW
    across, up = np.array(law.across, dtype=float), np.array(law.up, dtype=float)
    return Layer(look, "line", across, up, words=law.label)


def _tolerance(law: LawGraph) -> Layer:
    """Return the space around the first line."""
    across, up = (np.array(values, float) for values in (law.lines[0].across, law.lines[0].up))
    low, high = up * (1 - law.tolerance), up * (1 + law.tolerance)
    words = f"\N{PLUS-MINUS SIGN} {100 * law.tolerance:g} %"
    return Layer(_LAW, "band", across, low, high, words=words)
