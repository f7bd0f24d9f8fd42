"""Records without their wrapping, in a batch that is read like any other."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from analysis.flows.plain.ip_layer import NoSegment
from analysis.flows.plain.link_layer import FRAGMENT, NOT_TCP, PacketBatch
from analysis.flows.plain.networks import TunnelNetworks
from analysis.flows.plain.packet_records import RecordBatch
from analysis.flows.plain.segment import TcpSegments, segments
from analysis.flows.plain.tunnels import Wrappings

_RAW = 101
"""The link type of IP without a link."""
Taken = dict[int, tuple[bytes, int, int]]
"""By row: the inner packet, its length on the wire, its network."""


class Unwrapping:
    """The segments of batches; what waits for a later batch stays here."""

    def __init__(self) -> None:
        self._wrappings = Wrappings()

    @property
    def networks(self) -> TunnelNetworks:
        return self._wrappings.networks

    @property
    def joined(self) -> int:
        """Records that were fragments of a packet that is whole."""
        return self._wrappings.fragments.joined

    def segments(self, batch: RecordBatch) -> tuple[TcpSegments, npt.NDArray[np.int8]]:
        """The TCP segments, and for each record why it is none (FINE if it is)."""
        plain, packets = segments(batch, is_first=False)
        refused = np.flatnonzero(np.isin(packets.why, (NOT_TCP, FRAGMENT)))
        taken = self._taken(packets, refused.tolist())
        if not taken:
            return plain, packets.why
        made, inner = segments(_exchanged(batch, taken), is_first=False)
        rows = np.array(list(taken))
        packets.why[rows] = inner.why[rows]
        return made, packets.why

    def _taken(self, packets: PacketBatch, rows: list[int]) -> Taken:
        """The packets within those rows; of the others the reason is noted."""
        taken: Taken = {}
        for row in rows:
            at, time = int(packets.ip[row]), int(packets.batch.time[row])
            wire = int(packets.batch.length[row]) - at
            packet, vlans = packets.packet(row)[at:], int(packets.network[row])
            try:
                packet, wire, path = self._wrappings.inner(time, packet, wire, vlans)
                taken[row] = packet, wire, self.networks.number(path)
            except NoSegment as reason:
                packets.why[row] = reason.why
        return taken


def _exchanged(batch: RecordBatch, taken: Taken) -> RecordBatch:
    """The batch with inner packets, which stand behind its octets, in the place of some records."""
    rows = np.array(list(taken))
    packets = [packet for packet, _, _ in taken.values()]
    captured, length, link = batch.captured.copy(), batch.length.copy(), batch.link.copy()
    start, network = batch.start.copy(), np.full(len(link), -1, np.int64)
    captured[rows] = [len(packet) for packet in packets]
    length[rows] = [wire for _, wire, _ in taken.values()]
    link[rows] = _RAW
    network[rows] = [number for _, _, number in taken.values()]
    start[rows] = len(batch.octets) + np.cumsum(captured[rows]) - captured[rows]
    octets = np.concatenate([batch.octets, np.frombuffer(b"".join(packets), np.uint8)])
    return RecordBatch(octets, start, captured, length, batch.time, link, network)
