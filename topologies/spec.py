"""What a network is: nodes, links, and what each direction of a link does to packets. Frozen data.

A `Channel` is one direction of a link. It leaves from a switch or a router: a capture on the
sending host would not see losses drawn behind its queue, and TCP small queues would see a queue
there. Studies whose hosts had one name these (`TopologySpec.shaping_hosts`).
"""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

from topologies.disciplines import discipline
from topologies.errors import UsageError
from topologies.loss import GilbertElliott, gemodel
from topologies.units import WHOLE, Duration, Packets, Quantity, Rate, Share, Size

NodeKind = Literal["host", "switch", "router"]

SLOWEST, FASTEST = Rate.parse("1kbit"), Rate.parse("100gbit")
LONGEST_DELAY = Duration.parse("60s")
# That of a delay line without delay, which detaches packets from the sockets that sent them.
SHORTEST_DELAY = Duration.parse("100ns")
MOST_PACKETS = Packets(1_000_000)
_LARGEST_BURST = Size(1 << 30)
CUT_OFF = "tcplab cut this flow off"
"""In the client's file of a flow whose duration ended before its amount had arrived."""
_FULL_FRAME_NS = 1514 * 8 * 10**9  # bits of a full frame on Ethernet, for a time in nanoseconds
ETHERNET, JUMBO = Size(1500), Size(9000)
# An interface's name has 15 characters (IFNAMSIZ): the node's name, "-eth" and two digits.
_LONGEST_NAME = 9


@dataclass(frozen=True)
class Channel:
    """One direction: a delay line (delay, jitter, loss), then `queue` packets for `bandwidth`.

    `queue` are those that wait, without the one that is being sent. A packet is lost before it
    waits, as in Mininet's TCLink. Jitter reorders packets, as netem's does, unless `order` is kept.
    `line` is how many packets the delay line holds at once; what a full one drops counts as lost.
    Each packet's delay is longer by a random part of `processing`, a share of the time that a full
    packet takes at `bandwidth`; the packets stay in order. Without it, flows that share a queue
    lock into phases (Floyd and Jacobson, On traffic phase effects in packet-switched gateways,
    1992; overhead_ of ns-2).
    `settings` are parameters of the discipline, such as (("target", "5ms"),).
    `gemodel` loses packets in bursts instead of `loss`, such as "p=1% r=25% 1-h=100% 1-k=0%"
    (Gilbert and Elliott's model, by the names of tc-netem(8)).
    A `policer` drops, before all else, what exceeds this rate by `policer_burst`; none at 0.
    """

    bandwidth: Rate
    delay: Duration = Duration(0)
    loss: Share = Share(0)
    jitter: Duration = Duration(0)
    queue: Packets = Packets(1000)
    discipline: str = "fifo"
    line: Packets = MOST_PACKETS
    processing: Share = Share(0)
    settings: tuple[tuple[str, str], ...] = ()
    gemodel: str = ""
    order: Literal["free", "kept"] = "free"
    policer: Rate = Rate(0)
    policer_burst: Size = Size(65536)

    @property
    def bursts(self) -> GilbertElliott | None:
        """The model of `gemodel`, if there is one."""
        return gemodel(self.gemodel) if self.gemodel else None

    @property
    def mean_loss(self) -> Share:
        """The share of packets that the delay line loses in the long run."""
        return self.bursts.mean if self.bursts else self.loss

    @property
    def processing_time(self) -> Duration:
        """Longest additional delay of a packet; none with jitter, which varies more."""
        if self.jitter.base:
            return Duration(0)
        return Duration(round(self.processing.fraction * _FULL_FRAME_NS / self.bandwidth.base))

    @property
    def variation(self) -> Duration:
        """Greatest difference of a packet's delay from `delay`."""
        return self.jitter + self.processing_time

    @property
    def held(self) -> "Channel":
        """The channel as the kernel holds it: rates are whole bytes a second."""
        managed = discipline(self.discipline)
        settings = ((name, managed.parameter(name).held(text)) for name, text in self.settings)
        rate = Rate(self.bandwidth.base // 8 * 8)
        return replace(self, bandwidth=rate, settings=tuple(settings))

    if TYPE_CHECKING:  # words are read by __post_init__

        def __init__(
            self,
            bandwidth: Rate | str,
            delay: Duration | str = Duration(0),
            loss: Share | str = Share(0),
            jitter: Duration | str = Duration(0),
            queue: Packets | str = Packets(1000),
            discipline: str = "fifo",
            line: Packets | str = MOST_PACKETS,
            processing: Share | str = Share(0),
            settings: tuple[tuple[str, str], ...] = (),
            gemodel: str = "",
            order: Literal["free", "kept"] = "free",
            policer: Rate | str = Rate(0),
            policer_burst: Size | str = Size(65536),
        ) -> None: ...

    def __post_init__(self) -> None:
        read_words(self, "link")
        within("bandwidth", self.bandwidth, SLOWEST, FASTEST)
        within("delay", self.delay, Duration(0), LONGEST_DELAY)
        within("loss", self.loss, Share(0), WHOLE)
        within("processing time", self.processing, Share(0), WHOLE)
        within("queue", self.queue, Packets(1), MOST_PACKETS)
        managed = discipline(self.discipline)
        if self.queue.base < managed.shortest:
            problem = f"A queue of {self.queue} packets is too short for {self.discipline}."
            raise UsageError(problem, f"Choose one of {managed.shortest} packets or more.")
        if self.settings:
            checked = ((name, managed.parameter(name).parsed(text)) for name, text in self.settings)
            object.__setattr__(self, "settings", tuple(checked))
            managed.require_partners(dict(self.settings))
            managed.words(self.queue.base, 1514, self.bandwidth.base, self.settings)
        if self.bursts:
            if self.loss.base:
                remedy = "Leave out one of loss and gemodel: netem has one model of loss."
                raise UsageError(f"A link cannot lose {self.loss} and follow a gemodel.", remedy)
            object.__setattr__(self, "gemodel", self.bursts.text)
        within("delay line", self.line, Packets(1), MOST_PACKETS)
        if self.policer.base:
            within("policer", self.policer, SLOWEST, FASTEST)
            within("policer_burst", self.policer_burst, JUMBO, _LARGEST_BURST)
        if self.jitter > self.delay:
            problem = f"A jitter of {self.jitter} is above the delay of {self.delay}"
            remedy = "Lower the jitter or raise the delay."
            raise UsageError(f"{problem}: a packet would leave before it came.", remedy)


def read_words(spec: Any, what: str) -> None:
    """Turn quantities of a frozen spec that are words into what they say. Raises UsageError."""
    for field in fields(spec):
        value, kind = getattr(spec, field.name), field.type
        if not isinstance(kind, type) or not issubclass(kind, Quantity) or isinstance(value, kind):
            continue
        if not isinstance(value, str):
            problem = f"The {field.name} of a {what} is {value!r:.40}, which is no {kind.kind}."
            raise UsageError(problem, f'Write it in words: {field.name}="{kind.example}".')
        object.__setattr__(spec, field.name, kind.parse(value))


def within(field: str, value: Quantity, lowest: Quantity, highest: Quantity) -> None:
    if not lowest.base <= value.base <= highest.base:
        remedy = f"Choose one from {lowest} to {highest}."
        raise UsageError(f"A {field} of {value} is not possible.", remedy)


def require_number(shape: str, number: int, of: str, most: int) -> None:
    """Raise UsageError for a shape of less than one or more than `most` things."""
    if not 1 <= number <= most:
        raise UsageError(f"A {shape} of {number} {of} is not possible.", f"Choose 1 to {most}.")


@dataclass(frozen=True)
class HostReordering:
    """Reordering of packets from `host` to `peer`: prio with netem in its first band, and u32.

    `at_once` is netem's reorder share: so many packets leave at once, the others `delay` later; the
    first `gap` - 1 after each such packet never do. `correlation` and `limit` are netem's.
    """

    host: str
    peer: str
    delay: Duration
    at_once: Share
    correlation: Share = Share(0)
    gap: Packets = Packets(1)
    limit: Packets = Packets(1000)

    def __post_init__(self) -> None:
        read_words(self, "host that reorders")
        within("delay", self.delay, Duration(1000), LONGEST_DELAY)
        within("share sent at once", self.at_once, Share(1), WHOLE)
        within("correlation", self.correlation, Share(0), WHOLE)
        within("gap", self.gap, Packets(1), MOST_PACKETS)
        within("limit", self.limit, Packets(1), MOST_PACKETS)


@dataclass(frozen=True)
class Node:
    name: str
    kind: NodeKind

    def __post_init__(self) -> None:
        if not (self.name.isascii() and self.name.isalnum() and len(self.name) <= _LONGEST_NAME):
            remedy = f"Use 1 to {_LONGEST_NAME} letters and digits, such as h1."
            raise UsageError(f"'{self.name[:40]}' cannot name a node.", remedy)


@dataclass(frozen=True)
class Link:
    """A cable between two nodes, with a channel from left to right and back; None: no channel."""

    left: str
    right: str
    rightward: Channel | None = None
    leftward: Channel | None = None

    def channel_from(self, node: str) -> Channel | None:
        return self.rightward if node == self.left else self.leftward


@dataclass(frozen=True)
class Port:
    """One end of a link: interface `name` of `node`, and the channel from it to node `peer`."""

    name: str
    node: str
    peer: str
    channel: Channel | None


@dataclass(frozen=True)
class TopologySpec:
    """A named network. Raises UsageError if it cannot be built; `diagram` is for people.

    `mtu` is bytes of IP in a frame. `segmentation` on leaves TSO, GSO and GRO on everywhere. What
    `shaping_hosts` send may have a channel without a delay, which would detach packets from
    sockets.
    """

    name: str
    nodes: tuple[Node, ...]
    links: tuple[Link, ...]
    diagram: str = ""
    mtu: Size = ETHERNET
    reordering: tuple[HostReordering, ...] = ()
    segmentation: Literal["off", "on"] = "off"
    shaping_hosts: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        read_words(self, "topology")
        names = [node.name for node in self.nodes]
        for name in sorted(names):
            if names.count(name) > 1:
                problem = f"Topology {self.name} has two nodes named {name}."
                raise UsageError(problem, "Give each its own name.")
        for link in self.links:
            self._check(link)
        reached = self._reached_from(self.nodes[0].name) if self.nodes else {}
        for node in self.nodes:
            if node.kind == "host" and not self.ports_of[node.name]:
                raise UsageError(f"Host {node.name} has no link.", "Add a link.")
            if node.name not in reached:
                problem = f"No link connects {node.name} with {self.nodes[0].name}."
                raise UsageError(problem, "Add a link.")
        within("mtu", self.mtu, Size(576), Size(65535))
        self._check_reordering()

    def _check_reordering(self) -> None:
        hosts, reordering_hosts = self.named("host"), [each.host for each in self.reordering]
        for each in self.reordering:
            for end in (each.host, each.peer):
                if end not in hosts:
                    problem = f"A reordering of {self.name} names {end}, which is no host."
                    raise UsageError(problem, "Name hosts.")
            if reordering_hosts.count(each.host) > 1 or each.host == each.peer:
                remedy = "A host reorders once, for another host."
                raise UsageError(f"{each.host} cannot reorder so.", remedy)

    def _check(self, link: Link) -> None:
        for end in (link.left, link.right):
            if end not in self._kinds:
                problem = f"A link of {self.name} leads to {end}, which is not a node."
                raise UsageError(problem, "Add the node.")
            if self._kinds[end] == "host" and (channel := link.channel_from(end)):
                self._check_of_host(end, channel)
        if link.left == link.right:
            problem = f"A link of {self.name} connects {link.left} with itself."
            raise UsageError(problem, "Connect two nodes.")

    def _check_of_host(self, host: str, channel: Channel) -> None:
        if host not in self.shaping_hosts:
            raise UsageError(
                f"A link of {self.name} shapes what leaves host {host}.",
                "Put the channel on a switch's or router's end: queues on a host change what its"
                " TCP does. A study that had one names the host in shaping_hosts.",
            )
        if channel.delay.base:
            remedy = "Delay packets on the way: a host's delay line would hide its queue from TCP."
            raise UsageError(f"The channel of host {host} has a delay of {channel.delay}.", remedy)

    def __hash__(self) -> int:
        return self._hash

    def __getstate__(self) -> dict[str, Any]:
        """Leave out what was computed: another process has other hashes."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    @cached_property
    def _hash(self) -> int:
        """Computed once: functions of a topology are cached, and asked for each port."""
        return hash((self.name, self.nodes, self.links))

    @cached_property
    def _kinds(self) -> dict[str, NodeKind]:
        return {node.name: node.kind for node in self.nodes}

    def kind(self, node: str) -> NodeKind:
        return self._kinds[node]

    def named(self, kind: NodeKind) -> tuple[str, ...]:
        """Return the names of all nodes of one kind, in the order of the spec."""
        return tuple(node.name for node in self.nodes if node.kind == kind)

    @cached_property
    def ports(self) -> tuple[Port, ...]:
        """Every interface, in the order of the links: h1-eth0, s1-eth1 (switches begin at 1)."""
        used = {node.name: 1 if node.kind == "switch" else 0 for node in self.nodes}
        ports: list[Port] = []
        for link in self.links:
            for end, peer in ((link.left, link.right), (link.right, link.left)):
                ports.append(Port(f"{end}-eth{used[end]}", end, peer, link.channel_from(end)))
                used[end] += 1
        return tuple(ports)

    def with_channels(self, change: Callable[[Port, Channel], Channel]) -> "TopologySpec":
        """Return the network with another channel at each port that has one."""
        ends = [port.channel and change(port, port.channel) for port in self.ports]
        links = (
            replace(link, rightward=rightward, leftward=leftward)
            for link, rightward, leftward in zip(self.links, ends[::2], ends[1::2], strict=True)
        )
        return replace(self, links=tuple(links))

    def port(self, name: str) -> Port:
        return next(port for port in self.ports if port.name == name)

    @cached_property
    def _far_ends(self) -> dict[str, Port]:
        return {port.name: self.ports[index ^ 1] for index, port in enumerate(self.ports)}

    def far_end(self, port: Port) -> Port:
        """Return the other end of a port's cable."""
        return self._far_ends[port.name]

    def path(self, source: str, target: str) -> tuple[Port, ...]:
        """Return the ports along a shortest path. Raises UsageError for an unknown node."""
        for name in (source, target):
            if name not in self._kinds:
                nodes = ", ".join(self._kinds)
                raise UsageError(f"Topology {self.name} has no node {name}.", f"It has {nodes}.")
        return self._reached_from(source)[target]

    def _reached_from(self, source: str) -> dict[str, tuple[Port, ...]]:
        """Return the shortest path to each node. Hosts forward no packet."""
        paths: dict[str, tuple[Port, ...]] = {source: ()}
        queue = deque([source])
        while queue:
            node = queue.popleft()
            for port in self.ports_of[node]:
                if port.peer not in paths:
                    paths[port.peer] = (*paths[node], port)
                    if self._kinds[port.peer] != "host":
                        queue.append(port.peer)
        return paths

    @cached_property
    def ports_of(self) -> dict[str, list[Port]]:
        found: dict[str, list[Port]] = {node.name: [] for node in self.nodes}
        for port in self.ports:
            found[port.node].append(port)
        return found

    def bottleneck(self, source: str, target: str) -> Channel:
        """Return the slowest channel of the path. Raises UsageError if none has a rate."""
        shaped = [port.channel for port in self.path(source, target) if port.channel]
        if not shaped:
            problem = f"No link on the way from {source} to {target} has a bandwidth."
            raise UsageError(problem, "Give a link a channel.")
        return min(shaped, key=lambda channel: channel.bandwidth)

    def round_trip(self, source: str, target: str) -> Duration:
        """Return the sum of all delay lines there and back, without queues and serialization."""
        ways = self.path(source, target) + self.path(target, source)
        return Duration(sum(port.channel.delay.base for port in ways if port.channel))
