"""All graphs as one HTML file that needs neither a network nor a server."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from analysis.graphs.capture import HOW_CHOSEN, Capture, resolution
from analysis.graphs.stage import stage_of_trips
from analysis.graphs.stored import StoredGraphs, as_script, latest
from analysis.graphs.views import DirectionView, Samples, views
from analysis.rendering import page_files

MOST_CONNECTIONS = 64
"""Connections of a capture that the page shows."""
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

    `samples` of the senders' sockets are by connection number of the first capture. With two
    captures of the same traffic (the first two) the ladder has slanted arrows, and there are
    queues.
    """
    data = document(captures, samples)
    stage = data.pop("stage")
    context = {"title": title, "data": as_script(data), "stage": stage}
    context |= {"answers": answers, "notes": [*notes, *data["notes"]]}
    return page_files.render("packets/page.html", context)


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
    segments = sum(len(capture.packet_table) for capture in captures)
    graphs = StoredGraphs(_step(segments), _run(segments))
    seen = views(captures, samples, MOST_CONNECTIONS)
    shown = [_view(view, graphs) for view in seen]
    return {
        **graphs.data,
        "views": shown,
        "resolution": max([_step(segments), *map(resolution, captures)]),
        "notes": _notes(captures, segments),
        "stage": _stage(captures, seen),
    }


def _step(segments: int) -> int:
    return 1 if segments <= FINE_SEGMENTS else 1000


def _run(segments: int) -> int:
    """Return the number of neighbours that become one mark."""
    return 1 if segments <= MOST_SEGMENTS else -(-3 * segments // MOST_SEGMENTS)


def _notes(captures: Sequence[Capture], segments: int) -> list[str]:
    """Return sentences on what the page leaves out."""
    notes = []
    for capture in captures:
        count = len(np.unique(capture.packet_table["connection"].values))
        if count > MOST_CONNECTIONS:
            notes.append(
                f"Showing {MOST_CONNECTIONS} of {count:,} connections of {capture.label}:"
                f" {HOW_CHOSEN}. The tables have all of them; ./tcplab analyze FILE --connection N"
                " --out FOLDER draws others."
            )
    if segments > FINE_SEGMENTS:
        notes.append("Times are rounded to a microsecond.")
    if segments > MOST_SEGMENTS:
        notes.append(
            f"There are {segments:,} segments. Beyond some zoom, one mark stands for up to"
            f" {4 * _run(segments)} neighbours. Lines and rates are of all segments, and every"
            " retransmission has its own mark."
        )
    return notes


def _view(view: DirectionView, graphs: StoredGraphs) -> dict[str, Any]:
    direction = view.direction
    a, b = direction.ends
    return {
        "capture": direction.capture,
        "connection": f"{direction.connection}: {a} \N{EN DASH} {b}",
        "direction": direction.name,
        "span": [0, latest(view.graphs)],
        "start": str(direction.start),
        "graphs": [graphs.put(graph) for graph in view.graphs if graph.layers],
    }
