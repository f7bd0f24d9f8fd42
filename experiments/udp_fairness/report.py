"""UDP next to TCP (TCP assignment, 3.2): rates, fairness among TCP flows, answers."""

from collections.abc import Callable, Sequence
from statistics import median

import numpy as np

from analysis.fmt import spread, written
from analysis.graphs.layers import (
    BLUE,
    ORANGE,
    Axis,
    Graph,
    GraphGroup,
    Layer,
    SeriesLook,
    alone,
    named,
)
from analysis.measures.results import RunResults
from analysis.measures.sweep_folder import SweepRecord
from analysis.reporting.answers import called, middle, parameter, side_by_side
from analysis.reporting.effects import Row, SweepEffect, SweptCell, flow_value, over_runs, varied
from analysis.reporting.flows import rates_of_flows, sharing
from analysis.reporting.studies import StudyReport
from analysis.reporting.tables import Listing, Quantities
from analysis.reporting.written_answers import answers_from


def by_queue(sweep: SweepRecord, cells: Sequence[SweptCell]) -> tuple[Listing, ...]:
    rows = tuple(
        (cell.name, *(over_runs(measure, cell.runs) for measure in _COLUMNS.values()))
        for cell in cells
    )
    return (Listing("Figures of each queue", (varied(sweep), *_COLUMNS), rows, Q.notes),)


def _of_tcp(
    choose: Callable[[list[float]], float], scale: float
) -> Callable[[list[Row]], float | None]:
    def measure(rows: list[Row]) -> float | None:
        rates = [row["goodput_kbit_s"] for row in rows if row["flow"].startswith("tcp")]
        return None if not rates or None in rates else scale * choose(rates)

    return measure


_UDP, _TCP = "UDP, received (Mbit/s)", "TCP, sum (Mbit/s)"
_COLUMNS: dict[str, Callable[[list[Row]], float | None]] = {
    "UDP, sent (Mbit/s)": flow_value("client_kbit_s", "udp", 1e-3),
    _UDP: flow_value("goodput_kbit_s", "udp", 1e-3),
    "UDP datagrams lost (%)": flow_value("udp_lost_percent", "udp"),
    "UDP jitter (ms)": flow_value("udp_jitter_ms", "udp"),
    _TCP: flow_value("total_goodput_kbit_s", "tcp", 1e-3),
    "Jain's index of the TCP flows": flow_value("jain_index", "tcp"),
    "Slowest TCP (Mbit/s)": _of_tcp(min, 1e-3),
    "Fastest TCP (Mbit/s)": _of_tcp(max, 1e-3),
}


def effect_by_queue(sweep: SweepRecord, cells: Sequence[SweptCell]) -> SweepEffect | None:
    rates = [
        (cell.name, _median(_COLUMNS[_UDP], cell.runs), _median(_COLUMNS[_TCP], cell.runs))
        for cell in cells
    ]
    known = [(name, udp, tcp) for name, udp, tcp in rates if udp is not None and tcp is not None]
    if len(known) < 2:
        return None
    most, least = max(known, key=lambda rate: rate[1]), min(known, key=lambda rate: rate[1])
    parts = [
        f"{written(udp)} Mbit/s in {name}, where all TCP flows together get {written(tcp)}"
        for name, udp, tcp in (most, least)
    ]
    return SweepEffect(f"UDP receives {parts[0]}, and {parts[1]}.", _rates_by_queue(sweep, known))


def _median(measure: Callable[[list[Row]], float | None], runs: list[list[Row]]) -> float | None:
    values = [value for run in runs if (value := measure(run)) is not None]
    return median(values) if values else None


def _rates_by_queue(sweep: SweepRecord, rates: Sequence[tuple[str, float, float]]) -> GraphGroup:
    names, udp, tcp = zip(*rates, strict=True)
    at = np.arange(len(names), dtype=float)
    layers = (
        Layer(look, "boxes", at + left, np.zeros(len(at)), np.array(values), at + left + 0.36)
        for look, values, left in (
            (SeriesLook("UDP", ORANGE), udp, -0.38),
            (SeriesLook("all TCP flows", BLUE), tcp, 0.02),
        )
    )
    axis = Axis("received rate", "bit/s", 1e6, zero=True)
    caption = "Medians over the seeds, at the receivers."
    across = named(varied(sweep), names)
    title = "UDP and TCP in each queue"
    return alone(Graph("udp_and_tcp", title, caption, across, axis, tuple(layers)))


Q = Quantities(__file__)

EVEN = 1.1
"""Times its even share from which UDP counts as favoured; headers differ by a few percent."""


def listings(results: RunResults) -> tuple[Listing, ...]:
    flows = rates_of_flows(results)
    return (_both(results), *((flows,) if flows else ()))


def _both(results: RunResults) -> Listing:
    columns = Q.group("BOTH")
    queue = parameter(results, "queueing")
    rows = tuple(
        (
            f"{queue}, {called(results, condition)}",
            *(spread(column.of(results, condition)) for column in columns),
        )
        for condition in results.run.conditions
    )
    note = (
        "UDP's figures are those of its server; the jitter is that of RFC 1889 (iperf's server"
        " report)."
    )
    return Listing("UDP and TCP", ("Queue", *(column.title for column in columns)), rows, (note,))


def effect(results: RunResults) -> str:
    if not results.run.conditions:
        return ""
    condition = results.run.conditions[0]
    received, sent, tcp = (middle(results, each, condition) for each in Q.group("RATES"))
    if received is None or sent is None or tcp is None:
        return ""
    flows = len(results.run.flows) - 1
    return (
        f"UDP gets {written(received)} of the {written(sent)} Mbit/s that it sends; {flows} TCP"
        f" flow{'s' if flows > 1 else ''} together get {written(tcp)} Mbit/s."
    )


def graphs(results: RunResults) -> list[GraphGroup]:
    return [group for group in map(sharing, side_by_side(results)) if group]


REPORT = StudyReport(
    answers=answers_from(__file__, vars() | Q),
    listings=listings,
    graphs=graphs,
    short=Q.group("SHORT"),
    effect=effect,
    sweep_listings=by_queue,
    sweep_effect=effect_by_queue,
)
