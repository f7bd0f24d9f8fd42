"""Links, addresses, neighbours and routes of the thread's namespace, and netem's random generators.

rtnetlink(7) does what `ip -batch` does at a tenth of its cost: a network of 200 hosts has 40 000
neighbours. Layouts: include/uapi/linux/if_link.h, if_addr.h, neighbour.h, ethtool.h.

Every condition of a run meets the same draws of netem (Linux 6.6 and later): its options are set
again before each, with the seed that the kernel chose, which Debian 12's iproute2 cannot pass.

With segmentation offloads on, "100 packets" are 100 super-packets.
"""

import ctypes
import errno
import fcntl
import os
import socket
import struct
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from itertools import islice

from topologies.errors import TcplabError
from topologies.units import Size

_NEW_LINK, _NEW_ADDRESS, _NEW_ROUTE, _NEW_NEIGHBOUR = 16, 20, 24, 28
_REQUEST, _ACKNOWLEDGE = 0x1, 0x4
_CREATE_OR_REPLACE, _CREATE_NEW = 0x500, 0x600  # NLM_F_CREATE with NLM_F_REPLACE or NLM_F_EXCL
_UP = 0x1
_PERMANENT = 0x80  # NUD_PERMANENT
_NO_DETECTION = 0x02  # IFA_F_NODAD
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
class InterfaceSetting:
    """One thing that was asked of an interface and what the kernel has."""

    interface: str
    field: str
    asked: str
    found: str


CableEnd = tuple[str, str, int]
"""An end of a cable: its interface, its MAC address, a process of its node's namespace."""


def _end(interface: str, mac: str, pid: int) -> bytes:
    """Return the request for this link: IFLA_IFNAME, IFLA_ADDRESS and IFLA_NET_NS_PID."""
    own = attribute(1, bytes.fromhex(mac.replace(":", "")))
    return _named(interface) + own + attribute(19, struct.pack("=I", pid))


def _named(interface: str) -> bytes:
    return bytes(_LINK.size) + attribute(3, interface.encode() + b"\0")


def cable(left: CableEnd, right: CableEnd) -> NetlinkRequest:
    """Return a veth pair, each end in its node's namespace (veth(4))."""
    peer = attribute(2, attribute(1, _end(*right)))  # IFLA_INFO_DATA, VETH_INFO_PEER
    kind = attribute(18, attribute(1, b"veth") + peer)  # IFLA_LINKINFO, IFLA_INFO_KIND
    words = f"link add {left[0]} type veth peer {right[0]}"
    return NetlinkRequest(words, _NEW_LINK, _end(*left) + kind, _CREATE_NEW)


def dummy(interface: str) -> NetlinkRequest:
    """Return an interface from which packets lead nowhere."""
    body = _named(interface) + attribute(18, attribute(1, b"dummy"))
    return NetlinkRequest(f"link add {interface} type dummy", _NEW_LINK, body, _CREATE_NEW)


def up(interface: str, is_up: bool = True) -> NetlinkRequest:
    """Take an interface up, or down. Raises OSError if the namespace has none of that name."""
    body = _LINK.pack(0, 0, socket.if_nametoindex(interface), _UP if is_up else 0, _UP)
    words = f"link set {interface} {'up' if is_up else 'down'}"
    return NetlinkRequest(words, _NEW_LINK, body, flags=0)


def address(interface: str, at: str, prefix: int) -> NetlinkRequest:
    """Give an interface an address, which is not looked for among others (IPv6)."""
    family, packed = _packed(at)
    flags = _NO_DETECTION if family == socket.AF_INET6 else 0
    body = struct.pack("=BBBBI", family, prefix, flags, 0, socket.if_nametoindex(interface))
    for kind in (1, 2):  # IFA_ADDRESS, IFA_LOCAL
        body += attribute(kind, packed)
    return NetlinkRequest(f"address add {at}/{prefix} dev {interface}", _NEW_ADDRESS, body)


def neighbours(interface: str, pairs: Iterable[tuple[str, str]]) -> Iterator[NetlinkRequest]:
    """Permanent neighbours, (address, MAC) each, so that no host asks for them by ARP."""
    number = socket.if_nametoindex(interface)
    for at, mac in pairs:
        head = struct.pack("=BxxxiHBB", _packed(at)[0], number, _PERMANENT, 0, _UNICAST)
        words = f"neighbour {at} lladdr {mac} dev {interface}"
        yield NetlinkRequest(words, _NEW_NEIGHBOUR, head + _neighbour(at, mac))


@cache
def _neighbour(at: str, mac: str) -> bytes:
    """NDA_DST and NDA_LLADDR; the same for every host that knows this neighbour."""
    return attribute(1, _packed(at)[1]) + attribute(2, bytes.fromhex(mac.replace(":", "")))


def route(network: str, gateway: str) -> NetlinkRequest:
    """Return a route to a network through a gateway in a network of the node's own."""
    start, _, prefix = network.partition("/")
    family, packed = _packed(start)
    head = (family, int(prefix), 0, 0, _MAIN, _BOOT, 0, _UNICAST, 0)
    body = struct.pack("=BBBBBBBBI", *head)
    if int(prefix):
        body += attribute(1, packed)  # RTA_DST
    body += attribute(5, _packed(gateway)[1])  # RTA_GATEWAY
    return NetlinkRequest(f"route add {network} via {gateway}", _NEW_ROUTE, body)


def _packed(at: str) -> tuple[int, bytes]:
    """Return the family of an address, and its bytes."""
    family = socket.AF_INET6 if ":" in at else socket.AF_INET
    return family, socket.inet_pton(family, at)


def apply(requests: Iterable[NetlinkRequest]) -> None:
    """Carry out requests in order. Raises TcplabError for the first that the kernel refused."""
    waiting = iter(requests)
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, socket.NETLINK_ROUTE) as control:
        while some := list(islice(waiting, _TOGETHER)):
            _together(control, some)


def _together(control: socket.socket, requests: list[NetlinkRequest]) -> None:
    """Send requests at once, of which the last is answered. Raises TcplabError for a refusal."""
    last, messages, number = len(requests) - 1, bytearray(), -1
    for index, each in enumerate(requests):
        flags = _REQUEST | each.flags | (_ACKNOWLEDGE if index == last else 0)
        size = _HEADER.size + len(each.body)
        messages += _HEADER.pack(size, each.kind, flags, index, 0) + each.body
    control.send(messages)
    while number != last:
        answer = control.recv(1 << 14)
        number = _HEADER.unpack_from(answer)[3]
        if code := struct.unpack_from("=i", answer, _HEADER.size)[0]:
            problem = f"The kernel refused '{requests[number].words}': {os.strerror(-code)}."
            raise TcplabError(problem, requests[number].remedy)


def dump(control: socket.socket, kind: int, body: bytes, refusal: str) -> Iterator[bytes]:
    """Yield what the kernel lists, a message each. Raises OSError with `refusal`."""
    control.send(_HEADER.pack(_HEADER.size + len(body), kind, _REQUEST | _DUMP, 1, 0) + body)
    while True:
        data = control.recv(_LONGEST_ANSWER)
        while data:
            length, answered, *_ = _HEADER.unpack_from(data)
            content, data = data[_HEADER.size : length], data[(length + 3) & ~3 :]
            if answered == _DONE:
                return
            if answered == _ERROR:
                raise OSError(-struct.unpack_from("=i", content)[0], refusal)
            yield content


def attributes(content: bytes) -> dict[int, bytes]:
    """Attributes in a row, as netlink(7) has them: number to value."""
    values: dict[int, bytes] = {}
    while len(content) >= _ATTRIBUTE.size:
        length, kind = _ATTRIBUTE.unpack_from(content)
        values[kind] = content[_ATTRIBUTE.size : length]
        content = content[length + -length % 4 :]
    return values


def attribute(kind: int, value: bytes) -> bytes:
    """One attribute, filled up to a multiple of four bytes."""
    return _ATTRIBUTE.pack(_ATTRIBUTE.size + len(value), kind) + value + b"\0" * (-len(value) % 4)


_NEW_QDISC, _DELETE_QDISC, _GET_QDISC = 36, 37, 38
_ROOT = 0xFFFFFFFF  # TC_H_ROOT
_TC_KIND, _OPTIONS = 1, 2  # TCA_KIND, TCA_OPTIONS
_TC_MESSAGE = struct.Struct("=BxxxiIII")  # struct tcmsg: family, interface, handle, parent, info
_INTERFACE, _HANDLE, _PARENT = 1, 2, 3  # places in it
TcHead = tuple[int, ...]
_NETEM_OPTIONS = 24  # bytes of struct tc_netem_qopt, in front of the attributes
_SEED = 14  # TCA_NETEM_PRNG_SEED


def _qdiscs() -> Iterator[tuple[TcHead, dict[int, bytes]]]:
    """Yield the header and the attributes of each qdisc."""
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, socket.NETLINK_ROUTE) as control:
        request = _TC_MESSAGE.pack(0, 0, 0, 0, 0)
        for answer in dump(control, _GET_QDISC, request, "the kernel lists no qdiscs"):
            yield _TC_MESSAGE.unpack_from(answer), attributes(answer[_TC_MESSAGE.size :])


def without_qdiscs(interface: str) -> NetlinkRequest:
    """Return the request that removes what was set at an interface's root."""
    head = _TC_MESSAGE.pack(0, socket.if_nametoindex(interface), 0, _ROOT, 0)
    return NetlinkRequest(f"qdisc del dev {interface} root", _DELETE_QDISC, head, flags=0)


def rewindings(interfaces: list[str]) -> list[NetlinkRequest | None]:
    """Return the request that rewinds each interface's netem; None if its kernel cannot."""
    found: dict[int, NetlinkRequest | None] = {}
    for head, body in _qdiscs():
        if head[_PARENT] == _ROOT and body.get(_TC_KIND) == b"netem\0":
            options = body[_OPTIONS]
            same = attribute(_TC_KIND, body[_TC_KIND]) + attribute(_OPTIONS, options)
            words = f"qdisc change dev {head[_INTERFACE]} root netem, as it was"
            request = NetlinkRequest(words, _NEW_QDISC, _TC_MESSAGE.pack(*head) + same)
            has_seed = _SEED in attributes(options[_NETEM_OPTIONS:])
            found[head[_INTERFACE]] = request if has_seed else None
    return [found[socket.if_nametoindex(name)] for name in interfaces]


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
    queues = {
        (socket.if_indextoname(head[_INTERFACE]), "3:"): body
        for head, body in _qdiscs()
        if head[_HANDLE] == _OF_QUEUE and _OPTIONS in body
    }
    return {at: (attributes(q[_OPTIONS]), q.get(_COUNTED, b"")) for at, q in queues.items()}


_GET_MTU, _SET_MTU, _ETHTOOL = 0x8921, 0x8922, 0x8946  # SIOCGIFMTU, SIOCSIFMTU, SIOCETHTOOL
_MTU_REQUEST = struct.Struct("16si20x")
_OFFLOADS = {  # name as ethtool -k prints it: (get, set)
    "tcp-segmentation-offload": (0x1E, 0x1F),
    "generic-segmentation-offload": (0x23, 0x24),
    "generic-receive-offload": (0x2B, 0x2C),
}


def set_offloads(interface: str, on: bool = False) -> list[InterfaceSetting]:
    """Turn all offloads of an interface off, or on. Raises TcplabError if one stays."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
        for get, put in _OFFLOADS.values():
            if _offload(control, interface, get) != on:
                _offload(control, interface, put, on)
        if not on and (blocks := _tcp_features(interface)):  # ETHTOOL_STSO leaves AccECN's on
            pairs = [word for valid in blocks for word in (valid, 0)]
            _ethtool(control, interface, struct.pack("=II", _SET_FEATURES, len(blocks)), *pairs)
        states = {name: _offload(control, interface, get) for name, (get, _) in _OFFLOADS.items()}
    asked, other = ("on", "off") if on else ("off", "on")
    for name, is_on in states.items():
        if is_on != on:
            problem = f"{interface}: {name} was to be {asked}, the kernel keeps it {other}."
            raise TcplabError(problem, f"Choose another kernel, or topology.segmentation={other}.")
    return [InterfaceSetting(interface, name, asked, asked) for name in states]


def _offload(control: socket.socket, interface: str, command: int, on: bool = False) -> bool:
    """Get or set one. What an interface does not know, as veth before Linux 2.6.39, is off."""
    try:
        answer = _ethtool(control, interface, struct.pack("=II", command, on))
    except OSError as error:
        if error.errno not in (errno.EOPNOTSUPP, errno.EINVAL):
            raise
        return False
    return bool(struct.unpack("=II", answer)[1])


_STRINGS, _COUNT, _SET_FEATURES, _OF_FEATURES = 0x1B, 0x37, 0x3B, 4  # ETH_SS_FEATURES
_NAME = 32  # ETH_GSTRING_LEN
_OF_TCP = b"tx-tcp"


@cache
def _tcp_features(interface: str) -> list[int]:
    """Return the features whose names begin with tx-tcp; none before Linux 2.6.39.

    They are bits of as many blocks of 32 as the kernel has (ethtool_set_features).
    """
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
        try:
            asked = struct.pack("=IIQ", _COUNT, 0, 1 << _OF_FEATURES)
            (count,) = struct.unpack_from("=I", _ethtool(control, interface, asked, 0), 16)
            asked = struct.pack("=III", _STRINGS, _OF_FEATURES, count)
            names = _ethtool(control, interface, asked, *[0] * (count * _NAME // 4))[12:]
        except OSError as error:
            if error.errno not in (errno.EOPNOTSUPP, errno.EINVAL):
                raise
            return []
    bits = [names.startswith(_OF_TCP, index * _NAME) for index in range(count)]
    return [
        sum(bit << index for index, bit in enumerate(bits[first : first + 32]))
        for first in range(0, count, 32)
    ]


def _ethtool(control: socket.socket, interface: str, head: bytes, *words: int) -> bytes:
    """Return the answer to a request that the kernel writes over. Raises OSError."""
    content = head + struct.pack(f"={len(words)}I", *words)
    value = ctypes.create_string_buffer(content, len(content))
    request = struct.pack("16sP16x", interface.encode(), ctypes.addressof(value))
    fcntl.ioctl(control, _ETHTOOL, request)
    return value.raw


def set_mtu(interface: str, mtu: Size) -> InterfaceSetting:
    """Give an interface its MTU in bytes. Raises TcplabError if the kernel has another then."""
    name = interface.encode()
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
        try:
            fcntl.ioctl(control, _SET_MTU, _MTU_REQUEST.pack(name, mtu.base))
        except OSError as error:
            problem = f"{interface}: no MTU of {mtu.base}: {error.strerror}."
            raise TcplabError(problem, "Choose a smaller one.") from error
        answer = fcntl.ioctl(control, _GET_MTU, _MTU_REQUEST.pack(name, 0))
    actual = _MTU_REQUEST.unpack(answer)[1]
    if actual != mtu.base:
        problem = f"{interface}: an MTU of {mtu.base} was asked for, the kernel has {actual}."
        raise TcplabError(problem, "Choose another.")
    return InterfaceSetting(interface, "mtu", str(mtu.base), str(actual))
