"""Samples of a host's sockets, one JSON object per line and instant (the fields of `ss -tin`)."""

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from msgspec import Struct

from analysis.records.json_reader import typed


class SocketEntry(Struct, frozen=True):
    """A socket in the output of ss; one that is not connected has no `cwnd`."""

    remote: str = ""
    cwnd: float | None = None
    ssthresh: float | None = None
    rtt_us: float = 0.0
    min_rtt_us: float = 0.0
    bytes_acked: float = 0.0
    bytes_sent: float = 0.0
    bytes_retrans: float = 0.0
    total_retrans: float = 0.0
    reordering: float = 0.0
    busy_us: float = 0.0
    rwnd_limited_us: float = 0.0
    sndbuf_limited_us: float = 0.0
    rto_us: float = 0.0
    snd_wnd: float = 0.0
    lost: float = 0.0
    retrans: float = 0.0
    delivered: float = 0.0


class InstantEntry(Struct, frozen=True):
    """All sockets at one time, in seconds since 1970."""

    time: float | None = None
    sockets: tuple[SocketEntry, ...] = ()


@dataclass(frozen=True)
class SocketSample:
    """One socket at one time.

    `time` is in seconds since 1970, `rtt` and `least_rtt` in seconds, cwnd and ssthresh in
    segments; `ssthresh` is None until the first loss (the kernel's infinity). Bytes count payload,
    `bytes_sent` with its retransmissions. `reordering` is the threshold in segments, which the
    kernel raises when it sees reordering. `busy` is how long data has been outstanding, in
    seconds, `window_limited` how long of that the receiver's window and `buffer_limited` how long
    the send buffer held the sender back (tcp_info: tcpi_busy_time and the two after it). `timeout`
    is the one for retransmissions, in seconds; `peer_window` what the other end advertised, in
    bytes; `repairing` the segments that are taken for lost or are on their way a second time.
    `delivered` are the segments known to have arrived, also behind a gap; 0 before Linux 4.18.
    """

    time: float
    cwnd: float
    ssthresh: float | None
    rtt: float
    bytes_acked: float
    bytes_sent: float
    bytes_retrans: float
    segments_retrans: float
    reordering: float
    least_rtt: float
    busy: float = 0.0
    window_limited: float = 0.0
    buffer_limited: float = 0.0
    timeout: float = 0.0
    peer_window: float = 0.0
    repairing: float = 0.0
    delivered: float = 0.0


def read_samples(lines: Iterable[str], port: int) -> list[SocketSample]:
    """The samples of the sending socket: its remote port is `port`.

    Raises ValueError on a broken line.
    """
    return by_port(lines).get(str(port), [])


def by_port(lines: Iterable[str]) -> dict[str, list[SocketSample]]:
    """All samples by the remote port of their socket. Raises ValueError on a broken line."""
    samples: dict[str, list[SocketSample]] = {}
    for line in lines:
        for port, sample in _samples(json.loads(line)) if line.strip() else ():
            samples.setdefault(port, []).append(sample)
    return samples


def _samples(content: object) -> Iterator[tuple[str, SocketSample]]:
    if not isinstance(content, dict):
        raise ValueError("a line holds no object")
    instant = typed(InstantEntry, content)
    for socket in instant.sockets:
        if instant.time is not None and socket.cwnd is not None:
            port = socket.remote.rpartition(":")[2]
            yield (
                port,
                SocketSample(
                    instant.time,
                    socket.cwnd,
                    socket.ssthresh,
                    socket.rtt_us / 1e6,
                    socket.bytes_acked,
                    socket.bytes_sent,
                    socket.bytes_retrans,
                    socket.total_retrans,
                    socket.reordering,
                    socket.min_rtt_us / 1e6,
                    socket.busy_us / 1e6,
                    socket.rwnd_limited_us / 1e6,
                    socket.sndbuf_limited_us / 1e6,
                    socket.rto_us / 1e6,
                    socket.snd_wnd,
                    socket.lost + socket.retrans,
                    socket.delivered,
                ),
            )
