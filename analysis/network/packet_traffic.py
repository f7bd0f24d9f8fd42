"""What every captured host of a trial sent and received, and what crossed each shaped port."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from ipaddress import IPv4Address

import numpy as np

from analysis.network.asked_network import TrialNetwork, Way
from analysis.network.sightings import Sightings, Whole, arrivals, joined, sightings
from topologies.topology_spec import Port


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
        """Whether this is the only shaped port on the way: all that enters and leaves it is seen.

        Else the packets cross several, and one that did not come may have crossed some of them.
        """
        return len(self.ports) == 1

    @property
    def missing(self) -> int:
        return int((self.came < 0).sum())


class TrialTraffic:
    """The captures of a trial's hosts; each is read once."""

    def __init__(self, network: TrialNetwork) -> None:
        self.network = network
        self._read: dict[str, Sightings | None] = {}
        self._pairs: dict[Way, tuple[Sightings, Whole]] = {}

    def at(self, host: str) -> Sightings | None:
        """All that the capture at a host has; None without one that can be used."""
        if host not in self._read:
            name = self.network.run.capture_of(host)
            folder = self.network.trial.folder
            self._read[host] = sightings(folder, f"{name}.pcap") if name else None
        return self._read[host]

    @cached_property
    def whole(self) -> bool:
        """Whether every host that sends or receives has a capture."""
        hosts = {host for way in self.network.ways for host in way}
        return bool(hosts) and all(self.at(host) is not None for host in hosts)

    def seen(self, host: str, way: Way) -> Sightings:
        """The packets of a way that the capture at a host has; there must be one."""
        capture = self.at(host)
        assert capture is not None
        source, target = (int(IPv4Address(self.network.address(end))) for end in way)
        return capture.between(source, target)

    @cached_property
    def crossing(self) -> tuple[PortTraffic, ...]:
        """The traffic of each shaped port, if all of its packets take the same shaped ports.

        If they take several, only that of the slowest of these.
        """
        assert self.whole
        groups: dict[tuple[Port, ...], list[Way]] = {}
        for way in self.network.ways:
            groups.setdefault(self.network.shaped(way), []).append(way)
        shared = [ports for ports in groups if ports and self._shares_nothing(ports, groups)]
        return tuple(self._traffic(ports, groups[ports]) for ports in shared)

    def _shares_nothing(
        self, ports: tuple[Port, ...], groups: dict[tuple[Port, ...], list[Way]]
    ) -> bool:
        return not any(set(ports) & set(other) for other in groups if other != ports)

    def _traffic(self, ports: tuple[Port, ...], ways: list[Way]) -> PortTraffic:
        sent, came = zip(*(self._met(way) for way in ways), strict=True)
        packets, times = joined(list(sent)), np.concatenate(came)
        order = np.argsort(packets.time, kind="stable")
        length = packets.length[order].astype(np.int64)
        return PortTraffic(ports, packets.time[order], length, times[order])

    def _met(self, way: Way) -> tuple[Sightings, Whole]:
        """What was sent that way, and when each packet came."""
        if way not in self._pairs:
            sent, arrived = self.seen(way[0], way), self.seen(way[1], way)
            times = np.append(arrived.time, -1)
            self._pairs[way] = sent, times[arrivals(sent, arrived)]
        return self._pairs[way]

    @cached_property
    def missing(self) -> int:
        """How many packets were sent and did not come."""
        return sum(int((self._met(way)[1] < 0).sum()) for way in self.network.ways)
