"""The kernel's view of each TCP connection over time: `ss -tin`, sampled without a process.

Asked by sock_diag(7); layouts: include/uapi/linux/inet_diag.h and tcp.h, which only ever grow.
"""

import json
import socket
import struct
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import cache
from operator import itemgetter
from pathlib import Path
from typing import Any

from testbed.guest.job_entry import SAMPLE
from testbed.guest.namespaces import network_namespace
from testbed.guest.netlink import attributes, dump
from testbed.guest.programs import Stop, in_background

_DIAG_SOCKET = (socket.AF_NETLINK, socket.SOCK_RAW, 4)  # NETLINK_SOCK_DIAG
_SOCK_DIAG_BY_FAMILY = 20
_TCPDIAG_GETSOCK = 18  # all that there was before Linux 3.3
_INET_DIAG_INFO, _INET_DIAG_CONG = 2, 4
_STATES = (
    *("", "ESTAB", "SYN-SENT", "SYN-RECV", "FIN-WAIT-1", "FIN-WAIT-2", "TIME-WAIT", "UNCONN"),
    *("CLOSE-WAIT", "LAST-ACK", "LISTEN", "CLOSING"),
)
LISTEN, TIME_WAIT = (1 << _STATES.index(name) for name in ("LISTEN", "TIME-WAIT"))
CONNECTED = sum(1 << _STATES.index(name) for name in _STATES[1:]) - LISTEN - TIME_WAIT
CONNECTED -= 1 << _STATES.index("UNCONN")

_REQUEST = struct.Struct("=BBBxI48x")  # inet_diag_req_v2: family, protocol, extensions, states
_OLD_REQUEST = struct.Struct("=BxxB48xI4x")  # inet_diag_req: family, extensions, states
_DIAG = struct.Struct("=BBBB2s2s16s16s12xIIIII")


def _offsets(text: str) -> dict[str, int]:
    pairs = (each.split(":") for each in text.split())
    return {name: int(offset) for name, offset in pairs}


# struct tcp_info, as far as it is used: name and offset of 32-bit fields, then of 64-bit ones.
_INFO_32 = _offsets("""
    rto_us:8 mss:16 unacked:24 sacked:28 lost:32 retrans:36 pmtu:60 rtt_us:68 rttvar_us:72
    ssthresh:76 cwnd:80 reordering:88 total_retrans:100 segs_out:136 segs_in:140
    notsent_bytes:144 min_rtt_us:148 delivered:192 dsack_dups:216 reord_seen:220 snd_wnd:228
""")
_INFO_64 = _offsets("""
    pacing_rate:104 bytes_acked:120 bytes_received:128 delivery_rate:160 busy_us:168
    rwnd_limited_us:176 sndbuf_limited_us:184 bytes_sent:200 bytes_retrans:208
""")
_OPTIONS, _TCPI_OPT_SACK = 5, 2  # the byte tcpi_options, and its bit for SACK on both SYNs
_CA_STATE = 1  # the byte tcpi_ca_state: enum tcp_ca_state, 0 (Open) to 4 (Loss)
_SHORTEST_INTERVAL = 0.1  # seconds
_READINGS_A_SECOND = 2000
_SOCKETS_OF_A_FLOW = 2
_INFINITE_SSTHRESH = 0x7FFFFFFF  # net/tcp.h: TCP_INFINITE_SSTHRESH


def tcp_sockets(states: int = CONNECTED) -> list[dict[str, Any]]:
    """Return the IPv4 TCP sockets of the thread's namespace with fields of tcp_info."""
    with socket.socket(*_DIAG_SOCKET) as diag:
        return _dump(diag, states)


def sampling_interval(flows: int) -> float:
    """Return seconds between two readings: a tenth, above a hundred flows in proportion to them.

    A reading of one socket costs about 30 us of CPU and 900 bytes in its file.
    """
    return max(_SHORTEST_INTERVAL, round(_SOCKETS_OF_A_FLOW * flows / _READINGS_A_SECOND, 1))


@contextmanager
def sampled(files: dict[int, Path], interval: float, printed: bool = False) -> Iterator[None]:
    """During the block, write the connections of each namespace (by a process of it) to its file.

    A line is {"time": seconds since 1970, "sockets": [...]}, one every `interval` seconds if there
    is a connection; if they are `printed` too, each comes out of the guest at once.
    """

    def work(stop: Stop) -> None:
        with ExitStack() as stack:
            watched = []
            for pid, file in files.items():
                with network_namespace(pid):  # to which the socket belongs from then on
                    diag = stack.enter_context(socket.socket(*_DIAG_SOCKET))
                watched.append((diag, stack.enter_context(file.open("w"))))
            while not stop.wait(interval):
                for diag, lines in watched:
                    if sockets := _dump(diag, CONNECTED):
                        line = json.dumps({"time": time.time(), "sockets": sockets}) + "\n"
                        lines.write(line)
                        if printed:
                            print(f"{SAMPLE}{line}", end="")

    with in_background("ss", work):
        yield


def _dump(diag: socket.socket, states: int) -> list[dict[str, Any]]:
    extensions = (1 << (_INET_DIAG_INFO - 1)) | (1 << (_INET_DIAG_CONG - 1))
    request = _REQUEST.pack(socket.AF_INET, socket.IPPROTO_TCP, extensions, states)
    try:
        return _answers(diag, _SOCK_DIAG_BY_FAMILY, request)
    except FileNotFoundError:
        request = _OLD_REQUEST.pack(socket.AF_INET, extensions, states)
        return _answers(diag, _TCPDIAG_GETSOCK, request)


def _answers(diag: socket.socket, kind: int, request: bytes) -> list[dict[str, Any]]:
    refusal = "sock_diag refused the request (CONFIG_INET_TCP_DIAG)"
    return [_socket(body) for body in dump(diag, kind, request, refusal)]


def _socket(body: bytes) -> dict[str, Any]:
    family, state, _, _, sport, dport, source, destination, *_ = _DIAG.unpack_from(body)
    row: dict[str, Any] = {
        "local": _end(family, source, sport),
        "remote": _end(family, destination, dport),
        "state": _STATES[state],
    }
    for kind, value in attributes(body[_DIAG.size :]).items():
        if kind == _INET_DIAG_CONG:
            row["congestion_control"] = value.rstrip(b"\0").decode()
        elif kind == _INET_DIAG_INFO:
            row.update(_tcp_info(value))
    return row


@cache
def _end(family: int, address: bytes, port: bytes) -> str:
    size = 4 if family == socket.AF_INET else 16
    return f"{socket.inet_ntop(family, address[:size])}:{int.from_bytes(port, 'big')}"


def _tcp_info(data: bytes) -> dict[str, Any]:
    names, layout, in_order = _known_fields(len(data))
    fields: dict[str, Any] = dict(zip(names, in_order(layout.unpack_from(data)), strict=True))
    if fields["ssthresh"] >= _INFINITE_SSTHRESH:
        fields["ssthresh"] = None  # slow start has not ended yet
    fields["sack"] = bool(data[_OPTIONS] & _TCPI_OPT_SACK)
    fields["ca_state"] = data[_CA_STATE]
    return fields


@cache
def _known_fields(
    size: int,
) -> tuple[list[str], struct.Struct, Callable[[tuple[int, ...]], tuple[int, ...]]]:
    """Return names, layout and order in a row of the fields that a tcp_info of `size` bytes has."""
    widths = [(name, at, 4) for name, at in _INFO_32.items()]
    widths += [(name, at, 8) for name, at in _INFO_64.items()]
    present = [field for field in widths if field[1] + field[2] <= size]
    placed = sorted(present, key=lambda field: field[1])
    layout, end = "=", 0
    for _name, at, width in placed:
        layout, end = f"{layout}{at - end}x{'I' if width == 4 else 'Q'}", at + width
    names, in_order = [field[0] for field in present], itemgetter(*map(placed.index, present))
    return names, struct.Struct(layout), in_order
