"""Which connection a segment belongs to."""

from __future__ import annotations

from collections.abc import Iterator
from heapq import nlargest
from typing import Any

import numpy as np
import numpy.typing as npt

from analysis.flows.plain.connection import Connection
from analysis.flows.plain.link_layer import FINE, FRAGMENT, IGNORED, JOINED, OUTSIDE
from analysis.flows.plain.packet_records import Batches, FileHeaders, RecordBatch, Whole
from analysis.flows.plain.packet_rows import PacketRows
from analysis.flows.plain.pairs import ADDRESSED, EndsPairs, turned
from analysis.flows.plain.restarts import UnansweredOpening, ended_before, opening
from analysis.flows.plain.segment import SYN, TcpSegments, segments
from analysis.flows.plain.step import SegmentStep
from analysis.flows.plain.unwrapping import Unwrapping

_NOWHERE = bytes(4)
Period = tuple[tuple[int, bool], tuple[int, bool]]
"""Two moments: nanoseconds, and whether they count from the first packet instead of 1970."""


class ConnectionTable:
    """All connections, and what the file says beside them."""

    def __init__(self, compatible: bool, packets: bool, period: Period | None = None) -> None:
        self.connections: list[Connection] = []
        self.count = 0
        """How many connections there were in all."""
        self.compatible = compatible
        self.rows = PacketRows() if packets else None
        self.packets = self.segments = 0
        self._ignored = np.zeros(len(IGNORED), np.int64)
        self.first: int | None = None
        self.latest: int | None = None
        self.backwards = self.longest_back = 0
        self._period = period
        self._unwrapping = Unwrapping()
        self._pairs = EndsPairs()
        self._current: dict[bytes, tuple[Connection, bool]] = {}
        """By the ends as either side has them: the newest connection, and whether a sends so."""
        self._opening: dict[int, UnansweredOpening] = {}
        """By the number of the connection."""
        self._step = SegmentStep(self.rows.kinds if self.rows else None)

    def take(self, batch: RecordBatch) -> None:
        """Takes the next records."""
        if self.first is None:
            self.first = int(batch.time[0])
        self._look_back(batch.time)
        number, records = self.packets + 1, len(batch.time)
        self.packets += records
        inside = np.flatnonzero(self._inside(batch.time))
        self._ignored[OUTSIDE] += records - len(inside)
        if len(inside):
            self._take(batch if len(inside) == records else batch.of(inside), inside, number)

    def take_all(self, batches: Batches) -> str | None:
        """Takes all records; why reading them ended before the end."""
        while True:
            try:
                self.take(next(batches))
            except StopIteration as end:
                fault: str | None = end.value
                return fault

    def facts(self, headers: FileHeaders) -> dict[str, Any]:
        """What the file says beside the connections."""
        return {
            "link_types": headers.link_types,
            "snaplen": headers.snaplen,
            "packets": self.packets,
            "tcp_segments": self.segments,
            "first": self.first,
            "last": self.latest,
            "backwards": self.backwards,
            "longest_back": self.longest_back,
            "ignored": self.ignored,
        }

    def _take(self, batch: RecordBatch, rows: Whole, number: int) -> None:
        """Takes records that stand at `rows` of a batch whose first one has this number."""
        if self.compatible:
            tcp_segments, packets = segments(batch, is_first=True)
            why = packets.why
            tcp_segments.time[:] -= tcp_segments.time % 1000
        else:
            tcp_segments, why = self._unwrapping.segments(batch)
        self._ignored += np.bincount(why[why != FINE], minlength=len(IGNORED))
        for ends in self._each(tcp_segments):
            # tcptrace knows no networks.
            pair = ends[:ADDRESSED] + _NOWHERE if self.compatible else self._pairs.find(ends)
            connection, forward = self._find(pair)
            connection.segment(self._step, forward)
            if self.rows is not None:
                self.rows.push(self._step, connection, forward)
        if self.rows is not None:
            self.rows.finish(tcp_segments, rows[tcp_segments.row] + number)
        self.segments += len(tcp_segments.row)

    def _inside(self, times: Whole) -> npt.NDArray[np.bool_]:
        if self._period is None or self.first is None:
            return np.ones(len(times), np.bool_)
        since, until = (
            time + (self.first if is_relative else 0) for time, is_relative in self._period
        )
        return (times >= since) & (times <= until)

    @property
    def ignored(self) -> dict[str, int]:
        """Why records are no TCP segments, and how many are so."""
        counts, joined = self._ignored.copy(), self._unwrapping.joined
        counts[FRAGMENT] -= joined
        counts[JOINED] += joined
        return {why: n for why, n in zip(IGNORED, counts.tolist(), strict=True) if n}

    def network(self, connection: Connection) -> str:
        """The name of the network of its first packet."""
        if self.compatible:
            return ""
        pair = int.from_bytes(connection.ends[ADDRESSED:], "big")
        return self._unwrapping.networks.name(self._pairs.networks[pair])

    def keep(self, count: int) -> None:
        """Forgets all connections but those `count` that have the latest packets."""
        latest = nlargest(count, self.connections, lambda known: (known.last_time, known.number))
        numbers = {known.number for known in latest}
        self.connections = [known for known in self.connections if known.number in numbers]
        self._current = {
            ends: known for ends, known in self._current.items() if known[0].number in numbers
        }
        self._opening = {number: self._opening[number] for number in numbers & {*self._opening}}
        for unanswered in self._opening.values():
            if unanswered.before and unanswered.before.number not in numbers:
                unanswered.before = None
        self._pairs.keep({int.from_bytes(known.ends[ADDRESSED:], "big") for known in latest})

    def _look_back(self, times: npt.NDArray[np.int64]) -> None:
        """Counts the records whose time is before the previous one's."""
        before = np.roll(times, 1)
        before[0] = times[0] if self.latest is None else self.latest
        steps = before - times
        self.backwards += int((steps > 0).sum())
        self.longest_back = max(self.longest_back, int(steps.max()))
        self.latest = int(times[-1])

    def _each(self, tcp_segments: TcpSegments) -> Iterator[bytes]:
        """The ends of each segment; what else is known of it stands in the step meanwhile."""
        step, options = self._step, tcp_segments.options
        columns = (
            tcp_segments.ends,
            tcp_segments.time,
            tcp_segments.sequence,
            tcp_segments.acknowledgement,
            tcp_segments.flags,
            tcp_segments.window,
            tcp_segments.urgent,
            tcp_segments.payload,
            tcp_segments.missing,
            tcp_segments.ip_id,
            tcp_segments.ecn,
            np.where(options.has_timestamps, options.value, -1),
            options.echo,
            options.mss,
            options.scale,
            options.sack_permitted,
        )
        for (
            ends,
            step.now,
            step.sequence,
            step.acknowledgement,
            step.flags,
            step.window_field,
            step.urgent,
            step.payload,
            step.missing,
            step.ip_id,
            step.ecn,
            step.value,
            step.echo,
            step.mss,
            step.scale,
            step.sack_permitted,
            step.blocks,
        ) in zip(*(column.tolist() for column in columns), _blocks(tcp_segments), strict=True):
            yield ends

    def _find(self, ends: bytes) -> tuple[Connection, bool]:
        """The connection, and whether a sent this segment."""
        connection = self._current.get(ends)
        if connection is None:
            return self._begin(ends, None), True
        if self._step.flags & SYN or self.compatible:
            return self._marked(ends, *connection)
        if connection[0].number in self._opening:
            return self._answered(ends, *connection)
        return connection

    def _marked(self, ends: bytes, newest: Connection, forward: bool) -> tuple[Connection, bool]:
        """The connection of a segment with SYN, or by tcptrace's rules.

        It is the newest connection, or another one that the segment begins.
        """
        if ended_before(self._step, newest, forward, self.compatible):
            unanswered = self._opening.pop(newest.number, None)
            return self._begin(ends, unanswered.before if unanswered else newest), True
        if not forward:
            self._opening.pop(newest.number, None)
        return newest, forward

    def _answered(self, ends: bytes, newest: Connection, forward: bool) -> tuple[Connection, bool]:
        """The connection of a segment if only the SYNs of a were seen of the newest one.

        It is the newest connection, or an older one.
        """
        unanswered = self._opening[newest.number]
        if not unanswered.passes(self._step, forward):
            del self._opening[newest.number]
            return newest, forward
        if unanswered.before is None:
            unanswered.before = self._add(ends)
        return unanswered.before, unanswered.before.ends == ends

    def _begin(self, ends: bytes, before: Connection | None) -> Connection:
        """The newest connection of its ends begins."""
        connection, unanswered = self._add(ends), opening(self._step, before)
        self._current[turned(ends)] = (connection, False)
        self._current[ends] = (connection, True)
        if unanswered and not self.compatible:
            self._opening[connection.number] = unanswered
        return connection

    def _add(self, ends: bytes) -> Connection:
        self.count += 1
        connection = Connection(self.count, ends, self._step.now, self.compatible)
        self.connections.append(connection)
        return connection


def _blocks(tcp_segments: TcpSegments) -> list[tuple[tuple[int, int], ...]]:
    """The SACK blocks of each segment."""
    blocks: list[tuple[tuple[int, int], ...]] = [()] * len(tcp_segments.row)
    rows = np.flatnonzero(tcp_segments.options.block_count)
    counts = tcp_segments.options.block_count[rows].tolist()
    for row, count, edges in zip(
        rows.tolist(), counts, tcp_segments.options.blocks[rows].tolist(), strict=True
    ):
        blocks[row] = tuple(zip(edges[: 2 * count : 2], edges[1 : 2 * count : 2], strict=True))
    return blocks
