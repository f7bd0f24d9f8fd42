"""Which graphs there are: for each direction of each connection of each capture."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

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
from analysis.graphs.capture import Capture, CaptureDirection, all_directions, of_connections
from analysis.graphs.layers import Graph
from analysis.records.socket_samples import SocketSample
from analysis.tabular.column_table import ColumnTable

Samples = Mapping[int, Sequence[SocketSample]]
"""Socket samples of the sender, by the connection's number in the first capture."""


@dataclass(frozen=True)
class DirectionView:
    """All graphs of one direction."""

    direction: CaptureDirection
    graphs: tuple[Graph, ...]


def views(
    captures: Sequence[Capture], samples: Samples | None = None, most: int | None = None
) -> list[DirectionView]:
    """One view a direction, of at most `most` connections of each capture."""
    shown = _worth_showing(all_directions(captures, most))
    shared = _shared(shown)
    numbers = {
        capture.label: [each.connection for each in shown if each.capture == capture.label]
        for capture in captures
    }
    travels = _travels(captures, numbers)
    packets = {
        capture.label: _by_number(capture.packet_table, numbers[capture.label])
        for capture in captures
    }
    sampled = _sampled(shown, captures, samples or {})
    return [
        DirectionView(
            direction,
            (
                *_own(direction, sampled.get(direction.name, ())),
                *_on_the_way(direction, packets, travels),
                *shared.get(direction.capture, ()),
            ),
        )
        for direction in shown
    ]


def _by_number(packets: ColumnTable, connections: Sequence[int]) -> dict[int, ColumnTable]:
    """The packets of each of these connections."""
    return of_connections(packets, connections).parts("connection")


def _worth_showing(directions: Sequence[CaptureDirection]) -> list[CaptureDirection]:
    """Without directions of a SYN and a FIN only, if the other direction carried the data."""
    larger = {id(direction) for direction in fairness.larger(directions)}
    return [
        direction for direction in directions if direction.payload > 2 or id(direction) in larger
    ]


def _own(direction: CaptureDirection, samples: Sequence[SocketSample]) -> tuple[Graph, ...]:
    return (
        segments_over_time.draw(direction),
        throughput.draw(direction),
        rtt.draw(direction, samples),
        in_flight.draw(direction, samples),
        stevens.draw(direction),
        segment_sizes.draw(direction),
        rtt.distribution(direction),
    )


def _sampled(
    shown: Sequence[CaptureDirection], captures: Sequence[Capture], samples: Samples
) -> dict[str, Sequence[SocketSample]]:
    """The samples by the name of the direction that they are of: that which sent more."""
    first = [
        direction
        for direction in fairness.larger(shown)
        if captures and direction.capture == captures[0].label
    ]
    return {
        direction.name: samples[direction.connection]
        for direction in first
        if direction.connection in samples
    }


def _shared(shown: Sequence[CaptureDirection]) -> dict[str, tuple[Graph, Graph]]:
    """The graphs of all connections of a capture that has several."""
    by_capture: dict[str, list[CaptureDirection]] = {}
    for direction in fairness.larger(shown):
        if len(direction.answers.time) > 1:
            by_capture.setdefault(direction.capture, []).append(direction)
    return {
        label: fairness.draw(several) for label, several in by_capture.items() if len(several) > 1
    }


@dataclass(frozen=True)
class _MatchedPackets:
    """What two captures have in common: every packet, and the packets of each shown connection.

    `connections` are by capture and number; `forward` is as in that capture.
    """

    everything: ColumnTable
    connections: dict[str, dict[int, ColumnTable]]

    def alongside(self, matched: ColumnTable, forward: bool) -> ColumnTable:
        """The packets of all connections that go the same way as those of a direction."""
        ways = matched["outward"].values[matched["forward"].values == forward]
        outward = bool(ways[0]) if len(ways) else True
        return self.everything.rows(self.everything["outward"].values == outward)


def _travels(
    captures: Sequence[Capture], numbers: Mapping[str, Sequence[int]]
) -> _MatchedPackets | None:
    """Of the first two captures; None with one, or if they have no connection together.

    `numbers` are those of the connections that are shown, by capture.
    """
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
            capture.label: _by_number(table, numbers[capture.label])
            for capture, table in zip(captures, (packets, far), strict=False)
        },
    )


def _on_the_way(
    direction: CaptureDirection,
    packets: Mapping[str, Mapping[int, ColumnTable]],
    travel: _MatchedPackets | None,
) -> tuple[Graph, ...]:
    matched = (
        travel.connections.get(direction.capture, {}).get(direction.connection) if travel else None
    )
    if travel is None or matched is None:
        return (ladder.draw(direction, packets[direction.capture][direction.connection]),)
    return (
        ladder.draw_trips(direction, matched),
        *queue.draw(direction, travel.alongside(matched, direction.forward)),
    )
