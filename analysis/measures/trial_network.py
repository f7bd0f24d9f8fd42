"""The network of a trial: as it was asked for, and as captures and sockets of its hosts saw it."""

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from functools import cached_property
from ipaddress import IPv4Address

import numpy as np

from analysis.flows.sightings import Sightings, Whole, arrivals, sightings
from analysis.measures.links import PortTraffic, channels, lone
from analysis.records import output
from analysis.records.json_reader import Problems, parse
from analysis.records.output import SocketSample
from analysis.records.run_directory import RunRecord, Trial
from analysis.records.spec_file import RunFlow
from analysis.records.trial_files import EnvironmentFile, QdiscsFile
from analysis.table import RowGroups
from topologies import untrusted
from topologies.addresses import address_of
from topologies.errors import UsageError
from topologies.spec import Port, TopologySpec

_FIN, _SYN, _ACK, _PORT = 1, 2, 16, 0xFFFF
Direction = tuple[str, str]  # A host that sends packets, and the host they are for


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


class TrialNetwork:
    """A trial and the network that was asked for; each file of it is read once."""

    def __init__(self, run: RunRecord, trial: Trial, topology: TopologySpec) -> None:
        self.run, self.trial, self.topology = run, trial, topology
        self._read: dict[str, Sightings | None] = {}
        self._seen: dict[tuple[str, Direction], Sightings] = {}
        self._places: dict[tuple[Direction, bool], dict[tuple[int, bool], Whole]] = {}
        self._pairs: dict[Direction, SentPackets] = {}

    @property
    def label(self) -> str:
        return f"{self.trial.condition.label}, seed {self.trial.seed}"

    @cached_property
    def environment(self) -> EnvironmentFile:
        return parse(EnvironmentFile, self.trial.folder.parent / "environment.json")[0]

    @property
    def real_time(self) -> bool:
        return self.environment.clock == "real"

    @property
    def segmented(self) -> bool:
        """True if every packet is a frame: without it, hosts send packets of up to 64 KB."""
        return self.topology.segmentation == "off"

    @cached_property
    def qdiscs(self) -> QdiscsFile:
        return self.trial.files.qdiscs(Problems())  # whoever reads the trial tells them

    @cached_property
    def samples(self) -> dict[str, dict[str, list[SocketSample]]]:
        """The first and last samples of sockets, by sender and remote port."""
        ports: dict[str, set[str]] = {}
        for flow in self.run.flows:
            ports.setdefault(flow.sender, set()).add(str(flow.port))
        return {host: _socket_ends(self.trial, host, ports[host]) for host in ports}

    @cached_property
    def directions(self) -> tuple[Direction, ...]:
        """Pairs of sender and receiver: each flow's data and its answers."""
        data = ((flow.sender, flow.receiver) for flow in self.run.flows)
        both = dict.fromkeys(direction for there in data for direction in (there, there[::-1]))
        return tuple(filter(self._leads, both))

    @cached_property
    def hosts(self) -> frozenset[str]:
        return frozenset(host for direction in self.directions for host in direction)

    def _leads(self, direction: Direction) -> bool:
        try:
            return bool(self.topology.path(*direction)) and all(map(self.address, direction))
        except (UsageError, StopIteration):
            return False

    def address(self, host: str) -> str:
        """Return a host's address. Raises StopIteration if it has none."""
        return address_of(self.topology, host)

    @cached_property
    def shaped(self) -> dict[Direction, tuple[Port, ...]]:
        """The ports with a channel that a packet leaves through behind its host, by direction."""
        return {
            direction: tuple(port for port in self.topology.path(*direction) if port in self.ports)
            for direction in self.directions
        }

    @cached_property
    def ports(self) -> tuple[Port, ...]:
        """All ports with a channel but those of hosts: captures are taken behind these."""
        every = (port for port in self.topology.ports if port.channel)
        return tuple(port for port in every if port not in self.host_ports)

    @cached_property
    def host_ports(self) -> tuple[Port, ...]:
        every = (port for port in self.topology.ports if port.channel)
        return tuple(port for port in every if self.topology.kind(port.node) == "host")

    def lone(self, direction: Direction, length: int) -> int:
        """Return the nanoseconds that a packet of `length` bytes takes which waits for no other."""
        return lone(self.shaped[direction], length)

    def jitter(self, direction: Direction) -> int:
        """Return the nanoseconds by which all delays of a way may be shorter or longer."""
        return sum(channel.variation.base for channel in channels(self.shaped[direction]))

    def at(self, host: str) -> Sightings | None:
        """Return all that the capture at a host has; None without one that can be used."""
        if host not in self._read:
            name = self.run.capture_of(host)
            self._read[host] = sightings(self.trial.folder, f"{name}.pcap") if name else None
        return self._read[host]

    @cached_property
    def whole(self) -> bool:
        """True if every host that sends or receives has a capture."""
        return bool(self.hosts) and all(self.at(host) is not None for host in self.hosts)

    def seen(self, host: str, direction: Direction) -> Sightings:
        """Return the packets of a way that the capture at a host has; there must be one."""
        if (host, direction) not in self._seen:
            capture = self.at(host)
            assert capture is not None
            source, target = (int(IPv4Address(self.address(end))) for end in direction)
            self._seen[host, direction] = capture.between(source, target)
        return self._seen[host, direction]

    @cached_property
    def crossing(self) -> tuple[PortTraffic, ...]:
        """The traffic of ports that share no packet with others; of several the slowest's."""
        assert self.whole
        groups = self._groups
        return tuple(
            PortTraffic.joined([self.met(direction).through(ports) for direction in directions])
            for ports, directions in groups.items()
            if ports and not any(set(ports) & set(other) for other in groups if other != ports)
        )

    @cached_property
    def common(self) -> tuple[int, int] | None:
        """The time, in ns since 1970, in which all flows send packets; None if they never do."""
        sent = [found.sent for flow in self.run.flows if (found := self.flow(flow))]
        if len(sent) < len(self.run.flows) or not all(map(len, sent)):
            return None
        since, until = max(int(times[0]) for times in sent), min(int(times[-1]) for times in sent)
        return (since, until) if since < until else None

    def flow(self, flow: RunFlow) -> PortTraffic | None:
        """Return a flow's packets towards its receiver; None without whole captures of both."""
        direction, has_receiver = (flow.sender, flow.receiver), self.at(flow.receiver) is not None
        if not self._has_sender(flow) or not has_receiver or not self.segmented:
            return None
        traffic = self.met(direction).through(self.shaped[direction])
        return PortTraffic.joined([traffic.only(self._rows(direction, flow))])

    def _has_sender(self, flow: RunFlow) -> bool:
        direction = flow.sender, flow.receiver
        return direction in self.directions and self.at(flow.sender) is not None

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
        begins, starts = [], self.trial.starts(self.run.flows, Problems())
        for flow, start in zip(self.run.flows, starts, strict=True):
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
        for direction in self.directions:
            groups.setdefault(self.shaped[direction], []).append(direction)
        return groups

    def met(self, direction: Direction) -> SentPackets:
        if direction not in self._pairs:
            sent, arrived = self.seen(direction[0], direction), self.seen(direction[1], direction)
            place = arrivals(sent, arrived)
            came, marked = (
                np.append(values, missing)[place]
                for values, missing in ((arrived.time, -1), (arrived.marked, False))
            )
            counts = int((marked & ~sent.marked).sum()), int((marked & sent.marked).sum())
            self._pairs[direction] = SentPackets(sent, came, *counts)
        return self._pairs[direction]

    @cached_property
    def cut_off(self) -> int:
        """Count packets too late to arrive in time: iperf's last report of UDP is repeated."""
        captures = [capture for capture in map(self.at, self.hosts) if capture is not None]
        end = max(int(capture.time.max(initial=0)) for capture in captures)
        return sum(
            int(((met.came < 0) & (met.sent.time > end - self.lone(direction, 0))).sum())
            for direction in self.directions
            for met in [self.met(direction)]
        )

    @cached_property
    def missing(self) -> int:
        return sum(int((self.met(each).came < 0).sum()) for each in self.directions)


_Samples = dict[str, list[SocketSample]]


def _socket_ends(trial: Trial, host: str, ports: Collection[str]) -> _Samples:
    """Return of each port the samples until data is outstanding, and the last."""
    try:
        lines = untrusted.text_if_any(trial.folder, f"{host}.sockets.jsonl").splitlines()
    except (OSError, untrusted.StrangeFile):
        return {}
    first = _gathered(lines, ports, lambda samples: samples[-1].busy > 0)
    last = _gathered(reversed(lines), ports, lambda samples: samples[-1].busy < samples[0].busy)
    return {port: [*first[port], *reversed(last[port])] for port in ports if first[port]}


def _gathered(
    lines: Iterable[str], ports: Collection[str], enough: Callable[[list[SocketSample]], bool]
) -> _Samples:
    """Return the samples of each port out of whole lines, until those of every port are enough."""
    gathered: _Samples = {port: [] for port in ports}
    waiting = set(ports)
    for line in lines:
        if not waiting:
            break
        try:
            found = output.by_port([line])
        except ValueError:
            continue
        for port in waiting & found.keys():
            gathered[port] += found[port]
            if enough(gathered[port]):
                waiting.remove(port)
    return gathered
