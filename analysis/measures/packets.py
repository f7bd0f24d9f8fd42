"""Packets of a trial at each port, from the captures of both ends."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from ipaddress import IPv4Address

import numpy as np

from analysis.flows.sightings import Sightings, Truths, Whole, arrivals, sightings
from analysis.measures.trials import Direction, TrialNetwork, lone
from analysis.records.json_reader import Problems
from analysis.records.spec_file import RunFlow
from analysis.table import RowGroups
from topologies.spec import Port

_FIN, _SYN, _ACK, _PORT = 1, 2, 16, 0xFFFF


@dataclass(frozen=True)
class PortTraffic:
    """Packets through `ports` in the order of sending; `came` is ns since 1970, or -1."""

    ports: tuple[Port, ...]
    sent: Whole
    length: Whole
    came: Whole

    @property
    def alone(self) -> bool:
        """True if this is the only shaped port on the way, so that all its packets are seen."""
        return len(self.ports) == 1

    @property
    def arrived(self) -> Truths:
        return self.came >= 0

    @property
    def delay(self) -> Whole:
        """Nanoseconds from end to end of each packet that arrived."""
        delays: Whole = (self.came - self.sent)[self.arrived]
        return delays

    @property
    def wait(self) -> Whole:
        """Nanoseconds beyond a lone packet's, in queues or by a delay that varies."""
        waits: Whole = self.delay - lone(self.ports, self.length[self.arrived])
        return waits

    def only(self, chosen: Truths | Whole) -> PortTraffic:
        """Return some of the packets, in this order."""
        columns = {name: getattr(self, name)[chosen] for name in ("sent", "length", "came")}
        return replace(self, **columns)

    def within(self, since: int, until: int) -> PortTraffic:
        """Return the packets that were sent in a time, in ns since 1970."""
        return self.only((self.sent >= since) & (self.sent < until))


def _joined(parts: list[PortTraffic]) -> PortTraffic:
    """Return all packets through some ports, in the order in which they were sent."""
    columns = ([getattr(part, name) for part in parts] for name in ("sent", "length", "came"))
    joined = PortTraffic(parts[0].ports, *map(np.concatenate, columns))
    return joined.only(np.argsort(joined.sent, kind="stable"))


@dataclass(frozen=True)
class SentPackets:
    """Packets one way with arrivals (-1: none); `marked` on the way, or `marked_before` it."""

    sent: Sightings
    came: Whole
    marked: int
    marked_before: int

    def through(self, ports: tuple[Port, ...]) -> PortTraffic:
        length = self.sent.length.astype(np.int64)
        return PortTraffic(ports, self.sent.time, length, self.came)


class TrialTraffic:
    """The captures of a trial's hosts; each is read once."""

    def __init__(self, network: TrialNetwork) -> None:
        self.network = network
        self._read: dict[str, Sightings | None] = {}
        self._seen: dict[tuple[str, Direction], Sightings] = {}
        self._places: dict[tuple[Direction, bool], dict[tuple[int, bool], Whole]] = {}
        self._pairs: dict[Direction, SentPackets] = {}

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

    def seen(self, host: str, direction: Direction) -> Sightings:
        """Return the packets of a way that the capture at a host has; there must be one."""
        if (host, direction) not in self._seen:
            capture = self.at(host)
            assert capture is not None
            source, target = (int(IPv4Address(self.network.address(end))) for end in direction)
            self._seen[host, direction] = capture.between(source, target)
        return self._seen[host, direction]

    @cached_property
    def crossing(self) -> tuple[PortTraffic, ...]:
        """The traffic of ports that share no packet with others; of several the slowest's."""
        assert self.whole
        groups = self._groups
        return tuple(
            _joined([self.met(direction).through(ports) for direction in directions])
            for ports, directions in groups.items()
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
        direction, has_receiver = (flow.sender, flow.receiver), self.at(flow.receiver) is not None
        if not self._has_sender(flow) or not has_receiver or not self.network.segmented:
            return None
        traffic = self.met(direction).through(self.network.shaped(direction))
        return _joined([traffic.only(self._rows(direction, flow))])

    def _has_sender(self, flow: RunFlow) -> bool:
        """True if the sender's capture can be used."""
        direction = flow.sender, flow.receiver
        return direction in self.network.directions and self.at(flow.sender) is not None

    def completion(self, flow: RunFlow) -> int | None:
        """Return the ns from the first SYN to the last ACK at the sender; None if unended."""
        if not self._has_sender(flow):
            return None
        direction = flow.sender, flow.receiver
        ways = (direction, direction[::-1])
        sent, answers = (self.seen(flow.sender, x).only(self._rows(x, flow)) for x in ways)
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
        begins = []
        for flow, start in zip(flows, starts, strict=True):
            direction = flow.sender, flow.receiver
            if self._has_sender(flow) and len(rows := self._rows(direction, flow)):
                begins.append(self.seen(flow.sender, direction).time[rows[0]] / 1e9 - start)
        return min(begins, default=None)

    def _rows(self, direction: Direction, flow: RunFlow) -> Whole:
        """Return the places of a flow's packets among those that its sender saw of a way."""
        there = direction[0] == flow.sender
        if (direction, there) not in self._places:
            seen = self.seen(flow.sender, direction)
            receivers, is_tcp = seen.ports & _PORT if there else seen.ports >> 16, seen.flags > 0
            parts = RowGroups(receivers, is_tcp)
            keys = zip(receivers[parts.first].tolist(), is_tcp[parts.first].tolist(), strict=True)
            self._places[direction, there] = dict(zip(keys, parts.rows, strict=True))
        none = np.empty(0, np.int64)
        return self._places[direction, there].get((flow.port, flow.protocol == "tcp"), none)

    @cached_property
    def joined_ways(self) -> list[tuple[set[Port], list[Direction]]]:
        """The shaped ports, each with all that its packets cross too, and the ways through them."""
        parts: list[tuple[set[Port], list[Direction]]] = []
        for ports, directions in self._groups.items():
            met = [part for part in parts if part[0] & set(ports)]
            others = [way for _, ways in met for way in ways]
            joined = set(ports).union(*(part[0] for part in met)), [*directions, *others]
            parts = [*(part for part in parts if part not in met), joined]
        return [part for part in parts if part[0]]

    @cached_property
    def _groups(self) -> dict[tuple[Port, ...], list[Direction]]:
        groups: dict[tuple[Port, ...], list[Direction]] = {}
        for direction in self.network.directions:
            groups.setdefault(self.network.shaped(direction), []).append(direction)
        return groups

    def met(self, direction: Direction) -> SentPackets:
        if direction not in self._pairs:
            sent, arrived = self.seen(direction[0], direction), self.seen(direction[1], direction)
            place = arrivals(sent, arrived)
            marked = np.append(arrived.marked, False)[place]
            self._pairs[direction] = SentPackets(
                sent,
                np.append(arrived.time, -1)[place],
                int((marked & ~sent.marked).sum()),
                int((marked & sent.marked).sum()),
            )
        return self._pairs[direction]

    @cached_property
    def cut_off(self) -> int:
        """Count packets too late to arrive in time: iperf's last report of UDP is repeated."""
        captures = [capture for capture in map(self.at, self.network.hosts) if capture is not None]
        end = max(int(capture.time.max(initial=0)) for capture in captures)
        return sum(
            int(((met.came < 0) & (met.sent.time > end - self.network.lone(direction, 0))).sum())
            for direction in self.network.directions
            for met in [self.met(direction)]
        )

    @cached_property
    def missing(self) -> int:
        """Count the packets that were sent and did not arrive."""
        return sum(int((self.met(each).came < 0).sum()) for each in self.network.directions)
