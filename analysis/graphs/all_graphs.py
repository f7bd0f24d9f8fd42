"""Which graphs there are: for each direction of each connection of each capture."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import polars as pl

from analysis.flows.both_ends import journeys
from analysis.graphs import (
    fairness,
    in_flight,
    ladder,
    queue,
    rtt,
    segment_sizes,
    segments_over_time,
    stevens,
    throughput,
)
from analysis.graphs.capture import Capture, CaptureDirection, all_directions
from analysis.graphs.layers import Graph
from analysis.records.socket_samples import SocketSample

Samples = Mapping[int, Sequence[SocketSample]]
"""Socket samples of the sender, by the connection's number in the first capture."""


@dataclass(frozen=True)
class View:
    """All graphs of one direction."""

    direction: CaptureDirection
    graphs: tuple[Graph, ...]


def views(
    captures: Sequence[Capture], samples: Samples | None = None, most: int | None = None
) -> list[View]:
    """One view a direction, of the `most` largest connections of each capture only."""
    shown = _worth_showing(all_directions(captures, most))
    shared = _shared(shown)
    travels = _travels(captures)
    packets = {capture.label: _parts(capture.packets, "connection") for capture in captures}
    sampled = _sampled(shown, captures, samples or {})
    return [
        View(
            one,
            (
                *_own(one, sampled.get(one.name, ())),
                *_on_the_way(one, packets, travels),
                *shared.get(one.capture, ()),
            ),
        )
        for one in shown
    ]


def _worth_showing(found: Sequence[CaptureDirection]) -> list[CaptureDirection]:
    """Without those that sent a SYN and a FIN only, where the other direction carried the data."""
    larger = {id(one) for one in fairness.larger(found)}
    return [one for one in found if one.payload > 2 or id(one) in larger]


def _own(one: CaptureDirection, samples: Sequence[SocketSample]) -> tuple[Graph, ...]:
    return (
        segments_over_time.draw(one),
        throughput.draw(one),
        rtt.draw(one, samples),
        in_flight.draw(one, samples),
        stevens.draw(one),
        segment_sizes.draw(one),
        rtt.distribution(one),
    )


def _sampled(
    shown: Sequence[CaptureDirection], captures: Sequence[Capture], samples: Samples
) -> dict[str, Sequence[SocketSample]]:
    """The samples by the name of the direction that they are of: that which sent more."""
    first = [one for one in fairness.larger(shown) if captures and one.capture == captures[0].label]
    return {one.name: samples[one.connection] for one in first if one.connection in samples}


def _shared(shown: Sequence[CaptureDirection]) -> dict[str, tuple[Graph, Graph]]:
    """The graphs of all connections of a capture, where it has several."""
    found: dict[str, list[CaptureDirection]] = {}
    for one in fairness.larger(shown):
        if len(one.answers.time) > 1:
            found.setdefault(one.capture, []).append(one)
    return {label: fairness.draw(several) for label, several in found.items() if len(several) > 1}


@dataclass(frozen=True)
class _Travel:
    """What two captures have together: every packet, and by capture those of a connection,
    `forward` as there.
    """

    everything: pl.DataFrame
    connections: dict[str, dict[int, pl.DataFrame]]

    def alongside(self, matched: pl.DataFrame, forward: bool) -> pl.DataFrame:
        """The packets of all connections that go the same way as those of a direction."""
        outward, *_ = (*matched.filter(pl.col("forward") == forward)["outward"], True)
        return self.everything.filter(pl.col("outward") == outward)


def _travels(captures: Sequence[Capture]) -> _Travel | None:
    """Of the first two captures; None with one, or if they have no connection together."""
    if len(captures) < 2:
        return None
    found = journeys(captures[0], captures[1])
    far = found.with_columns(connection="connection_far", forward="forward_far")
    seen = zip(captures, (found, far), strict=False)
    return (
        _Travel(found, {one.label: _parts(frame, "connection") for one, frame in seen})
        if len(found)
        else None
    )


def _parts(frame: pl.DataFrame, column: str) -> dict[int, pl.DataFrame]:
    return {
        int(key[0]): part
        for key, part in frame.partition_by(column, maintain_order=True, as_dict=True).items()
    }


def _on_the_way(
    one: CaptureDirection, packets: Mapping[str, Mapping[int, pl.DataFrame]], travel: _Travel | None
) -> tuple[Graph, ...]:
    matched = travel.connections.get(one.capture, {}).get(one.connection) if travel else None
    if travel is None or matched is None:
        return (ladder.draw(one, packets[one.capture][one.connection]),)
    return (
        ladder.draw_trips(one, matched),
        *queue.draw(one, travel.alongside(matched, one.forward)),
    )
