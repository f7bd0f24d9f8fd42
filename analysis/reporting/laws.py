"""A law of the literature, a run compared with it, their graph, and the verdict."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from math import isnan
from statistics import median

import numpy as np
from numpy.typing import NDArray

from analysis.fmt import with_unit, written
from analysis.graphs import layers as plots
from analysis.measures.expressions import parse
from analysis.measures.results import Measured, RunResults
from analysis.records.output import SocketSample
from analysis.reporting.answers import Answer, claim_of_run, samples_of_claim
from analysis.reporting.formulas import FilledPath
from analysis.reporting.run_graphs import all_graphs
from analysis.reporting.studies import StudyReport
from analysis.reporting.tables import Listing
from analysis.statistics.claims import ClaimVerdict, ClaimWord
from analysis.statistics.paired_tests import FEWEST
from topologies.errors import UsageError
from topologies.units import Duration, Packets, Rate

MOST_OUTSIDE = 0.05  # the share of points that may lie outside the tolerance of a law that is shown


@dataclass(frozen=True)
class Law:
    """A claim of the literature on `what`, its source, its tolerance (a share) and `reason`."""

    question: str
    what: str
    formula: str
    source: str
    tolerance: float
    reason: str

    @property
    def allowed(self) -> str:
        """The tolerance in words: `± 5 %`."""
        return f"\N{PLUS-MINUS SIGN} {written(100 * self.tolerance)} %"

    def admits(self, point: LawPoint) -> bool:
        return abs(point.ratio - 1) <= self.tolerance


@dataclass(frozen=True)
class LawPoint:
    """The measured value at `x` of the law's graph and the law's value, in one unit."""

    name: str
    x: float
    measured: float
    theory: float

    @property
    def ratio(self) -> float:
        return self.measured / self.theory


def verdict_of(law: Law, points: Sequence[LawPoint]) -> ClaimVerdict:
    """Return the verdict over at least six points: shown if all but one in twenty are within."""
    question, claim = law.question, f"{law.what} is what the law gives, {law.allowed}"
    count = len(points)
    if count < FEWEST:
        several = "one repetition" if count == 1 else f"{count} repetitions"
        sentence = f"{several} cannot show whether {claim}; {FEWEST} can."
        return ClaimVerdict(question, claim, ClaimWord.NOT_SHOWN, sentence, repetitions=count)
    outside = sum(not law.admits(point) for point in points)
    word, beginning = ClaimWord.NOT_SHOWN, f"it is open whether {claim}"
    if outside <= MOST_OUTSIDE * count:
        word, beginning = ClaimWord.SHOWN, claim
    elif outside > count / 2:
        beginning = f"{law.what} is not what the law gives, {law.allowed}"
        word = ClaimWord.CONTRADICTED
    beyond = f", of which {outside} lie outside" if outside else ""
    sentence = f"{beginning}: measured / law is {ratios(points)} over {count} points{beyond}."
    middle = median(point.ratio for point in points)
    return ClaimVerdict(question, claim, word, sentence, estimate=middle, repetitions=count)


def ratios(points: Sequence[LawPoint]) -> str:
    """Measured / law, the median and the range: `1.01 (0.98 to 1.03)`."""
    values = [point.ratio for point in points]
    least, most = f"{min(values):.3f}", f"{max(values):.3f}"
    return f"{median(values):.3f}" + (f" ({least} to {most})" if least != most else "")


@dataclass(frozen=True)
class LawLine:
    """Values of a formula, drawn as a line; an `other` one, which is not claimed, is dotted."""

    label: str
    across: Sequence[float]
    up: Sequence[float]
    other: bool = False


@dataclass(frozen=True)
class LawGraph:
    """Lines, and measured `dots` (across, up); `logarithmic` is "", "x", "y" or "xy"."""

    labels: tuple[str, str]
    lines: tuple[LawLine, ...]
    dots: tuple[Sequence[float], Sequence[float]]
    logarithmic: str = ""
    tolerance: float = 0.0


PAYLOAD = 1448
"""Bytes of data in a full segment: 1500 of IP less 20, 20 of TCP and 12 of its time stamps."""
FRAME, ACK_FRAME = 1514, 66
"""Bytes that a full segment and a lone ACK take on the link: IP's and 14 of Ethernet."""


def path_of(results: RunResults) -> FilledPath:
    """The path that bw, delay and queue ask for, in full segments. Raises UsageError."""
    given = results.run.spec.parameters
    rate = Rate.parse(given.get("bw", "")).base
    delay = Duration.parse(given.get("delay", "")).seconds
    queue = Packets.parse(given.get("queue", "")).base
    trip = 2 * delay + 8 * (FRAME + ACK_FRAME) / rate
    return FilledPath(trip, 8 * FRAME / rate, queue)


def payload_rate(path: FilledPath) -> float:
    """The bytes of data a second that a full link carries."""
    return PAYLOAD / path.serialization


def samples_of(measured: Measured, flow: int = 0) -> Sequence[SocketSample]:
    """The samples of a flow's sender from its first round trip on. Raises ValueError."""
    of_flow = measured.flows[flow]
    kept = of_flow.samples
    if not kept:
        of_host = measured.trial.files.samples(of_flow.flow.sender)
        kept = tuple(of_host.get(str(of_flow.flow.port), ()))
    return [sample for sample in kept if sample.rtt > 0]


def loss_times(samples: Sequence[SocketSample], apart: float) -> list[float]:
    """Return the sampled times of losses: of retransmissions within `apart` seconds the first."""
    sums = pairwise(samples)
    times = [b.time for a, b in sums if b.segments_retrans > a.segments_retrans]
    return [time for at, time in enumerate(times) if not at or time - times[at - 1] > apart]


@dataclass(frozen=True)
class LawComparison:
    """A run compared with a law; points of one name share a row, named by `head`."""

    law: Law
    points: tuple[LawPoint, ...]
    head: tuple[str, str]
    graph: LawGraph | None
    caption: str
    assumptions: tuple[str, ...] = ()
    more: tuple[Listing, ...] = ()

    @property
    def listing(self) -> Listing:
        what, quantity = self.head
        titles = (what, f"{quantity}, measured", "by the law", "measured / law", self.law.allowed)
        rows = []
        for name in dict.fromkeys(point.name for point in self.points):
            points = [point for point in self.points if point.name == name]
            (first, *others), kept = points, sum(map(self.law.admits, points))
            figures = (written(first.measured), written(first.theory))
            row = (name, *figures, f"{first.ratio:.3f}", "within" if kept else "outside")
            if others:
                count = len(points)
                within = f"{kept} of {count} within"
                row = (name, f"{count} samples", "", ratios(points), within)
            rows.append(row)
        return Listing("Measured, and what the law gives", titles, tuple(rows))

    @property
    def answers(self) -> tuple[Answer, ...]:
        law = self.law
        texts = f"{law.formula} ({law.source}).", f"Allowed are {law.allowed}: {law.reason}"
        stated = Answer("What does the law say, and how near must a run come?", texts)
        held = Answer("What does it take for granted, and does that hold?", self.assumptions)
        return (stated, held) if self.assumptions else (stated,)


def law_report(law: Law, compare: Callable[[RunResults], LawComparison]) -> StudyReport:
    """Return the report of a study whose run `compare` compares with `law`, if it can."""

    def compared(results: RunResults) -> LawComparison:
        try:
            return compare(results)
        except (UsageError, ValueError):
            return LawComparison(law, (), ("", ""), None, "")

    def listings(results: RunResults) -> tuple[Listing, ...]:
        found = compared(results)
        return (found.listing, *found.more) if found.points else ()

    def graphs(results: RunResults) -> list[plots.GraphGroup]:
        found = compared(results)
        return [plots.alone(_drawn(found.graph, found.caption))] if found.graph else []

    return StudyReport(
        verdict=lambda results: verdict_of(law, compared(results).points),
        listings=listings,
        graphs=graphs,
        answers=lambda results: compared(results).answers,
    )


def claimed_report(law: Law, assumptions: tuple[str, ...] = ()) -> StudyReport:
    """Return the report of a study whose claim expects the law's value of its metric."""

    def compared(results: RunResults) -> LawComparison:
        headline = results.run.spec.headline
        if headline is None:
            raise UsageError("spec.json has no claim.", "Run the experiment again.")
        samples = samples_of_claim(results, headline, headline.subject)
        points = tuple(
            LawPoint(f"seed {seed}", seed, value, headline.expected)
            for seed, value in zip(results.run.seeds, samples, strict=True)
            if not isnan(value)
        )
        quantity = with_unit(headline.what, parse(headline.metric).root.unit)
        return LawComparison(law, points, ("Seed", quantity), None, "", assumptions)

    report = law_report(law, compared)
    return replace(report, verdict=claim_of_run, graphs=all_graphs)


_DOTS = plots.SeriesLook("measured", plots.VERMILLION, "circle", every=True)
_LAW = plots.SeriesLook("", plots.BLUE, width=2)
_OTHER = plots.SeriesLook("", plots.GREY, dash=True)


def _drawn(law: LawGraph, caption: str) -> plots.Graph:
    lines = [(_floats(each.across), _floats(each.up), each) for each in law.lines]
    layers = [
        plots.Layer(_OTHER if of.other else _LAW, "line", across, up, words=of.label)
        for across, up, of in lines
    ]
    if law.tolerance and lines:
        across, up, _ = lines[0]
        low, high = up * (1 - law.tolerance), up * (1 + law.tolerance)
        words = f"\N{PLUS-MINUS SIGN} {100 * law.tolerance:g} %"
        layers.insert(0, plots.Layer(_LAW, "band", across, low, high, words=words))
    across, up = map(_floats, law.dots)
    order = np.argsort(across, kind="stable")
    layers.append(plots.Layer(_DOTS, "dots", across[order], up[order]))
    is_log = "y" in law.logarithmic
    below = plots.Axis(law.labels[0], "", log="x" in law.logarithmic)
    beside = plots.Axis(law.labels[1], "", log=is_log, zero=not is_log)
    title = "The law, and the run"
    return plots.Graph("law", title, caption, below, beside, tuple(layers), height=400)


def _floats(values: Sequence[float]) -> NDArray[np.float64]:
    return np.array(values, dtype=np.float64)
