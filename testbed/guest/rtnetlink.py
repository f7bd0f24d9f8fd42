"""Links, addresses, neighbours and routes of the thread's namespace, and netem's random generators.

rtnetlink(7) does what `ip -batch` does at a tenth of its cost: in a network of 200 hosts there are
40 000 neighbours, and `ip` takes 5 ms to start and 30 us a line. Layouts:
include/uapi/linux/if_link.h, if_addr.h, neighbour.h.

Every condition of a run meets the same draws of netem. Each netem has a random generator
(net/sched/sch_netem.c, Linux 6.6 and later), which is seeded when its options are set. So its
options are set again before each condition, with the seed that the kernel chose: the same packets
by number are then lost, and conditions differ by what they do and not by luck. Debian 12's
iproute2 (6.1) cannot pass the seed; netlink can.
"""

from __future__ import annotations

import os
import socket
import struct
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache

from topologies.foundation.errors import TcplabError

_NEW_LINK, _NEW_ADDRESS, _NEW_ROUTE, _NEW_NEIGHBOUR = 16, 20, 24, 28
_REQUEST, _ACKNOWLEDGE = 0x1, 0x4
_CREATE_OR_REPLACE, _CREATE_NEW = 0x500, 0x600  # NLM_F_CREATE with NLM_F_REPLACE or NLM_F_EXCL
_UP = 0x1
_PERMANENT = 0x80  # NUD_PERMANENT
_MAIN, _BOOT, _UNICAST = 254, 3, 1  # the main table, RTPROT_BOOT, RTN_UNICAST
_HEADER = struct.Struct("=IHHII")
_LINK = struct.Struct("=BxHiII")  # struct ifinfomsg
_ATTRIBUTE = struct.Struct("=HH")
_DUMP, _ERROR, _DONE = 0x300, 2, 3  # NLM_F_DUMP, NLMSG_ERROR, NLMSG_DONE
# Bytes; a dump comes in pieces that are never longer (net/netlink/af_netlink.c).
_LONGEST_ANSWER = 1 << 15
# Messages in one system call: every one may be answered, and the answers must fit the buffer.
_TOGETHER = 200


@dataclass(frozen=True)
class NetlinkRequest:
    """One change. `words` are the command of ip(8), for the message if the kernel refuses."""

    words: str
    kind: int
    body: bytes
    flags: int = _CREATE_OR_REPLACE
    remedy: str = "An address or a route of the topology cannot be what it says."


@dataclass(frozen=True)
class CableEnd:
    """An end of a cable: its interface, its MAC address, a process of its node's namespace."""

    interface: str
    mac: str
    pid: int

    def body(self) -> bytes:
        """Return the request for this link: IFLA_IFNAME, IFLA_ADDRESS and IFLA_NET_NS_PID."""
        return (
            bytes(_LINK.size)
            + attribute(3, self.interface.encode() + b"\0")
            + attribute(1, bytes.fromhex(self.mac.replace(":", "")))
            + attribute(19, struct.pack("=I", self.pid))
        )


def cable(left: CableEnd, right: CableEnd) -> NetlinkRequest:
    """Return a veth pair, each end in its node's namespace (veth(4))."""
    peer = attribute(2, attribute(1, right.body()))  # IFLA_INFO_DATA, VETH_INFO_PEER
    kind = attribute(18, attribute(1, b"veth") + peer)  # IFLA_LINKINFO, IFLA_INFO_KIND
    words = f"link add {left.interface} type veth peer {right.interface}"
    return NetlinkRequest(words, _NEW_LINK, left.body() + kind, _CREATE_NEW)


def up(interface: str) -> NetlinkRequest:
    """Take an interface up. Raises OSError if the namespace has none of that name."""
    body = _LINK.pack(0, 0, socket.if_nametoindex(interface), _UP, _UP)
    return NetlinkRequest(f"link set {interface} up", _NEW_LINK, body, flags=0)


def down(interface: str) -> NetlinkRequest:
    """Take an interface down. Raises OSError if the namespace has none of that name."""
    body = _LINK.pack(0, 0, socket.if_nametoindex(interface), 0, _UP)
    return NetlinkRequest(f"link set {interface} down", _NEW_LINK, body, flags=0)


def address(interface: str, at: str, prefix: int) -> NetlinkRequest:
    """Give an interface an IPv4 address."""
    body = struct.pack("=BBBBI", socket.AF_INET, prefix, 0, 0, socket.if_nametoindex(interface))
    for kind in (1, 2):  # IFA_ADDRESS, IFA_LOCAL
        body += attribute(kind, socket.inet_aton(at))
    return NetlinkRequest(f"address add {at}/{prefix} dev {interface}", _NEW_ADDRESS, body)


def neighbours(interface: str, pairs: Iterable[tuple[str, str]]) -> Iterator[NetlinkRequest]:
    """Permanent neighbours, (address, MAC) each, so that no host asks for them by ARP."""
    head = struct.pack(
        "=BxxxiHBB", socket.AF_INET, socket.if_nametoindex(interface), _PERMANENT, 0, _UNICAST
    )
    for at, mac in pairs:
        yield NetlinkRequest(
            f"neighbour {at} lladdr {mac} dev {interface}",
            _NEW_NEIGHBOUR,
            head + _neighbour(at, mac),
        )


@cache
def _neighbour(at: str, mac: str) -> bytes:
    """NDA_DST and NDA_LLADDR; the same for every host that knows this neighbour."""
    return attribute(1, socket.inet_aton(at)) + attribute(2, bytes.fromhex(mac.replace(":", "")))


def route(network: str, prefix: int, gateway: str) -> NetlinkRequest:
    """Return a route to an IPv4 network through a gateway in a network of the node's own."""
    body = struct.pack("=BBBBBBBBI", socket.AF_INET, prefix, 0, 0, _MAIN, _BOOT, 0, _UNICAST, 0)
    body += attribute(1, socket.inet_aton(network))  # RTA_DST
    body += attribute(5, socket.inet_aton(gateway))  # RTA_GATEWAY
    return NetlinkRequest(f"route add {network}/{prefix} via {gateway}", _NEW_ROUTE, body)


def apply(requests: Iterable[NetlinkRequest]) -> None:
    """Carry out requests in order. Raises TcplabError for the first that the kernel refused."""
    waiting = list(requests)
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, socket.NETLINK_ROUTE) as control:
        for start in range(0, len(waiting), _TOGETHER):
            _together(control, waiting[start : start + _TOGETHER])


def _together(control: socket.socket, requests: list[NetlinkRequest]) -> None:
    """Send requests in one system call. Raises TcplabError for the first that is refused.

    The kernel answers every refusal; of the requests that succeed only the last is answered, which
    tells that all were seen.
    """
    last = len(requests) - 1
    control.send(
        b"".join(
            _message(request, number, number == last) for number, request in enumerate(requests)
        )
    )
    number = -1
    while number != last:
        answer = control.recv(1 << 14)
        number, code = (
            _HEADER.unpack_from(answer)[3],
            struct.unpack_from("=i", answer, _HEADER.size)[0],
        )
        if code:
            raise TcplabError(
                f"The kernel refused '{requests[number].words}': {os.strerror(-code)}.",
                requests[number].remedy,
            )


def dump(control: socket.socket, kind: int, body: bytes, refusal: str) -> Iterator[bytes]:
    """Yield what the kernel lists, a message each. Raises OSError with `refusal`."""
    control.send(_HEADER.pack(_HEADER.size + len(body), kind, _REQUEST | _DUMP, 1, 0) + body)
    while True:
        for answered, content in _messages(control.recv(_LONGEST_ANSWER)):
            if answered == _DONE:
                return
            if answered == _ERROR:
                raise OSError(-struct.unpack_from("=i", content)[0], refusal)
            yield content


def _messages(data: bytes) -> Iterator[tuple[int, bytes]]:
    """Yield the kind and the content of each message of an answer."""
    at = 0
    while at < len(data):
        length, kind, *_ = _HEADER.unpack_from(data, at)
        yield kind, data[at + _HEADER.size : at + length]
        at += (length + 3) & ~3


def attributes(content: bytes) -> dict[int, bytes]:
    """Attributes in a row, as netlink(7) has them: number to value."""
    values: dict[int, bytes] = {}
    while len(content) >= _ATTRIBUTE.size:
        length, kind = _ATTRIBUTE.unpack_from(content)
        values[kind] = content[_ATTRIBUTE.size : length]
        content = content[length + -length % 4 :]
    return values


def _message(request: NetlinkRequest, number: int, answered: bool) -> bytes:
    flags = _REQUEST | (_ACKNOWLEDGE if answered else 0) | request.flags
    return (
        _HEADER.pack(_HEADER.size + len(request.body), request.kind, flags, number, 0)
        + request.body
    )


def attribute(kind: int, value: bytes) -> bytes:
    """One attribute, filled up to a multiple of four bytes."""
    return _ATTRIBUTE.pack(_ATTRIBUTE.size + len(value), kind) + value + b"\0" * (-len(value) % 4)


_NEW_QDISC, _GET_QDISC = 36, 38
_ROOT = 0xFFFFFFFF  # TC_H_ROOT
_TC_KIND, _OPTIONS = 1, 2  # TCA_KIND, TCA_OPTIONS
_TC_MESSAGE = struct.Struct("=BxxxiIII")  # struct tcmsg: family, interface, handle, parent, info
_INTERFACE, _PARENT = 1, 3  # places in it
TcHead = tuple[int, ...]
_NETEM_OPTIONS = 24  # bytes of struct tc_netem_qopt, in front of the attributes
_SEED = 14  # TCA_NETEM_PRNG_SEED


def rewindings(interfaces: list[str]) -> list[NetlinkRequest | None]:
    """Return the request that rewinds each interface's netem; None if its kernel cannot."""
    present = {head[_INTERFACE]: (head, body) for head, body in _delay_lines()}
    return [_as_it_was(name, *present[socket.if_nametoindex(name)]) for name in interfaces]


def _as_it_was(interface: str, head: TcHead, body: dict[int, bytes]) -> NetlinkRequest | None:
    options = body[_OPTIONS]
    if _SEED not in attributes(options[_NETEM_OPTIONS:]):
        return None
    same = attribute(_TC_KIND, body[_TC_KIND]) + attribute(_OPTIONS, options)
    words = f"qdisc change dev {interface} root netem, as it was"
    return NetlinkRequest(words, _NEW_QDISC, _TC_MESSAGE.pack(*head) + same)


def _delay_lines() -> Iterator[tuple[TcHead, dict[int, bytes]]]:
    """Yield the header and the attributes of each netem that is an interface's root."""
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, socket.NETLINK_ROUTE) as control:
        request = _TC_MESSAGE.pack(0, 0, 0, 0, 0)
        for answer in dump(control, _GET_QDISC, request, "the kernel lists no qdiscs"):
            head, body = _TC_MESSAGE.unpack_from(answer), attributes(answer[_TC_MESSAGE.size :])
            if head[_PARENT] == _ROOT and body.get(_TC_KIND) == b"netem\0":
                yield head, body


_NESTED = 0x8000  # NLA_F_NESTED
_COUNTED = 4  # TCA_XSTATS
_IN_LINE, _OF_QUEUE = 0x20001, 0x30000  # 2:1 and 3: (testbed.guest.shaping)


def queueing(
    words: str,
    interface: str,
    kind: str,
    options: Iterable[tuple[int, bytes]],
    remedy: str,
    change: bool,
) -> NetlinkRequest:
    """Return the request for a discipline behind a shaped port's tbf, or for its change."""
    head = _TC_MESSAGE.pack(0, socket.if_nametoindex(interface), _OF_QUEUE, _IN_LINE, 0)
    inner = b"".join(attribute(number, value) for number, value in options)
    body = attribute(_TC_KIND, kind.encode() + b"\0") + attribute(_NESTED | _OPTIONS, inner)
    flags = 0 if change else _CREATE_NEW
    return NetlinkRequest(words, _NEW_QDISC, head + body, flags, remedy)


def queues_found() -> dict[tuple[str, str], tuple[dict[int, bytes], bytes]]:
    """Return options and counters of each queue (3:) by interface and handle as tc writes them."""
    found = {}
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, socket.NETLINK_ROUTE) as control:
        request = _TC_MESSAGE.pack(0, 0, 0, 0, 0)
        for answer in dump(control, _GET_QDISC, request, "the kernel lists no qdiscs"):
            head, body = _TC_MESSAGE.unpack_from(answer), attributes(answer[_TC_MESSAGE.size :])
            if head[2] == _OF_QUEUE and _OPTIONS in body:
                place = socket.if_indextoname(head[_INTERFACE]), "3:"
                found[place] = attributes(body[_OPTIONS]), body.get(_COUNTED, b"")
    return found
