"""Two formulas for Reno under loss: the rate of each flow next to them."""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean, median

from analysis.fmt import written
from analysis.measures.results import Measured, RunResults
from analysis.records.json_reader import Problems
from analysis.reporting import laws
from analysis.reporting.formulas import REGULAR, padhye_rate, square_root_rate
from analysis.reporting.tables import Listing
from experiments.study.reports import law, law_texts

LAW = law(__file__)
_EVENTS = ("TcpExtTCPRenoRecovery", "TcpExtTCPSackRecovery", "TcpExtTCPTimeouts")


@dataclass(frozen=True)
class LossyFlow:
    """Input of the formulas for one flow: times in seconds, the rate in segments a second."""

    name: str
    segments: float
    seconds: float
    events: float
    timeouts: float
    round_trip: float
    timeout: float

    @property
    def rate(self) -> float:
        return self.segments / self.seconds

    @property
    def loss(self) -> float:
        return self.events / self.segments

    @property
    def square_root(self) -> float:
        return square_root_rate(self.loss, self.round_trip)


def compare(results: RunResults) -> laws.LawComparison:
    flows = [flow for measured in results.measured for flow in _flows(results, measured)]
    points = tuple(
        laws.LawPoint(
            flow.name,
            100 * flow.loss,
            flow.rate,
            padhye_rate(flow.loss, flow.round_trip, flow.timeout),
        )
        for flow in flows
    )
    head, graph = ("Flow", "Rate (segments/s)"), _graph(flows) if flows else None
    return laws.LawComparison(LAW, points, head, graph, *_texts(flows), (_both(flows),))


def _flows(results: RunResults, measured: Measured) -> list[LossyFlow]:
    counters = measured.trial.files.counters(Problems())
    losses = results.run.spec.parameters.get("losses", "").split("+")
    flows = []
    for at, of_flow in enumerate(measured.flows):
        grown = counters.growth(of_flow.flow.sender)
        events = sum(grown.get(name, 0.0) for name in _EVENTS)
        samples, seconds = laws.samples_of(measured, at), of_flow.number("seconds")
        if not (events and samples and seconds and _EVENTS[-1] in grown):
            continue
        flows.append(
            LossyFlow(
                f"{losses[at]} drawn" if at < len(losses) else of_flow.flow.name,
                grown.get("TcpOutSegs", 0.0),
                seconds,
                events,
                grown.get("TcpExtTCPTimeouts", 0.0),
                fmean(sample.rtt for sample in samples),
                median(sample.timeout for sample in samples),
            )
        )
    return flows


def _graph(flows: Sequence[LossyFlow]) -> laws.LawGraph:
    trip, timeout = (
        fmean(values) for values in zip(*((f.round_trip, f.timeout) for f in flows), strict=True)
    )
    least, most = min(flow.loss for flow in flows) / 1.5, max(flow.loss for flow in flows) * 1.5
    across = [least * (most / least) ** (step / 60) for step in range(61)]
    percent = [100 * loss for loss in across]
    return laws.LawGraph(
        ("loss events for 100 segments sent", "rate (segments/s)"),
        (
            laws.LawLine(
                "Padhye and others", percent, [padhye_rate(p, trip, timeout) for p in across]
            ),
            laws.LawLine(
                "square root law", percent, [square_root_rate(p, trip) for p in across], other=True
            ),
        ),
        ([100 * flow.loss for flow in flows], [flow.rate for flow in flows]),
        logarithmic="xy",
        tolerance=LAW.tolerance,
    )


def _both(flows: Sequence[LossyFlow]) -> Listing:
    head = ("Flow", "Segments", "Loss events", "of which time-outs", "p (%)", "RTT (ms)", "T (ms)")
    laws = ("measured / square root law", "Constant of that law, measured")
    rows = []
    for flow in flows:
        counts = (flow.segments, flow.events, flow.timeouts, 100 * flow.loss)
        times = (1000 * flow.round_trip, 1000 * flow.timeout)
        ratio = flow.rate / flow.square_root
        figures = map(written, (*counts, *times))
        rows.append((flow.name, *figures, f"{ratio:.2f}", f"{REGULAR * ratio:.2f}"))
    notes = (
        "A loss event is a fast recovery or a time-out (TcpExtTCPRenoRecovery, TcpExtTCPTimeouts);"
        f" the square root law says a constant of {REGULAR:.2f} for regular losses, 1.31 for"
        " random ones (Mathis and others, 1997).",
    )
    return Listing("What went into the formulas", (*head, *laws), tuple(rows), notes)


def _texts(flows: Sequence[LossyFlow]) -> tuple[str, tuple[str, ...]]:
    if not flows:
        return "", ()
    square = [laws.LawPoint(flow.name, flow.loss, flow.rate, flow.square_root) for flow in flows]
    most = max(flows, key=lambda flow: flow.loss)
    ratio = most.rate / most.square_root
    values = {"ratios": laws.ratios(square), "loss": 100 * most.loss, "most": most, "ratio": ratio}
    return law_texts(__file__, **values)


REPORT = laws.law_report(LAW, compare)
