"""Packets of a trial at each port, from the captures of both ends."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property, reduce
from ipaddress import IPv4Address
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from analysis.flows.pcap import RecordBatch, read_pcap
from analysis.records.json_reader import Problems
from analysis.records.spec_file import RunFlow
from analysis.tabular.row_groups import RowGroups
from analysis.traffic.trials import TrialNetwork, Way, lone
from topologies.foundation import untrusted
from topologies.foundation.errors import TcplabError
from topologies.topology_spec import Port

Whole = npt.NDArray[np.int64]
Numbers = npt.NDArray[np.integer[Any]]
Keys = npt.NDArray[np.uint64]

_ETHERNET, _IPV4, _TCP, _UDP = 1, 0x0800, 6, 17
_FIN, _SYN, _ACK, _PORT = 1, 2, 16, 0xFFFF
_COMPARED = 56
"""Bytes from the IP header on by which a packet is recognised: the headers, with TCP's timestamps
or the number of iperf's datagram."""
_CHANGED = [8, 10, 11]
"""What routers change: the TTL and the header's checksum."""
_ECN, _CAPABLE_OR_MARKED = 1, 3
"""The byte of DSCP and ECN, and its bits for ECN. A queue may set both in a packet that has one."""
_CHECKSUM = {_TCP: [36, 37], _UDP: [26, 27]}
"""Not yet computed as a packet leaves its host, and computed if Open vSwitch asks its daemon."""
_FACTOR = np.uint64(0x9E3779B97F4A7C15)


@dataclass(frozen=True)
class Sightings:
    """The IPv4 packets of a capture, in the order of the file.

    `time` in ns since 1970, `length` in bytes with the Ethernet header, addresses as numbers,
    `flags` TCP's (0 of other protocols), `ports` both of them as one number, `key` a number that
    is the packet's own, `marked` whether it has a congestion mark (CE).
    """

    time: Whole
    length: Numbers
    source: Numbers
    target: Numbers
    flags: Numbers
    ports: Numbers
    key: Keys
    marked: npt.NDArray[np.bool_]

    def only(self, chosen: npt.NDArray[np.bool_] | Whole) -> Sightings:
        return Sightings(*(getattr(self, name)[chosen] for name in self.__dataclass_fields__))

    def between(self, source: int, target: int) -> Sightings:
        """Return the packets from one address to another."""
        return self.only((self.source == source) & (self.target == target))

    def __len__(self) -> int:
        return len(self.time)


_KINDS = {
    "time": np.int64,
    "length": np.int32,
    "source": np.uint32,
    "target": np.uint32,
    "flags": np.uint8,
    "ports": np.uint32,
    "key": np.uint64,
    "marked": np.bool_,
}
"""34 bytes a packet: a capture may have millions."""


def joined(parts: list[Sightings]) -> Sightings:
    """Return all packets of several captures, or of none."""
    return Sightings(
        *(
            np.concatenate([np.empty(0, kind), *(getattr(part, name) for part in parts)])
            for name, kind in _KINDS.items()
        )
    )


def sightings(folder: Path, name: str) -> Sightings | None:
    """Return the packets of the capture `name`; None if there is no capture, or a damaged one."""
    try:
        with untrusted.opened(folder, name) as file:
            return joined([_of_batch(batch) for batch in read_pcap(file)])
    except (OSError, TcplabError):
        return None


def _of_batch(batch: RecordBatch) -> Sightings:
    rows = np.flatnonzero((batch.captured >= 34) & (batch.link == _ETHERNET))
    head = _heads(batch, rows)
    ipv4 = (_number(head, 12, 2) == _IPV4) & (head[:, 14] >> 4 == 4)
    return _of_heads(head[ipv4], batch.time[rows][ipv4], batch.length[rows][ipv4])


def _heads(batch: RecordBatch, rows: Whole) -> npt.NDArray[np.uint8]:
    """Return the headers of packets, with 0 behind the end of a short one."""
    width = 14 + _COMPARED
    padded = np.concatenate((batch.octets, np.zeros(width, np.uint8)))
    heads = np.lib.stride_tricks.sliding_window_view(padded, width)[batch.start[rows]]
    heads[np.arange(width) >= batch.captured[rows, None]] = 0
    return heads


def _of_heads(head: npt.NDArray[np.uint8], time: Whole, length: Whole) -> Sightings:
    tcp = head[:, 14 + 9] == _TCP
    columns = (
        time,
        length,
        _number(head, 26, 4),
        _number(head, 30, 4),
        np.where(tcp, head[:, 14 + 33], 0),
        _number(head, 34, 4),
        _key(head[:, 14:], length),
        head[:, 14 + _ECN] & _CAPABLE_OR_MARKED == _CAPABLE_OR_MARKED,
    )
    kinds = zip(columns, _KINDS.values(), strict=True)
    return Sightings(*(column.astype(kind) for column, kind in kinds))


def _number(head: npt.NDArray[np.uint8], at: int, octets: int) -> Whole:
    return reduce(
        lambda number, column: number << 8 | column,
        (head[:, at + place].astype(np.int64) for place in range(octets)),
    )


def _key(packet: npt.NDArray[np.uint8], length: Whole) -> Keys:
    """64 bits of what the network leaves alone (a multiplicative hash, word by word)."""
    unchanged = packet.copy()
    unchanged[:, _CHANGED] = 0
    # ECT(0), ECT(1) and CE count as one. A packet that ECN is not for must stay that.
    unchanged[packet[:, _ECN] & _CAPABLE_OR_MARKED > 0, _ECN] |= _CAPABLE_OR_MARKED
    for protocol, octets in _CHECKSUM.items():
        unchanged[np.ix_(packet[:, 9] == protocol, octets)] = 0
    words = np.ascontiguousarray(unchanged).view(np.uint64)
    key = length.astype(np.uint64)
    for column in range(words.shape[1]):
        key = (key ^ words[:, column]) * _FACTOR
        key ^= key >> np.uint64(29)
    return key


def arrivals(sent: Sightings, arrived: Sightings) -> Whole:
    """For each sent packet the place of its arrival, -1 if it has none.

    Equal packets are paired in the order of their times.
    """
    left, right = _numbered(sent), _numbered(arrived)
    order = np.argsort(right, kind="stable")
    place = np.minimum(np.searchsorted(right[order], left), max(0, len(right) - 1))
    came = right[order][place] == left if len(right) else np.zeros(len(left), np.bool_)
    return np.where(came, order[place] if len(right) else 0, -1)


def _numbered(packets: Sightings) -> Keys:
    """Return the keys, those of equal packets counted up."""
    order = np.lexsort((packets.time, packets.key))
    ordered = packets.key[order]
    new = np.concatenate(([True], ordered[1:] != ordered[:-1]))[: len(ordered)]
    first = np.maximum.accumulate(np.where(new, np.arange(len(ordered)), 0))
    turn = np.empty(len(ordered), np.int64)
    turn[order] = np.arange(len(ordered)) - first
    return packets.key + turn.astype(np.uint64) * _FACTOR


@dataclass(frozen=True)
class PortTraffic:
    """The packets that hosts sent through a port, in the order in which they were sent.

    Those that came have `came` (ns since 1970), the others -1. `ports` are the shaped ports of
    their way, `sent` and `length` as in Sightings.
    """

    ports: tuple[Port, ...]
    sent: Whole
    length: Whole
    came: Whole

    @property
    def alone(self) -> bool:
        """True if this is the only shaped port on the way: all that enters and leaves it is seen.

        Else the packets cross several, and one that did not come may have crossed some of them.
        """
        return len(self.ports) == 1

    @property
    def missing(self) -> int:
        return int((self.came < 0).sum())

    @property
    def arrived(self) -> npt.NDArray[np.bool_]:
        return self.came >= 0

    @property
    def delay(self) -> Whole:
        """Nanoseconds from end to end of each packet that arrived."""
        delays: Whole = (self.came - self.sent)[self.arrived]
        return delays

    @property
    def wait(self) -> Whole:
        """Nanoseconds that each packet that arrived took longer than a lone one.

        It waited in a queue, except for what a delay that varies adds or takes.
        """
        waits: Whole = self.delay - lone(self.ports, self.length[self.arrived])
        return waits

    def within(self, since: int, until: int) -> PortTraffic:
        """Return the packets that were sent in a time, in ns since 1970."""
        chosen = (self.sent >= since) & (self.sent < until)
        return replace(
            self, sent=self.sent[chosen], length=self.length[chosen], came=self.came[chosen]
        )


def _in_order(ports: tuple[Port, ...], packets: Sightings, came: Whole) -> PortTraffic:
    order = np.argsort(packets.time, kind="stable")
    length = packets.length[order].astype(np.int64)
    return PortTraffic(ports, packets.time[order], length, came[order])


@dataclass(frozen=True)
class SentPackets:
    """The packets sent one way, and when each arrived (-1: never).

    Of those that arrived, `marked` got a congestion mark on the way, and `marked_before` left with
    one.
    """

    sent: Sightings
    came: Whole
    marked: int
    marked_before: int


class TrialTraffic:
    """The captures of a trial's hosts; each is read once."""

    def __init__(self, network: TrialNetwork) -> None:
        self.network = network
        self._read: dict[str, Sightings | None] = {}
        self._seen: dict[tuple[str, Way], Sightings] = {}
        self._places: dict[tuple[str, Way, bool], dict[tuple[int, bool], Whole]] = {}
        self._pairs: dict[Way, SentPackets] = {}

    def at(self, host: str) -> Sightings | None:
        """Return all that the capture at a host has; None without one that can be used."""
        if host not in self._read:
            name = self.network.run.capture_of(host)
            folder = self.network.trial.folder
            self._read[host] = sightings(folder, f"{name}.pcap") if name else None
        return self._read[host]

    @cached_property
    def whole(self) -> bool:
        """True if every host that sends or receives has a capture."""
        hosts = self.network.hosts
        return bool(hosts) and all(self.at(host) is not None for host in hosts)

    def seen(self, host: str, way: Way) -> Sightings:
        """Return the packets of a way that the capture at a host has; there must be one."""
        if (host, way) not in self._seen:
            capture = self.at(host)
            assert capture is not None
            source, target = (int(IPv4Address(self.network.address(end))) for end in way)
            self._seen[host, way] = capture.between(source, target)
        return self._seen[host, way]

    @cached_property
    def crossing(self) -> tuple[PortTraffic, ...]:
        """The traffic of each shaped port, if all of its packets take the same shaped ports.

        If they take several, only that of the slowest of these.
        """
        assert self.whole
        groups = self._groups
        return tuple(
            self._traffic(ports, ways)
            for ports, ways in groups.items()
            if ports and not any(set(ports) & set(other) for other in groups if other != ports)
        )

    @cached_property
    def common(self) -> tuple[int, int] | None:
        """The time, in ns since 1970, in which all flows send packets; None if they never do."""
        sent = [found.sent for flow in self.network.run.flows if (found := self.flow(flow))]
        if len(sent) < len(self.network.run.flows) or not all(map(len, sent)):
            return None
        since, until = max(int(times[0]) for times in sent), min(int(times[-1]) for times in sent)
        return (since, until) if since < until else None

    def flow(self, flow: RunFlow) -> PortTraffic | None:
        """Return a flow's packets towards its receiver; None without whole captures of both."""
        way = flow.sender, flow.receiver
        if way not in self.network.ways or any(self.at(end) is None for end in way):
            return None
        if not self.network.segmented:
            return None
        met, own = self.met(way), self._rows(way[0], way, flow)
        return _in_order(self.network.shaped(way), met.sent.only(own), met.came[own])

    def completion(self, flow: RunFlow) -> int | None:
        """Return the ns from a flow's first SYN to the last ACK at its sender.

        None if the sender has no capture, or the connection did not end.
        """
        way = flow.sender, flow.receiver
        if way not in self.network.ways or self.at(flow.sender) is None:
            return None
        sent, answers = (
            self.seen(flow.sender, each).only(self._rows(flow.sender, each, flow))
            for each in (way, way[::-1])
        )
        opened = sent.time[sent.flags & (_SYN | _ACK) == _SYN]
        closed = sent.time[sent.flags & _FIN > 0]
        acknowledged = answers.time[answers.flags & _ACK > 0]
        if not len(opened) or not len(closed) or not (acknowledged > closed[0]).any():
            return None
        return int(acknowledged[-1] - opened[0])

    @cached_property
    def begin(self) -> float | None:
        """The second since 1970 from which the starts of flows count; None without a capture."""
        flows = self.network.run.flows
        starts = self.network.trial.starts(flows, Problems())
        first = (self._first(flow) for flow in flows)
        known = [time - start for time, start in zip(first, starts, strict=True) if time]
        return min(known, default=None)

    def _first(self, flow: RunFlow) -> float | None:
        way = flow.sender, flow.receiver
        if way not in self.network.ways or self.at(flow.sender) is None:
            return None
        rows = self._rows(flow.sender, way, flow)
        return self.seen(flow.sender, way).time[rows[0]] / 1e9 if len(rows) else None

    def _rows(self, host: str, way: Way, flow: RunFlow) -> Whole:
        """Return the places of a flow's packets among those that `host` saw of a way."""
        there = way[0] == flow.sender
        if (host, way, there) not in self._places:
            seen = self.seen(host, way)
            receivers = seen.ports & _PORT if there else seen.ports >> 16
            parts = RowGroups(receivers, seen.flags > 0)
            keys = (receivers[parts.first].tolist(), (seen.flags[parts.first] > 0).tolist())
            found = dict(zip(zip(*keys, strict=True), parts.rows, strict=True))
            self._places[host, way, there] = found
        none = np.empty(0, np.int64)
        return self._places[host, way, there].get((flow.port, flow.protocol == "tcp"), none)

    @cached_property
    def joined_ways(self) -> list[tuple[set[Port], list[Way]]]:
        """The shaped ports, each with all that its packets cross too, and the ways through them."""
        parts: list[tuple[set[Port], list[Way]]] = []
        for ports, ways in self._groups.items():
            meeting = [part for part in parts if part[0] & set(ports)]
            parts = [part for part in parts if part not in meeting]
            parts.append(
                (
                    set(ports).union(*(part[0] for part in meeting)),
                    [*ways, *(way for part in meeting for way in part[1])],
                )
            )
        return [part for part in parts if part[0]]

    @cached_property
    def _groups(self) -> dict[tuple[Port, ...], list[Way]]:
        groups: dict[tuple[Port, ...], list[Way]] = {}
        for way in self.network.ways:
            groups.setdefault(self.network.shaped(way), []).append(way)
        return groups

    def _traffic(self, ports: tuple[Port, ...], ways: list[Way]) -> PortTraffic:
        met = [self.met(way) for way in ways]
        packets = joined([each.sent for each in met])
        return _in_order(ports, packets, np.concatenate([each.came for each in met]))

    def met(self, way: Way) -> SentPackets:
        """Return the packets sent that way, each with its arrival."""
        if way not in self._pairs:
            sent, arrived = self.seen(way[0], way), self.seen(way[1], way)
            place = arrivals(sent, arrived)
            marked = np.append(arrived.marked, False)[place]
            self._pairs[way] = SentPackets(
                sent,
                np.append(arrived.time, -1)[place],
                int((marked & ~sent.marked).sum()),
                int((marked & sent.marked).sum()),
            )
        return self._pairs[way]

    @cached_property
    def cut_off(self) -> int:
        """Count the missing packets that left too late to arrive before the captures ended.

        iperf's server of UDP reports once more when it is ended, if its last report was lost.
        """
        captures = [capture for capture in map(self.at, self.network.hosts) if capture is not None]
        end = max(int(capture.time.max(initial=0)) for capture in captures)
        latest = {way: end - self.network.lone(way, 0) for way in self.network.ways}
        met = ((self.met(way), latest[way]) for way in self.network.ways)
        return sum(int(((each.came < 0) & (each.sent.time > last)).sum()) for each, last in met)

    @cached_property
    def missing(self) -> int:
        """Count the packets that were sent and did not arrive."""
        return sum(int((self.met(way).came < 0).sum()) for way in self.network.ways)
