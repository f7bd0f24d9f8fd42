"""Reordering (TCP assignment, 3.3): how late packets came, what TCP made of it, the answers."""

import numpy as np

from analysis.graphs.layers import GREY, Axis, Graph, GraphGroup, Layer, SeriesLook
from analysis.measures.metrics import metric
from analysis.measures.results import Measured, RunResults
from analysis.reporting.answers import parameter
from analysis.reporting.run_graphs import all_graphs as usual
from analysis.reporting.studies import StudyReport, answers_from
from analysis.reporting.tables import Listing, Quantities
from experiments.study.reports import by_condition

Q = Quantities(__file__)
WAIT = 4
"""RACK first waits for a late packet a quarter of the least round trip (RFC 8985, section 6.2)."""


def listings(results: RunResults) -> tuple[Listing, ...]:
    """Return the path's effect on the order of packets, and TCP's reaction."""
    path = by_condition(results, "What the path did", Q.group("PATH"), *Q.notes)
    return path, by_condition(results, "What TCP made of it", Q.group("KERNEL"))


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


_LINEAR = 300  # packets up to which a linear axis shows all


REPORT = StudyReport(
    answers=answers_from(__file__, vars() | Q),
    listings=listings,
    graphs=graphs,
    short=Q.group("SHORT"),
)
