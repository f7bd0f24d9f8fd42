"""Links of a network, as tests change them and put faults on them."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Unpack

from experiments.programs.program import Ordered, nanoseconds
from experiments.programs.words import FaultWords, LinkWords, Side, fault_fields
from experiments.study.link import read_delays
from topologies.data import from_data, to_data
from topologies.errors import UsageError, named
from topologies.faults import Answer, Fault, FaultKind, Spot, spots
from topologies.spec import Channel, Port

BANDWIDTH = "100mbit"
_USUAL: dict[str, Any] = to_data(Fault("drop")) | {"kind": None}


def channel(**values: Unpack[LinkWords]) -> Channel:
    """Return a direction of a link from text, such as delay="150ms". Raises UsageError."""
    made: Channel = from_data(Channel, {"bandwidth": BANDWIDTH, **values}, "link")
    return made


def during(at: str | float, for_: str | float | None) -> dict[str, int | None]:
    """Return the members of an order that say when it begins and how long it lasts."""
    return {"at": nanoseconds(at), "lasts": None if for_ is None else nanoseconds(for_)}


@dataclass(frozen=True)
class NetworkFault:
    """A fault that was put on a network."""

    network: Ordered
    numbers: tuple[int, ...]

    @property
    def hits(self) -> int:
        """Packets that it has hit so far."""
        return int(self.network.order("hits", faults=list(self.numbers)))

    def heal(self) -> None:
        """End it. Packets that it holds go on."""
        self.network.order("heal", faults=list(self.numbers))


def put(
    network: Ordered, kind: FaultKind, at_spots: Sequence[Spot], words: FaultWords, **more: str
) -> NetworkFault:
    fault: Fault = from_data(Fault, {"kind": kind, **fault_fields(words), **more}, "fault")
    moment = during(words.get("at", 0.0), words.get("for_"))
    asked = {name: value for name, value in to_data(fault).items() if value != _USUAL[name]}
    ports = {spot.port: list(spot.sources) for spot in at_spots}
    numbers = network.order("fault", fault=asked, ports=ports, **moment)
    return NetworkFault(network, tuple(numbers))


@dataclass(frozen=True)
class Direction:
    """The ports at which faults hit packets of a direction, and those with its channels."""

    spots: tuple[Spot, ...]
    ports: tuple[Port, ...] = ()


@dataclass(frozen=True)
class NetworkLink:
    """One or more links, or the packets between two hosts: faults are put on them.

    `side` is "right" for the way from the first node to the second, "left" for the way back.
    Other arguments say which packets are hit (`tcplab.testing.FaultWords`), when the fault begins
    (`at`) and how long it lasts (`for_`). The first fault that hits a packet decides. Each method
    raises UsageError for what cannot be.
    """

    network: Ordered
    rightward: Direction
    leftward: Direction

    def down(
        self, side: Side = "both", *, at: str | float = 0.0, for_: str | float | None = None
    ) -> NetworkFault:
        """Lose every packet, `at` a time from now, until it is healed or `for_` is over."""
        return self.drop(side, at=at, for_=for_)

    def change(
        self,
        side: Side = "both",
        *,
        at: str | float = 0.0,
        for_: str | float | None = None,
        **values: Unpack[LinkWords],
    ) -> None:
        """Change values such as loss="10%" from a moment on, or for a time."""
        ports = [port for way in self._ways(side) for port in way.ports]
        if not ports:
            problem = "There is no link with a delay or a rate to change."
            raise UsageError(problem, "Name two neighbours, or put a fault such as delay().")
        for port in ports:
            from_data(Channel, {**to_data(port.channel), **values}, port.name)
        names = [port.name for port in ports]
        self.network.order("link", ports=names, values=values, **during(at, for_))

    def follow(self, delays: Path | str, side: Side = "both") -> None:
        """Give the link the delays of a file: a line is a time from now and a delay, 2s 80ms."""
        for time, delay in read_delays(delays):
            self.change(side, at=str(time), delay=str(delay))

    def drop(self, side: Side = "both", **words: Unpack[FaultWords]) -> NetworkFault:
        """Lose packets, such as nth=3, flag="SYN", larger="1400B" (a black hole) or share="5%"."""
        return self._put("drop", side, words)

    def delay(self, side: Side = "both", *, by: str, **words: Unpack[FaultWords]) -> NetworkFault:
        """Hold each packet for a time, while others pass."""
        return self._put("delay", side, words, delay=by)

    def reorder(
        self, side: Side = "both", *, behind: int = 1, **words: Unpack[FaultWords]
    ) -> NetworkFault:
        """Hold packets until so many others that match have passed."""
        return self._put("reorder", side, words, behind=str(behind))

    def stall(self, side: Side = "both", **words: Unpack[FaultWords]) -> NetworkFault:
        """Hold packets until the fault ends; then they go on in order."""
        return self._put("stall", side, words)

    def duplicate(self, side: Side = "both", **words: Unpack[FaultWords]) -> NetworkFault:
        """Let packets pass twice."""
        return self._put("duplicate", side, words)

    def corrupt(self, side: Side = "both", **words: Unpack[FaultWords]) -> NetworkFault:
        """Flip a bit of packets behind the header of IP, which checksums find."""
        return self._put("corrupt", side, words)

    def reset(self, side: Side = "both", **words: Unpack[FaultWords]) -> NetworkFault:
        """Replace segments of TCP by a RST to each end."""
        return self._put("reset", side, words)

    def refuse(
        self, side: Side = "both", *, answer: Answer = "closed", **words: Unpack[FaultWords]
    ) -> NetworkFault:
        """Lose packets, and answer them: "closed" as a closed port does, all others by ICMP."""
        return self._put("refuse", side, words, answer=answer)

    def _put(self, kind: FaultKind, side: Side, words: FaultWords, **more: str) -> NetworkFault:
        spots = [spot for way in self._ways(side) for spot in way.spots]
        return put(self.network, kind, spots, words, **more)

    def _ways(self, side: Side) -> tuple[Direction, ...]:
        ways = {"right": (self.rightward,), "left": (self.leftward,)}
        return named("A link has no side", side, {"both": (self.rightward, self.leftward), **ways})


def link_of(network: Ordered) -> NetworkLink:
    ways = []
    for side in (0, 1):  # ports of a link are next to each other, that to the right first
        ports = [port for port in network.topology.ports[side::2] if port.channel]
        ways.append(Direction(tuple(Spot(port.name) for port in ports), tuple(ports)))
    return NetworkLink(network, *ways)


def link_between(network: Ordered, node: str, other: str) -> NetworkLink:
    """Return the link between neighbours, or the packets between hosts. Raises UsageError."""
    topology = network.topology
    ways = []
    for one, two in ((node, other), (other, node)):
        found = spots(topology, one, two)
        ports = (port for port in topology.ports_of[one] if port.peer == two and port.channel)
        ways.append(Direction(found, tuple(ports)))
    return NetworkLink(network, *ways)
