"""UDP next to TCP (TCP assignment, 3.2): rates, fairness among TCP flows, answers."""

from collections.abc import Callable, Sequence
from operator import itemgetter
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
from analysis.reporting.studies import StudyReport, answers_from
from analysis.reporting.tables import Listing, Quantities


def by_queue(sweep: SweepRecord, cells: Sequence[SweptCell]) -> tuple[Listing, ...]:
    rows = tuple(
        (cell.name, *(over_runs(measure, cell.runs) for measure in _COLUMNS.values()))
        for cell in cells
    )
    return (Listing("Figures of each queue", (varied(sweep), *_COLUMNS), rows, Q.notes),)


def _of_tcp(choose: Callable[[list[float]], float]) -> Callable[[list[Row]], float | None]:
    def measure(rows: list[Row]) -> float | None:
        rates = [row["goodput_kbit_s"] for row in rows if row["flow"].startswith("tcp")]
        return None if not rates or None in rates else 1e-3 * choose(rates)

    return measure


_UDP, _TCP = "UDP, received (Mbit/s)", "TCP, sum (Mbit/s)"
_COLUMNS: dict[str, Callable[[list[Row]], float | None]] = {
    "UDP, sent (Mbit/s)": flow_value("client_kbit_s", "udp", 1e-3),
    _UDP: flow_value("goodput_kbit_s", "udp", 1e-3),
    "UDP datagrams lost (%)": flow_value("udp_lost_percent", "udp"),
    "UDP jitter (ms)": flow_value("udp_jitter_ms", "udp"),
    _TCP: flow_value("total_goodput_kbit_s", "tcp", 1e-3),
    "Jain's index of the TCP flows": flow_value("jain_index", "tcp"),
    "Slowest TCP (Mbit/s)": _of_tcp(min),
    "Fastest TCP (Mbit/s)": _of_tcp(max),
}


def effect_by_queue(sweep: SweepRecord, cells: Sequence[SweptCell]) -> SweepEffect | None:
    rates: list[tuple[str, float, float]] = []
    for cell in cells:
        both = [
            [value for run in cell.runs if (value := _COLUMNS[name](run)) is not None]
            for name in (_UDP, _TCP)
        ]
        if all(both):
            rates.append((cell.name, median(both[0]), median(both[1])))
    if len(rates) < 2:
        return None
    parts = [
        f"{written(udp)} Mbit/s in {name}, where all TCP flows together get {written(tcp)}"
        for name, udp, tcp in (max(rates, key=itemgetter(1)), min(rates, key=itemgetter(1)))
    ]
    names, udp, tcp = zip(*rates, strict=True)
    at = np.arange(len(names), dtype=float)
    layers = tuple(
        Layer(look, "boxes", at + left, np.zeros(len(at)), np.array(values), at + left + 0.36)
        for look, values, left in (
            (SeriesLook("UDP", ORANGE), udp, -0.38),
            (SeriesLook("all TCP flows", BLUE), tcp, 0.02),
        )
    )
    axis = Axis("received rate", "bit/s", 1e6, zero=True)
    caption = "Medians over the seeds, at the receivers."
    across, title = named(varied(sweep), names), "UDP and TCP in each queue"
    picture = alone(Graph("udp_and_tcp", title, caption, across, axis, layers))
    return SweepEffect(f"UDP receives {parts[0]}, and {parts[1]}.", picture)


Q = Quantities(__file__)

EVEN = 1.1
"""Times its even share from which UDP counts as favoured; headers differ by a few percent."""


def listings(results: RunResults) -> tuple[Listing, ...]:
    columns, queue = Q.group("BOTH"), parameter(results, "queueing")
    rows = tuple(
        (f"{queue}, {called(results, one)}", *(spread(each.of(results, one)) for each in columns))
        for one in results.run.conditions
    )
    note = (
        "UDP's figures are those of its server; the jitter is that of RFC 1889 (iperf's server"
        " report)."
    )
    head = ("Queue", *(column.title for column in columns))
    flows = rates_of_flows(results)
    return (Listing("UDP and TCP", head, rows, (note,)), *((flows,) if flows else ()))


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
