"""All graphs of captures, as one HTML file that needs neither a network nor a server."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from analysis import rendering
from analysis.flows.ends import journeys
from analysis.flows.reader import ThinnedRows
from analysis.graphs import ladder, timelines
from analysis.graphs.capture import (
    HOW_CHOSEN,
    MOST_CONNECTIONS,
    Capture,
    CaptureDirection,
    all_directions,
    of_connections,
    resolution,
)
from analysis.graphs.inline import MOST_MARKS, inline, legend
from analysis.graphs.layers import Graph, Layer, caption, plain, says
from analysis.graphs.stored import StoredGraphs, as_script, latest, stage_of_trips
from analysis.records.output import SocketSample
from analysis.table import ColumnTable

MOST_PICTURED = 4  # connections of a capture that pictures show
BINS = 50  # equal times in which the index is taken (graphs.csv)


def draw_fairness(several: Sequence[CaptureDirection]) -> tuple[Graph, Graph]:
    """Return the rates of `several` directions, one a connection, and Jain's index over time."""
    rates = (timelines.goodput(each, "connection", each.name) for each in several)
    ends = [time for each in several for time in each.answers.time[[0, -1]]]
    edges = np.linspace(min(ends), max(ends), BINS + 1)
    shares = np.array([_in_bins(each, edges) for each in several])
    count = np.maximum((~np.isnan(shares)).sum(axis=0), 1)
    squares, sums = np.nansum(shares**2, axis=0), np.nansum(shares, axis=0)
    # (sum x)^2 / (n sum x^2)
    index = np.where(squares > 0, sums**2 / np.maximum(count * squares, 1e-300), 1.0)
    return plain("fairness", *rates), plain("jain", Layer("jain", "stairs", edges[:-1], index))


def _in_bins(direction: CaptureDirection, edges: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the bytes acknowledged in each bin; NaN before the connection and after it."""
    times, sums = direction.answers.time, direction.answers.highest
    at = np.searchsorted(times, edges, side="right") - 1
    grown = np.diff(np.where(at < 0, sums[0], sums[np.maximum(at, 0)]).astype(np.float64))
    return np.where((edges[1:] <= times[0]) | (edges[:-1] >= times[-1]), np.nan, grown)


def larger(directions: Sequence[CaptureDirection]) -> list[CaptureDirection]:
    best: dict[tuple[str, int], CaptureDirection] = {}
    for direction in directions:
        key = (direction.capture, direction.connection)
        best[key] = max(best.get(key, direction), direction, key=lambda one: one.payload)
    return list(best.values())


Samples = Mapping[int, Sequence[SocketSample]]
"""Socket samples of the sender, by the connection's number in the first capture."""


@dataclass(frozen=True)
class DirectionView:
    """A direction and what its graphs need.

    `packets` are those of its connection, `trips` those of them in both captures, and `matched`
    those of all connections in both. `shared` graphs are of all connections of its capture.
    """

    direction: CaptureDirection
    samples: Sequence[SocketSample]
    packets: ColumnTable
    trips: ColumnTable | None
    matched: ColumnTable | None
    shared: Sequence[Graph]

    @property
    def graphs(self) -> Iterator[Graph]:
        """The graphs, one at a time, for memory."""
        direction, trips = self.direction, self.trips
        yield timelines.draw_limits(direction)
        yield timelines.draw_segments(direction)
        yield timelines.draw_throughput(direction)
        yield timelines.draw_rtt(direction, self.samples)
        yield timelines.draw_in_flight(direction, self.samples)
        yield timelines.draw_stevens(direction)
        yield timelines.draw_segment_sizes(direction)
        yield timelines.draw_rtt_distribution(direction)
        if trips is None or self.matched is None:
            yield ladder.draw_ladder(direction, self.packets)
        else:
            yield ladder.draw_trips(direction, trips)
            ways = trips["outward"].values[trips["forward"].values == direction.forward]
            outward = bool(ways[0]) if len(ways) else True
            alongside = self.matched.rows(self.matched["outward"].values == outward)
            yield from ladder.draw_queue(direction, alongside)
        yield from self.shared


def views(
    captures: Sequence[Capture], samples: Samples | None = None, most: int | None = None
) -> list[DirectionView]:
    """Return the directions that carried data, of up to `most` connections a capture."""
    directions = all_directions(captures, most)
    largest = larger(directions)
    carriers = {id(direction) for direction in largest}
    # A direction of a SYN and a FIN carried no data, unless the other did not either.
    shown = [each for each in directions if each.payload > 2 or id(each) in carriers]

    def parts(label: str, table: ColumnTable) -> dict[int, ColumnTable]:
        """Return the packets of each connection of a capture that is shown."""
        numbers = [each.connection for each in shown if each.capture == label]
        return of_connections(table, numbers).parts("connection")

    labels, matched = [capture.label for capture in captures], _matched(captures)
    packets = {capture.label: parts(capture.label, capture.packet_table) for capture in captures}
    trips = {label: parts(label, table) for label, table in zip(labels, matched, strict=False)}
    sampled = {
        each.name: samples[each.connection]
        for each in largest
        if samples and each.capture == labels[0] and each.connection in samples
    }
    shared = {label: _shared([one for one in largest if one.capture == label]) for label in labels}
    return [
        DirectionView(
            each,
            sampled.get(each.name, ()),
            packets[each.capture][each.connection],
            trips.get(each.capture, {}).get(each.connection),
            matched[0] if matched else None,
            shared[each.capture],
        )
        for each in shown
    ]


def _matched(captures: Sequence[Capture]) -> list[ColumnTable]:
    """Return the packets in both of the first two captures, with the numbers of each; or none."""
    if len(captures) < 2 or not len(packets := journeys(captures[0], captures[1])):
        return []
    far = {name: packets[f"{name}_far"].values for name in ("connection", "forward")}
    return [packets, packets.having(**far)]


def _shared(largest: Sequence[CaptureDirection]) -> Sequence[Graph]:
    several = [direction for direction in largest if len(direction.answers.time) > 1]
    return draw_fairness(several) if len(several) > 1 else ()


MOST_SEGMENTS = 1_000_000
"""Segments up to which each has its own mark.

Beyond, runs of neighbouring strokes, dots and arrows are stored as one. Lines and rates are of
all segments at every zoom.
"""
FINE_SEGMENTS = 100_000
"""Segments up to which times are kept to the nanosecond; with more, to the microsecond."""


@dataclass(frozen=True)
class PageAnswer:
    """Verdict on a connection, for the top of the page; `subject` is empty for the only one."""

    subject: str
    reason: str
    advice: str


def page(
    title: str,
    captures: Sequence[Capture],
    samples: Samples | None = None,
    answers: Sequence[PageAnswer] = (),
    notes: Sequence[str] = (),
) -> str:
    """Return the page's text; `samples` are by connection of the first capture."""
    data = document(captures, samples)
    stage, first = data.pop("stage"), data.pop("first")
    context = {"title": title, "data": as_script(data), "stage": stage, "first": first}
    context |= {"answers": answers, "notes": [*notes, *data["notes"]]}
    return rendering.render("packets/page.html", context)


def document(captures: Sequence[Capture], samples: Samples | None = None) -> dict[str, Any]:
    """Return the data of the page's scripts: looks, columns, graphs, and those of a direction."""
    segments = sum(capture.segments for capture in captures)
    rows = sum(len(capture.packet_table) for capture in captures)
    step = 1 if segments <= FINE_SEGMENTS else 1000
    run = 1 if rows <= MOST_SEGMENTS else -(-3 * rows // MOST_SEGMENTS)
    graphs = StoredGraphs(step, run)
    seen = views(captures, samples, MOST_CONNECTIONS)
    shown = [_view(view, graphs) for view in seen]
    return {
        **graphs.data,
        "views": shown,
        "resolution": max([step, *map(resolution, captures)]),
        "notes": _notes(captures, segments, run),
        "stage": _stage(captures, seen),
        "first": _first(seen[0], shown[0]["span"][1], segments) if seen else "",
    }


def _view(view: DirectionView, graphs: StoredGraphs) -> dict[str, Any]:
    direction, end, places = view.direction, 0.0, list[int]()
    for graph in view.graphs:
        end = max(end, latest([graph]))
        places += [graphs.put(graph)] if any(map(says, graph.layers)) else []
    a, b = direction.ends
    return {
        "capture": direction.capture,
        "connection": f"{direction.connection}: {a} \N{EN DASH} {b}",
        "direction": direction.name,
        "span": [0, end],
        "start": str(direction.start),
        "graphs": places,
    }


def _stage(captures: Sequence[Capture], shown: Sequence[DirectionView]) -> str:
    """Return the stage of the direction that sent most; empty without two captures of it."""
    known = [
        (view.direction, view.trips)
        for view in shown
        if view.trips is not None and view.direction.capture == captures[0].label
    ]
    if not known:
        return ""
    direction, trips = max(known, key=lambda each: each[0].payload)
    far = captures[1].packet_table
    label = " to ".join(direction.ends)
    return stage_of_trips(label, trips, far, direction.forward, direction.start)


_FIRST, _WIDE = ("limits", "time_sequence"), 1100
"""Graphs that a page is written with, the first that are drawn, and their pixels."""


def _first(view: DirectionView, end: float, segments: int) -> str:
    """Return the first graphs as sections that a script replaces; none of a huge capture."""
    if segments >= MOST_SEGMENTS:
        return ""
    most = MOST_MARKS if segments <= FINE_SEGMENTS else 50
    return "".join(
        f'<section class="first"><h2>{graph.title}</h2>{inline(graph, _WIDE, (0.0, end), most)}'
        f"{legend(graph)}</section>"
        for graph in islice(view.graphs, len(_FIRST))
        if graph.key in _FIRST and graph.layers
    )


def _notes(captures: Sequence[Capture], segments: int, run: int) -> list[str]:
    most, chosen = MOST_CONNECTIONS, HOW_CHOSEN
    notes = [
        caption("left_out", shown=most, count=count, label=capture.label, chosen=chosen)
        for capture in captures
        if (count := len(capture.connection_table)) > most
    ]
    if segments > FINE_SEGMENTS:
        notes.append("Times are rounded to a microsecond.")
    notes += [_thinning(capture.thinned) for capture in captures if capture.thinned]
    if run > 1:
        notes.append(caption("as_runs", segments=segments, most=4 * run))
    return notes


def _thinning(rows: ThinnedRows) -> str:
    events = "every retransmission has its own mark"
    if rows.every_event > 1:
        events = f"up to {rows.every_event:,} neighbours of the retransmissions have one"
    return caption("thinned", segments=rows.segments, every=rows.every, events=events)
