"""All graphs of captures, as one HTML file that needs neither a network nor a server."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
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
from analysis.graphs.layers import Graph, Layer, plain, says
from analysis.graphs.stored import StoredGraphs, as_script, latest, stage_of_trips
from analysis.graphs.timelines import goodput
from analysis.records.output import SocketSample
from analysis.table import ColumnTable

MOST_PICTURED = 4
"""Connections of a capture that pictures show."""
BINS = 50
"""Equal times in which the index is taken (graphs.csv)."""


def draw_fairness(several: Sequence[CaptureDirection]) -> tuple[Graph, Graph]:
    """Return the rates of `several` directions, one a connection, and their index over time."""
    rates = (goodput(direction, "connection", direction.name) for direction in several)
    edges = _edges(several)
    index = _index(np.array([_in_bins(direction, edges) for direction in several]))
    jain = Layer("jain", "stairs", edges[:-1], index)
    return plain("fairness", *rates), plain("jain", jain)


def larger(directions: Sequence[CaptureDirection]) -> list[CaptureDirection]:
    best: dict[tuple[str, int], CaptureDirection] = {}
    for direction in directions:
        key = (direction.capture, direction.connection)
        best[key] = max(
            best.get(key, direction), direction, key=lambda candidate: candidate.payload
        )
    return list(best.values())


def _edges(several: Sequence[CaptureDirection]) -> NDArray[np.float64]:
    ends = (
        [time for direction in several for time in direction.answers.time[[0, -1]]]
        if several
        else [0, 1]
    )
    return np.linspace(min(ends), max(ends), BINS + 1)


def _in_bins(direction: CaptureDirection, edges: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the bytes acknowledged in each bin; NaN before the connection and after it."""
    times, sums = direction.answers.time, direction.answers.highest
    at = np.searchsorted(times, edges, side="right") - 1
    grown = np.diff(np.where(at < 0, sums[0], sums[np.maximum(at, 0)]).astype(np.float64))
    return np.where((edges[1:] <= times[0]) | (edges[:-1] >= times[-1]), np.nan, grown)


def _index(rates: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return (sum x)^2 / (n sum x^2) by column; 1 if all rates are 0."""
    count = np.maximum((~np.isnan(rates)).sum(axis=0), 1)
    squares = np.nansum(rates**2, axis=0)
    return np.where(
        squares > 0, np.nansum(rates, axis=0) ** 2 / np.maximum(count * squares, 1e-300), 1.0
    )


Samples = Mapping[int, Sequence[SocketSample]]
"""Socket samples of the sender, by the connection's number in the first capture."""


@dataclass(frozen=True)
class DirectionView:
    """A direction, its graphs (one at a time, for memory), and packets in both captures."""

    direction: CaptureDirection
    draw: Callable[[], Iterator[Graph]]
    trips: ColumnTable | None = None

    @property
    def graphs(self) -> Iterator[Graph]:
        return self.draw()


def views(
    captures: Sequence[Capture], samples: Samples | None = None, most: int | None = None
) -> list[DirectionView]:
    shown = _worth_showing(all_directions(captures, most))
    shared = _shared(shown)
    numbers = {
        capture.label: [each.connection for each in shown if each.capture == capture.label]
        for capture in captures
    }
    travels = _travels(captures, numbers)
    packets = {
        capture.label: of_connections(capture.packet_table, numbers[capture.label]).parts(
            "connection"
        )
        for capture in captures
    }
    sampled = _sampled(shown, captures, samples or {})
    return [
        DirectionView(
            direction,
            partial(
                _graphs,
                *(direction, sampled.get(direction.name, ()), packets, travels),
                shared.get(direction.capture, ()),
            ),
            _trips(direction, travels),
        )
        for direction in shown
    ]


def _worth_showing(directions: Sequence[CaptureDirection]) -> list[CaptureDirection]:
    """Leave out directions of a SYN and a FIN only, if the other direction carried the data."""
    largest = {id(direction) for direction in larger(directions)}
    return [
        direction for direction in directions if direction.payload > 2 or id(direction) in largest
    ]


def _graphs(
    direction: CaptureDirection,
    samples: Sequence[SocketSample],
    packets: Mapping[str, Mapping[int, ColumnTable]],
    travels: _MatchedPackets | None,
    shared: Sequence[Graph],
) -> Iterator[Graph]:
    yield timelines.draw_limits(direction)
    yield timelines.draw_segments(direction)
    yield timelines.draw_throughput(direction)
    yield timelines.draw_rtt(direction, samples)
    yield timelines.draw_in_flight(direction, samples)
    yield timelines.draw_stevens(direction)
    yield timelines.draw_segment_sizes(direction)
    yield timelines.draw_rtt_distribution(direction)
    yield from _on_the_way(direction, packets, travels)
    yield from shared


def _sampled(
    shown: Sequence[CaptureDirection], captures: Sequence[Capture], samples: Samples
) -> dict[str, Sequence[SocketSample]]:
    first = [
        direction
        for direction in larger(shown)
        if captures and direction.capture == captures[0].label
    ]
    return {
        direction.name: samples[direction.connection]
        for direction in first
        if direction.connection in samples
    }


def _shared(shown: Sequence[CaptureDirection]) -> dict[str, tuple[Graph, Graph]]:
    by_capture: dict[str, list[CaptureDirection]] = {}
    for direction in larger(shown):
        if len(direction.answers.time) > 1:
            by_capture.setdefault(direction.capture, []).append(direction)
    return {
        label: draw_fairness(several) for label, several in by_capture.items() if len(several) > 1
    }


@dataclass(frozen=True)
class _MatchedPackets:
    """Packets in both captures, and those of each shown connection by capture and number."""

    everything: ColumnTable
    connections: dict[str, dict[int, ColumnTable]]

    def alongside(self, matched: ColumnTable, forward: bool) -> ColumnTable:
        """Return the packets of all connections that go the same way as those of a direction."""
        ways = matched["outward"].values[matched["forward"].values == forward]
        outward = bool(ways[0]) if len(ways) else True
        return self.everything.rows(self.everything["outward"].values == outward)


def _travels(
    captures: Sequence[Capture], numbers: Mapping[str, Sequence[int]]
) -> _MatchedPackets | None:
    """Match the first two captures; None without a connection in common."""
    if len(captures) < 2:
        return None
    packets = journeys(captures[0], captures[1])
    if not len(packets):
        return None
    far = packets.having(
        connection=packets["connection_far"].values, forward=packets["forward_far"].values
    )
    return _MatchedPackets(
        packets,
        {
            capture.label: of_connections(table, numbers[capture.label]).parts("connection")
            for capture, table in zip(captures, (packets, far), strict=False)
        },
    )


def _trips(direction: CaptureDirection, travel: _MatchedPackets | None) -> ColumnTable | None:
    of_capture = travel.connections.get(direction.capture, {}) if travel else {}
    return of_capture.get(direction.connection)


def _on_the_way(
    direction: CaptureDirection,
    packets: Mapping[str, Mapping[int, ColumnTable]],
    travel: _MatchedPackets | None,
) -> Iterator[Graph]:
    matched = _trips(direction, travel)
    if travel is None or matched is None:
        yield ladder.draw_ladder(direction, packets[direction.capture][direction.connection])
        return
    yield ladder.draw_trips(direction, matched)
    yield from ladder.draw_queue(direction, travel.alongside(matched, direction.forward))


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
    """Return the page's text, `answers` as its headline and `notes` above the graphs.

    `samples` are by connection of the first capture. Two captures of one traffic give queues.
    """
    data = document(captures, samples)
    stage, first = data.pop("stage"), data.pop("first")
    context = {"title": title, "data": as_script(data), "stage": stage, "first": first}
    context |= {"answers": answers, "notes": [*notes, *data["notes"]]}
    return rendering.render("packets/page.html", context)


def _stage(captures: Sequence[Capture], shown: Sequence[DirectionView]) -> str:
    """Return the stage of the direction that sent most; empty without two captures of it."""
    known = [
        view
        for view in shown
        if view.trips is not None and view.direction.capture == captures[0].label
    ]
    if not known:
        return ""
    view = max(known, key=lambda one: one.direction.payload)
    direction, trips = view.direction, view.trips
    assert trips is not None
    a, b = direction.ends
    label = f"{a} to {b}"
    far = captures[1].packet_table
    return stage_of_trips(label, trips, far, direction.forward, direction.start)


def document(captures: Sequence[Capture], samples: Samples | None = None) -> dict[str, Any]:
    """Return the data of the page's scripts: looks, columns, graphs, and those of a direction."""
    segments = sum(capture.segments for capture in captures)
    rows = sum(len(capture.packet_table) for capture in captures)
    graphs = StoredGraphs(_step(segments), _run(rows))
    seen = views(captures, samples, MOST_CONNECTIONS)
    shown = [_view(view, graphs) for view in seen]
    return {
        **graphs.data,
        "views": shown,
        "resolution": max([_step(segments), *map(resolution, captures)]),
        "notes": _notes(captures, segments, rows),
        "stage": _stage(captures, seen),
        "first": _first(seen[0], shown[0]["span"][1], segments) if seen else "",
    }


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


def _step(segments: int) -> int:
    return 1 if segments <= FINE_SEGMENTS else 1000


def _run(rows: int) -> int:
    return 1 if rows <= MOST_SEGMENTS else -(-3 * rows // MOST_SEGMENTS)


def _notes(captures: Sequence[Capture], segments: int, rows: int) -> list[str]:
    notes = []
    for capture in captures:
        count = len(capture.connection_table)
        if count > MOST_CONNECTIONS:
            notes.append(
                f"Showing {MOST_CONNECTIONS} of {count:,} connections of {capture.label}:"
                f" {HOW_CHOSEN}. The tables have all of them; ./tcplab analyze FILE --connection N"
                " --out FOLDER draws others."
            )
    if segments > FINE_SEGMENTS:
        notes.append("Times are rounded to a microsecond.")
    notes += [_thinning(capture.thinned) for capture in captures if capture.thinned]
    if rows > MOST_SEGMENTS:
        notes.append(
            f"There are {segments:,} segments. Beyond some zoom, one mark stands for up to"
            f" {4 * _run(rows)} neighbours. Lines and rates are of all segments, and every"
            " retransmission has its own mark."
        )
    return notes


def _thinning(rows: ThinnedRows) -> str:
    events = "every retransmission has its own mark"
    if rows.every_event > 1:
        events = f"up to {rows.every_event:,} neighbours of the retransmissions have one"
    return (
        f"There are {rows.segments:,} segments. One mark stands for up to {rows.every:,}"
        " neighbours, of which the least and greatest values stay. Rates and averages are of all"
        f" segments, and {events}; the distribution of round trips is of one in {rows.every:,}."
        " ./tcplab analyze FILE --from TIME --to TIME --out FOLDER draws a period in full."
    )


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
