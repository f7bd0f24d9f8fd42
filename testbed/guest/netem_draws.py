"""The chance of netem, rewound: every condition of a run meets the same draws.

Each netem has a random generator of its own (net/sched/sch_netem.c, Linux 6.6 and later), which is
seeded anew when its options are set. So its options, as the kernel tells them with the seed that it
chose, are set once more before each condition: the same packets by number are then lost, and
conditions differ by what they do and not by their luck. Iproute2 knows the seed since 6.6, and
Debian 12 has 6.1; so this speaks rtnetlink(7) itself.
"""

from __future__ import annotations

import socket
import struct
from collections.abc import Iterator

from testbed.guest.rtnetlink import NetlinkRequest, attribute, attributes, dump

_NEW_QDISC, _GET_QDISC = 36, 38
_ROOT = 0xFFFFFFFF  # TC_H_ROOT
_KIND, _OPTIONS = 1, 2  # TCA_KIND, TCA_OPTIONS
_MESSAGE = struct.Struct("=BxxxiIII")  # struct tcmsg: family, interface, handle, parent, info
_INTERFACE, _PARENT = 1, 3  # places in it
TcHead = tuple[int, ...]
_NETEM_OPTIONS = 24  # bytes of struct tc_netem_qopt, in front of the attributes
_SEED = 14  # TCA_NETEM_PRNG_SEED


def rewindings(interfaces: list[str]) -> list[NetlinkRequest | None]:
    """For each interface the request that rewinds the netem at its root.

    None if its kernel has no generator for each netem.
    """
    present = {head[_INTERFACE]: (head, body) for head, body in _delay_lines()}
    return [_as_it_was(name, *present[socket.if_nametoindex(name)]) for name in interfaces]


def _as_it_was(interface: str, head: TcHead, body: dict[int, bytes]) -> NetlinkRequest | None:
    options = body[_OPTIONS]
    if _SEED not in attributes(options[_NETEM_OPTIONS:]):
        return None
    same = attribute(_KIND, body[_KIND]) + attribute(_OPTIONS, options)
    words = f"qdisc change dev {interface} root netem, as it was"
    return NetlinkRequest(words, _NEW_QDISC, _MESSAGE.pack(*head) + same)


def _delay_lines() -> Iterator[tuple[TcHead, dict[int, bytes]]]:
    """The header and the attributes of each netem that is an interface's root."""
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, socket.NETLINK_ROUTE) as control:
        request = _MESSAGE.pack(0, 0, 0, 0, 0)
        for answer in dump(control, _GET_QDISC, request, "the kernel lists no qdiscs"):
            head, body = _MESSAGE.unpack_from(answer), attributes(answer[_MESSAGE.size :])
            if head[_PARENT] == _ROOT and body.get(_KIND) == b"netem\0":
                yield head, body
