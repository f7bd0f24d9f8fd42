"""The kernel's own view of each TCP connection over time: what `ss -tin` prints, sampled without a process.

`ss` asks the kernel through NETLINK_SOCK_DIAG (sock_diag(7)); so does this, from a thread that has entered
the host's network namespace once. Layouts: include/uapi/linux/inet_diag.h and tcp.h, which only ever grow.
"""

from __future__ import annotations

import ipaddress
import json
import socket
import struct
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from testbed.inside.background import in_background
from testbed.inside.namespaces import network_namespace

_NETLINK_SOCK_DIAG = 4
_SOCK_DIAG_BY_FAMILY = 20
_NLM_F_REQUEST_DUMP = 0x1 | 0x300
_NLMSG_ERROR, _NLMSG_DONE = 2, 3
_INET_DIAG_INFO, _INET_DIAG_CONG = 2, 4
_STATES = (
    "", "ESTAB", "SYN-SENT", "SYN-RECV", "FIN-WAIT-1", "FIN-WAIT-2", "TIME-WAIT",
    "UNCONN", "CLOSE-WAIT", "LAST-ACK", "LISTEN", "CLOSING",
)  # fmt: skip
LISTEN = 1 << _STATES.index("LISTEN")
CONNECTED = sum(1 << number for number, name in enumerate(_STATES) if name not in ("", "UNCONN", "LISTEN", "TIME-WAIT"))

_MESSAGE = struct.Struct("=IHHII")
_REQUEST = struct.Struct("=BBBxI48x")
_DIAG = struct.Struct("=BBBB2s2s16s16s12xIIIII")
# struct tcp_info, as far as it is used: name and offset of 32-bit fields, then of 64-bit ones.
_INFO_32 = {
    "rto_us": 8, "mss": 16, "unacked": 24, "sacked": 28, "lost": 32, "retrans": 36, "pmtu": 60, "rtt_us": 68,
    "rttvar_us": 72, "ssthresh": 76, "cwnd": 80, "reordering": 88, "total_retrans": 100, "segs_out": 136,
    "segs_in": 140, "notsent_bytes": 144, "min_rtt_us": 148, "delivered": 192, "dsack_dups": 216,
    "reord_seen": 220, "snd_wnd": 228,
}  # fmt: skip
_INFO_64 = {
    "pacing_rate": 104, "bytes_acked": 120, "bytes_received": 128, "delivery_rate": 160, "busy_us": 168,
    "rwnd_limited_us": 176, "sndbuf_limited_us": 184, "bytes_sent": 200, "bytes_retrans": 208,
}  # fmt: skip
_INFINITE_SSTHRESH = 0x7FFFFFFF  # net/tcp.h: TCP_INFINITE_SSTHRESH


def tcp_sockets(states: int = CONNECTED) -> list[dict[str, Any]]:
    """The IPv4 TCP sockets of the thread's namespace: addresses, state and the fields of tcp_info(7)."""
    with _diag_socket() as diag:
        return _dump(diag, states)


@contextmanager
def sampled(pid: int, file: Path, interval: float) -> Iterator[None]:
    """Write one JSON line of all connections of a namespace to `file` every `interval` seconds meanwhile.

    A line is {"time": seconds since 1970, "sockets": [...]}; lines without a connection are left out.
    """

    def work(stop: threading.Event) -> None:
        with network_namespace(pid), _diag_socket() as diag, file.open("w") as lines:
            while not stop.wait(interval):
                if found := _dump(diag, CONNECTED):
                    lines.write(json.dumps({"time": time.time(), "sockets": found}) + "\n")

    with in_background(f"ss {file.name}", work):
        yield


def _diag_socket() -> socket.socket:
    return socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, _NETLINK_SOCK_DIAG)


def _dump(diag: socket.socket, states: int) -> list[dict[str, Any]]:
    extensions = (1 << (_INET_DIAG_INFO - 1)) | (1 << (_INET_DIAG_CONG - 1))
    request = _REQUEST.pack(socket.AF_INET, socket.IPPROTO_TCP, extensions, states)
    diag.send(_MESSAGE.pack(_MESSAGE.size + len(request), _SOCK_DIAG_BY_FAMILY, _NLM_F_REQUEST_DUMP, 1, 0) + request)
    found: list[dict[str, Any]] = []
    while True:
        for kind, body in _messages(diag.recv(1 << 20)):
            if kind == _NLMSG_DONE:
                return found
            if kind == _NLMSG_ERROR:
                raise OSError(
                    -struct.unpack_from("=i", body)[0], "sock_diag refused the request (CONFIG_INET_TCP_DIAG)"
                )
            found.append(_socket(body))


def _messages(data: bytes) -> Iterator[tuple[int, bytes]]:
    while len(data) >= _MESSAGE.size:
        length, kind, *_ = _MESSAGE.unpack_from(data)
        yield kind, data[_MESSAGE.size : length]
        data = data[(length + 3) & ~3 :]


def _socket(body: bytes) -> dict[str, Any]:
    family, state, _timer, _retrans, sport, dport, source, destination, *_rest = _DIAG.unpack_from(body)
    size = 4 if family == socket.AF_INET else 16
    row: dict[str, Any] = {
        "local": f"{ipaddress.ip_address(source[:size])}:{int.from_bytes(sport, 'big')}",
        "remote": f"{ipaddress.ip_address(destination[:size])}:{int.from_bytes(dport, 'big')}",
        "state": _STATES[state],
    }
    for kind, value in _attributes(body[_DIAG.size :]):
        if kind == _INET_DIAG_CONG:
            row["congestion_control"] = value.rstrip(b"\0").decode()
        elif kind == _INET_DIAG_INFO:
            row.update(_tcp_info(value))
    return row


def _attributes(data: bytes) -> Iterator[tuple[int, bytes]]:
    while len(data) >= 4:
        length, kind = struct.unpack_from("=HH", data)
        yield kind, data[4:length]
        data = data[(length + 3) & ~3 :]


def _tcp_info(data: bytes) -> dict[str, Any]:
    fields = {name: struct.unpack_from("=I", data, at)[0] for name, at in _INFO_32.items() if at + 4 <= len(data)}
    fields |= {name: struct.unpack_from("=Q", data, at)[0] for name, at in _INFO_64.items() if at + 8 <= len(data)}
    if fields.get("ssthresh", 0) >= _INFINITE_SSTHRESH:
        fields["ssthresh"] = None  # slow start has not ended yet
    return fields
