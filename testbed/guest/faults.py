"""Faults on the path: a desk for each port that has some, which takes all packets that leave there.

tc-mirred(8) sends them to a dummy interface, from which a packet socket takes them. They go on to
the port with a mark, by which they pass the filter. This takes no virtual time. The offset of an
unfinished checksum travels in front of each packet (virtio_net_hdr, packet(7)).
"""

from __future__ import annotations

import errno
import socket
import struct
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache, partial
from pathlib import Path
from random import Random

from testbed.guest import netlink
from testbed.guest.frames import TCP, EthernetFrame, checksum, framed
from testbed.guest.namespaces import network_namespace
from testbed.guest.network import LiveNetwork
from testbed.guest.packet_ring import frames_of
from testbed.guest.user_program import EventLoop
from topologies.addresses import interfaces, ipv6_of, packed
from topologies.faults import FLAGS, PROTOCOLS, Fault, Spot
from topologies.spec import Port

_ALL = 3  # ETH_P_ALL, include/uapi/linux/if_ether.h
_PACKET, _VNET_HEADER, _NO_QUEUE = 263, 15, 20  # SOL_PACKET; include/uapi/linux/if_packet.h
_MARK = 36  # SO_MARK
_VNET = struct.Struct("=BBHHHH")  # virtio_net_hdr: flags, kind, head, segment, start, offset
_NEEDS_CHECKSUM, _FINISHED = 1, bytes(_VNET.size)
_LONGEST = 1 << 17  # bytes of a packet
_PASSES = 0x7FFFFFFF  # The mark of answers, which no fault hits. Marks of ports are small.
_NEWER = 1 << 31  # set in the difference of an older sequence number


def packet_socket(interface: str, mark: int = 0, queued: bool = True) -> socket.socket:
    """Return a socket for packets of an interface, or with a mark to it. Raises OSError."""
    opened = socket.socket(socket.AF_PACKET, socket.SOCK_RAW | socket.SOCK_NONBLOCK, 0)
    opened.setsockopt(_PACKET, _VNET_HEADER, 1)
    opened.setsockopt(_PACKET, _NO_QUEUE, int(not queued))
    opened.setsockopt(socket.SOL_SOCKET, _MARK, mark)
    opened.bind((interface, 0 if mark else _ALL))
    return opened


def _finished(packet: bytes) -> bytes:
    """Return a frame whose checksum was left to the hardware, with it."""
    flags, *_, start, offset = _VNET.unpack_from(packet)
    data = packet[_VNET.size :]
    if not flags & _NEEDS_CHECKSUM:
        return data
    place = start + offset
    return data[:place] + (checksum(data[start:]) or 0xFFFF).to_bytes(2) + data[place + 2 :]


@dataclass
class _PutFault:
    """A fault at a port: what it means in bytes, how many it has seen and hit, what it holds."""

    fault: Fault
    sources: frozenset[bytes]
    addresses: frozenset[bytes]
    chance: Random
    seen: int = 0
    hits: int = 0
    held: list[tuple[bytes, int]] = field(default_factory=list)
    """Packets, each with the number of those that are to pass before it."""

    def hits_frame(self, frame: EthernetFrame) -> bool:
        """Return whether it hits the packet, which is counted if it matches."""
        if not self.matches(frame):
            return False
        self.seen += 1
        first = self.fault.nth.base
        hit = first <= self.seen < first + self.fault.count.base
        if hit and self.fault.share.fraction < 1:
            hit = self.chance.random() < self.fault.share.fraction
        self.hits += hit
        return hit

    def matches(self, frame: EthernetFrame) -> bool:
        """Return whether the packet is one of those that the fault means."""
        fault = self.fault
        if fault.protocol and frame.protocol not in PROTOCOLS[fault.protocol]:
            return False
        if not fault.larger.base < frame.size < fault.smaller.base:
            return False
        if self.sources and frame.ends[0] not in self.sources:
            return False
        if not (self.addresses <= {*frame.ends} and {*fault.ports} <= {*frame.ports}):
            return False
        if fault.flag == "data":
            return bool(frame.ports) and frame.payload > 0
        return not fault.flag or bool(frame.flags & FLAGS[fault.flag])


class _Desk:
    """The desk of a port, with the faults that are put there, by number."""

    def __init__(self, faults: Faults, port: Port, mark: int) -> None:
        self._faults, self._port, self._mark = faults, port, mark
        self._put: dict[int, _PutFault] = {}
        self._dummy = f"faults{mark}"
        live = faults.live
        self._node = live.namespace_of(port)
        live.hook(port)
        with network_namespace(live.pid(self._node)):
            netlink.apply([netlink.dummy(self._dummy)])
            netlink.apply([netlink.up(self._dummy)])
            self._in, self._out = packet_socket(self._dummy), packet_socket(port.name, mark)
        faults.loop.watch(self._in.fileno(), self._take)

    def add(self, number: int, put: _PutFault) -> None:
        """Put a fault at the port; the first lets packets pass by the desk."""
        if not self._put:
            place, go_on = f"add dev {self._port.name} egress", "action goto chain 1"
            redirect = f"action mirred egress redirect dev {self._dummy}"
            marks = enumerate((self._mark, _PASSES), 1)
            lines = [f"filter {place} pref {at} handle {mark} fw {go_on}" for at, mark in marks]
            lines.append(f"filter {place} pref 3 matchall {redirect}")
            self._faults.live.batch(self._node, ["tc"], lines)
        self._put[number] = put

    def remove(self, number: int, put: _PutFault) -> None:
        """Send what the fault holds; without the last one packets pass by no desk."""
        self._take()
        for packet, _left in put.held:
            self._send(packet)
        del self._put[number]
        if not self._put:
            place = f"dev {self._port.name} egress"
            lines = [f"filter del {place} pref {preference}" for preference in (3, 2, 1)]
            self._faults.live.batch(self._node, ["tc"], lines)

    def _take(self) -> None:
        """Handle all packets that wait."""
        while True:
            try:
                packet = self._in.recv(_LONGEST)
            except BlockingIOError:
                return
            frame = EthernetFrame(packet[_VNET.size :])
            hit = next((put for put in self._put.values() if put.hits_frame(frame)), None)
            if hit:
                getattr(self, f"_{hit.fault.kind}")(hit, packet, frame)
            else:
                self._send(packet)
            for put in self._put.values():
                if put is not hit and put.fault.kind == "reorder" and put.matches(frame):
                    put.held = [(held, left - 1) for held, left in put.held]
                    while put.held and put.held[0][1] <= 0:  # enough others have passed
                        self._send(put.held.pop(0)[0])

    def _send(self, packet: bytes) -> None:
        """Send a packet to the port's delay line. Without a carrier it is lost."""
        try:
            self._out.send(packet)
        except OSError as error:
            if error.errno not in (errno.ENETDOWN, errno.ENOBUFS):
                raise

    def _drop(self, _put: _PutFault, _packet: bytes, _frame: EthernetFrame) -> None: ...

    def _reorder(self, put: _PutFault, packet: bytes, _frame: EthernetFrame) -> None:
        put.held.append((packet, put.fault.behind.base))

    _stall = _reorder

    def _delay(self, put: _PutFault, packet: bytes, _frame: EthernetFrame) -> None:
        moment = time.monotonic_ns() + put.fault.delay.base
        self._faults.loop.at(moment, partial(self._send, packet))

    def _duplicate(self, _put: _PutFault, packet: bytes, _frame: EthernetFrame) -> None:
        self._send(packet)
        self._send(packet)

    def _corrupt(self, put: _PutFault, packet: bytes, _frame: EthernetFrame) -> None:
        self._send(_FINISHED + EthernetFrame(_finished(packet)).damaged(put.chance))

    def _reset(self, _put: _PutFault, packet: bytes, frame: EthernetFrame) -> None:
        if frame.flags:
            self._send(_FINISHED + frame.reset(frame.first))
            self._answer(frame, frame.reset_back())
        else:
            self._send(packet)

    def _refuse(self, put: _PutFault, packet: bytes, frame: EthernetFrame) -> None:
        if put.fault.answer == "closed" and frame.flags:
            self._answer(frame, frame.reset_back())
        elif frame.protocol >= 0:
            whole, mtu = EthernetFrame(_finished(packet)), put.fault.larger.base
            self._answer(frame, whole.unreachable(put.fault.answer, mtu))

    def _answer(self, frame: EthernetFrame, packet: bytes) -> None:
        """Send a packet of IP to the source of a frame, if that is a host."""
        if source := self._faults.hosts.get(frame.ends[0]):
            port, *macs = self._faults.back(self._port.node, source.port.node)
            self._faults.sender(port).send(_FINISHED + framed(packet, *macs))


class Faults:
    """All faults of a network, numbered from 0 in the order in which they were asked for."""

    def __init__(self, live: LiveNetwork, loop: EventLoop, seed: int) -> None:
        self.live, self.loop = live, loop
        self.hosts = {
            address: each
            for each in interfaces(live.topology)
            if live.topology.kind(each.port.node) == "host"
            for address in (packed(each.address), packed(ipv6_of(each.address)))
        }
        self._seed = seed
        self._desks: dict[str, _Desk] = {}
        self._put: dict[int, tuple[_PutFault, _Desk]] = {}
        self._ended = set[int]()
        self.back, self.sender = cache(self._back), cache(self._sender)

    def put(self, number: int, spot: Spot, fault: Fault) -> None:
        """Put a fault at a port, unless it is over already. Raises TcplabError."""
        if number in self._ended:
            return
        chance = Random(f"{self._seed} fault {number}")
        addresses = frozenset(map(packed, fault.addresses))
        found = self.hosts.items()
        sources = frozenset(at for at, each in found if each.port.node in spot.sources)
        put = _PutFault(fault, sources, addresses, chance)
        if spot.port not in self._desks:
            port = self.live.topology.port(spot.port)
            self._desks[spot.port] = _Desk(self, port, 1 + len(self._desks))
        self._put[number] = put, self._desks[spot.port]
        self._desks[spot.port].add(number, put)

    def heal(self, number: int) -> None:
        """End a fault. The packets that it holds go on."""
        if number in self._put and number not in self._ended:
            put, desk = self._put[number]
            desk.remove(number, put)
        self._ended.add(number)

    def hits(self, number: int) -> int:
        """Return how many packets it has hit so far."""
        return self._put[number][0].hits if number in self._put else 0

    def _back(self, node: str, host: str) -> tuple[Port, str, str]:
        """Return the port from a node towards a host, and the MAC addresses of that hop."""
        topology, path = self.live.topology, self.live.topology.path(node, host)
        macs = {each.port.name: each.mac for each in interfaces(topology)}
        far = (topology.far_end(port).name for port in path)
        target = next(macs[name] for name in far if name in macs)
        return path[0], macs.get(path[0].name, target), target

    def _sender(self, port: Port) -> socket.socket:
        """Return a socket whose packets no fault hits."""
        with network_namespace(self.live.pid(self.live.namespace_of(port))):
            return packet_socket(port.name, _PASSES)

    def reset(self, ends: Sequence[tuple[str, int]], captures: Path) -> int:
        """Send a RST that overtakes all packets to both ends; return how many got one."""
        pairs = zip(ends, reversed(ends), strict=True)
        return sum(self._reset(mine, other[1], captures) for mine, other in pairs)

    def _reset(self, mine: tuple[str, int], other: int, captures: Path) -> bool:
        address = packed(mine[0])
        if address not in self.hosts:
            return False
        port = self.hosts[address].port
        last, numbers = _expected(captures / f"{port.name}.pcap", address, (mine[1], other))
        if last is None:
            return False
        far = self.live.topology.far_end(port)
        with (
            network_namespace(self.live.pid(self.live.namespace_of(far))),
            packet_socket(far.name, _PASSES, queued=False) as sender,
        ):
            for number in numbers:
                sender.send(_FINISHED + last.reset(number))
        return True


def _expected(
    file: Path, address: bytes, ports: tuple[int, int]
) -> tuple[EthernetFrame | None, list[int]]:
    """Return the last segment that an end got, and the numbers that it may expect.

    An end with a gap expects the one it acknowledged last, else the one behind all that it got.
    """
    last, numbers = None, dict[str, int]()
    for _time, data in frames_of(file):
        frame = EthernetFrame(data)
        if frame.protocol == TCP and frame.ends[1] == address and frame.ports == ports[::-1]:
            last, number = frame, frame.numbers[0]
            if "got" not in numbers or (number - numbers["got"]) & _NEWER == 0:
                numbers["got"] = number
        elif frame.protocol == TCP and frame.ends[0] == address and frame.ports == ports:
            numbers["acknowledged"] = frame.numbers[1]
    return last, list(dict.fromkeys(numbers[name] for name in sorted(numbers)))
