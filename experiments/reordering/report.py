"""Reordering (TCP assignment, 3.3): how late packets came, what TCP made of it, the answers."""

import numpy as np

from analysis.fmt import spread
from analysis.graphs.layers import GREY, Axis, Graph, GraphGroup, Layer, SeriesLook
from analysis.measures.captures import DUPLICATES
from analysis.measures.metrics import metric
from analysis.measures.results import Measured, RunResults
from analysis.reporting.answers import (
    called,
    parameter,
)
from analysis.reporting.run_graphs import all_graphs as usual
from analysis.reporting.studies import StudyReport
from analysis.reporting.tables import Listing, ReportQuantity, quantity
from experiments.study.reports import answers_from

RATE = quantity("flows.sent", "Rate at the sender", "Mbit/s", 1e-3)
SHARE = quantity("order.share", "Share of packets that were reordered")
EXTENT = quantity("order.extent_median")
EXTENT_MOST = quantity("order.extent_most")
TIME = quantity("order.time_median")
TIME_MOST = quantity("order.time_most")
_PATH = (
    quantity("order.arrived", unit=""),
    MISSING := quantity("order.lost", unit=""),
    quantity("order.late", unit=""),
    SHARE,
    SHARE_3 := quantity("order.share_3", f"Share that was {DUPLICATES}-reordered"),
    EXTENT,
    quantity("order.extent_p95"),
    EXTENT_MOST,
    TIME,
    quantity("order.time_p95"),
    TIME_MOST,
    quantity("order.delay_least"),
    quantity("order.delay_most"),
)
_KERNEL = (
    AGAIN := quantity("nstat.TcpRetransSegs", "Retransmitted segments"),
    DSACKS := quantity(
        "nstat.TcpExtTCPDSACKRecv", "Retransmitted segments that had arrived (DSACK)"
    ),
    BY_SACK := quantity("nstat.TcpExtTCPSACKReorder", "Reordering seen by SACK"),
    BY_RENO := quantity("nstat.TcpExtTCPRenoReorder", "Reordering seen by duplicate ACKs"),
    BY_TIME := quantity("nstat.TcpExtTCPTSReorder", "Reordering seen by timestamps"),
    RECOVERIES := quantity("nstat.TcpExtTCPSackRecovery", "Fast recoveries by SACK"),
    UNDONE := quantity("nstat.TcpExtTCPDSACKUndo", "Window cuts taken back after DSACKs"),
    quantity("nstat.TcpExtTCPTimeouts", "Retransmission time-outs"),
    THRESHOLD := quantity("socket.reordering", "Highest threshold of the connection", "packets"),
    LEAST_RTT := quantity("socket.least_rtt"),
    SMOOTHED := quantity("metric.rtt_median_ms", "Median smoothed round trip"),
)
SHORT = (RATE, SHARE, EXTENT, EXTENT_MOST, TIME, TIME_MOST, AGAIN, DSACKS, THRESHOLD)
WAIT = 4
"""RACK first waits for a late packet a quarter of the least round trip (RFC 8985, section 6.2)."""


def listings(results: RunResults) -> tuple[Listing, ...]:
    path = (
        (
            "Every packet that was sent counts, also a retransmission; the order is that of sending"
            " (RFC 4737). Extent: by how many places a packet came too late. Late time: how long"
            " after the first packet that overtook it."
        ),
        (
            f"{DUPLICATES}-reordered: the {DUPLICATES} packets before it were all sent after it, so"
            f" that there were {DUPLICATES} duplicate ACKs."
        ),
    )
    return (
        _listing(results, "What the path did", _PATH, path),
        _listing(results, "What TCP made of it", _KERNEL, ()),
    )


def _listing(
    results: RunResults, title: str, quantities: tuple[ReportQuantity, ...], notes: tuple[str, ...]
) -> Listing:
    conditions = results.run.conditions
    head = ("", *(called(results, condition) for condition in conditions))
    rows = tuple(
        (
            quantity.scoped(results.run).title,
            *(spread(quantity.of(results, condition)) for condition in conditions),
        )
        for quantity in quantities
    )
    return Listing(title, head, rows, notes)


def graphs(results: RunResults) -> list[GraphGroup]:
    return [*filter(None, (_lateness(results),)), *usual(results)]


def _lateness(results: RunResults) -> GraphGroup | None:
    late = [one for one in results.first if one.late is not None and len(one.late)]
    if not late:
        return None
    trips = [
        trip for measured in results.first if (trip := measured.value(metric("socket.least_rtt")))
    ]
    threshold = parameter(results, "threshold")
    places = float(threshold) if threshold.isdigit() else None
    wait = min(trips) / WAIT if trips else None
    caption = (
        f"Seed {results.first[0].trial.seed}, from the captures at both ends. A curve says which"
        " share of all packets was overtaken and came at least that late. Right of the line in the"
        " first graph a packet can look lost to a TCP that counts duplicate ACKs; right of the line"
        " in the second to one with RACK (RFC 8985), until it has learned to wait longer."
    )
    by_places = _late_by("packets", late, "extent", 1.0, places, "tcp_reordering")
    quarter = "a quarter of the least round trip"
    by_time = _late_by("ms", late, "extent_time", 1e-6, wait, quarter)
    return GraphGroup("lateness", "How late packets came", caption, (by_places, by_time))


def _late_by(
    unit: str, late: list[Measured], column: str, scale: float, limit: float | None, words: str
) -> Graph:
    layers = [_late_curve(measured, column, scale, at) for at, measured in enumerate(late)]
    most = max(float(layer.x[-1]) for layer in layers)
    if limit is not None and limit <= most:
        mark = SeriesLook(words, GREY, dash=True)
        layers.append(Layer(mark, "moments", np.array([limit]), np.zeros(1)))
    return Graph(
        f"late_by_{unit}",
        f"Late by at least so many {unit}",
        "",
        Axis(f"late by at least so many {unit}", "", log=unit == "packets" and most > _LINEAR),
        Axis("share of packets", "%", zero=True),
        tuple(layers),
    )


def _late_curve(measured: Measured, column: str, scale: float, number: int) -> Layer:
    assert measured.late is not None
    ordered = np.sort(measured.late[column].values) * scale
    arrived = max(measured.value(metric("order.arrived")) or 0.0, 1.0)
    shares = 100 * np.arange(len(ordered), 0, -1) / arrived
    label = measured.trial.condition.label
    return Layer("share", "stairs", ordered, shares, words=label, series=number)


_LINEAR = 300
"""Packets up to which a linear axis shows all."""


REPORT = StudyReport(
    answers=answers_from(__file__, vars()), listings=listings, graphs=graphs, short=SHORT
)
