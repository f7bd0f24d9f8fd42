"""Requested network of a trial, and the records of its folder."""

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from analysis.records import output
from analysis.records.json_reader import Problems, parse
from analysis.records.output import SocketSample
from analysis.records.run_directory import RunRecord, Trial
from analysis.records.trial_files import EnvironmentFile, QdiscsFile
from topologies import untrusted
from topologies.addresses import address_of
from topologies.errors import UsageError
from topologies.spec import SHORTEST_DELAY, Channel, Port, TopologySpec

_Samples = dict[str, list[SocketSample]]


def socket_ends(folder: Path, host: str, ports: Collection[str]) -> _Samples:
    """Of each port the samples until data is outstanding, and the last; no broken lines."""
    try:
        lines = untrusted.text_if_any(folder, f"{host}.sockets.jsonl").splitlines()
    except (OSError, untrusted.StrangeFile):
        return {}
    first = _gathered(lines, ports, lambda samples: samples[-1].busy > 0)
    last = _gathered(reversed(lines), ports, lambda samples: samples[-1].busy < samples[0].busy)
    return {port: [*first[port], *reversed(last[port])] for port in ports if first[port]}


def _gathered(
    lines: Iterable[str], ports: Collection[str], enough: Callable[[list[SocketSample]], bool]
) -> _Samples:
    """Return the samples of each port, line by line, until those of every port are enough."""
    gathered: _Samples = {port: [] for port in ports}
    waiting = set(ports)
    for line in lines:
        if not waiting:
            break
        try:
            found = output.by_port([line])
        except ValueError:
            continue
        for port, samples in found.items():
            if port in waiting:
                gathered[port] += samples
                if enough(gathered[port]):
                    waiting.remove(port)
    return gathered


Direction = tuple[str, str]  # A host that sends packets, and the host they are for

Lengths = TypeVar("Lengths", int, npt.NDArray[np.int64])  # the length of a packet, or those of many

FRAME_HEADER = 14  # bytes of Ethernet before IP, which a link carries too


@dataclass(frozen=True)
class TrialNetwork:
    """A trial and the network that was asked for."""

    run: RunRecord
    trial: Trial
    topology: TopologySpec

    @property
    def label(self) -> str:
        """The trial as people name it."""
        return f"{self.trial.condition.label}, seed {self.trial.seed}"

    @cached_property
    def environment(self) -> EnvironmentFile:
        """Content of the seed's environment.json."""
        return parse(EnvironmentFile, self.trial.folder.parent / "environment.json").record

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

    def samples(self, host: str) -> dict[str, list[SocketSample]]:
        """Return the first and last samples of a sender's sockets by the remote port."""
        return self._samples.get(host, {})

    @cached_property
    def _samples(self) -> dict[str, dict[str, list[SocketSample]]]:
        """Each file is read once: there may be many flows."""
        ports: dict[str, set[str]] = {}
        for flow in self.run.flows:
            ports.setdefault(flow.sender, set()).add(str(flow.port))
        return {host: socket_ends(self.trial.folder, host, ports[host]) for host in ports}

    @cached_property
    def directions(self) -> tuple[Direction, ...]:
        """Pairs of sender and receiver: each flow's data and its answers."""
        data = ((flow.sender, flow.receiver) for flow in self.run.flows)
        both = (direction for there in data for direction in (there, there[::-1]))
        return tuple(dict.fromkeys(direction for direction in both if self._leads(direction)))

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

    def shaped(self, direction: Direction) -> tuple[Port, ...]:
        """The ports with a channel that a packet leaves through behind its host, in order."""
        return self._shaped[direction]

    @cached_property
    def _shaped(self) -> dict[Direction, tuple[Port, ...]]:
        return {
            direction: tuple(port for port in self.topology.path(*direction) if port in self.ports)
            for direction in self.directions
        }

    @cached_property
    def ports(self) -> tuple[Port, ...]:
        """All ports with a channel but those of hosts: captures are taken behind these."""
        return tuple(port for port in self._with_channel if port not in self.host_ports)

    @cached_property
    def host_ports(self) -> tuple[Port, ...]:
        kind = self.topology.kind
        return tuple(port for port in self._with_channel if kind(port.node) == "host")

    @property
    def _with_channel(self) -> tuple[Port, ...]:
        return tuple(port for port in self.topology.ports if port.channel)

    def lone(self, direction: Direction, length: int) -> int:
        """Nanoseconds that a packet of `length` bytes takes which waits for no other."""
        return lone(self.shaped(direction), length)

    def jitter(self, direction: Direction) -> int:
        """Nanoseconds by which all delays of a way may be shorter or longer."""
        return sum(channel.variation.base for channel in channels(self.shaped(direction)))


def channels(ports: tuple[Port, ...]) -> list[Channel]:
    return [port.channel for port in ports if port.channel]


def delay_of(channel: Channel) -> int:
    """Nanoseconds of a channel's delay line."""
    return max(channel.delay, SHORTEST_DELAY).base


def carried(channel: Channel, length: Lengths) -> Lengths:
    """Nanoseconds for which a packet of `length` bytes occupies the link."""
    return length * 8 * 10**9 // channel.bandwidth.base


def lone(ports: tuple[Port, ...], length: Lengths) -> Lengths:
    """Nanoseconds that a packet of `length` bytes takes over these ports if it never waits."""
    passing = 0 * length
    for channel in channels(ports):
        passing = passing + delay_of(channel) + carried(channel, length)
    return passing
