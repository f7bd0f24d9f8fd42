"""Samples of a host's sockets, one JSON object per line and instant (the fields of `ss -tin`)."""

import json
from collections.abc import Iterable, Iterator

from msgspec import Struct
from msgspec.structs import replace

from analysis.records.json_reader import Microseconds, typed

_NAMES = {
    "rtt": "rtt_us",
    "segments_retrans": "total_retrans",
    "least_rtt": "min_rtt_us",
    "busy": "busy_us",
    "window_limited": "rwnd_limited_us",
    "buffer_limited": "sndbuf_limited_us",
    "timeout": "rto_us",
    "peer_window": "snd_wnd",
}


class SocketSample(Struct, frozen=True, rename=_NAMES):
    """One socket at one time.

    `time` is in seconds since 1970, `rtt` and `least_rtt` in seconds, cwnd and ssthresh in
    segments; `ssthresh` is None until the first loss (the kernel's infinity). Bytes count payload,
    `bytes_sent` with its retransmissions. `reordering` is the threshold in segments, which the
    kernel raises when it sees reordering. `busy` is how long data has been outstanding, in
    seconds, `window_limited` how long of that the receiver's window and `buffer_limited` how long
    the send buffer held the sender back (tcp_info: tcpi_busy_time and the two after it). `timeout`
    is the one for retransmissions, in seconds; `peer_window` what the other end advertised, in
    bytes. `delivered` are the segments known to have arrived, also behind a gap; 0 before Linux
    4.18. `lost` are taken for lost, `retrans` on their way a second time, and `unacked` are all on
    their way. `pacing_rate` is in bytes/s.
    """

    time: float = 0.0
    cwnd: float = 0.0
    ssthresh: float | None = None
    rtt: Microseconds = Microseconds(0.0)
    bytes_acked: float = 0.0
    bytes_sent: float = 0.0
    bytes_retrans: float = 0.0
    segments_retrans: float = 0.0
    reordering: float = 0.0
    least_rtt: Microseconds = Microseconds(0.0)
    busy: Microseconds = Microseconds(0.0)
    window_limited: Microseconds = Microseconds(0.0)
    buffer_limited: Microseconds = Microseconds(0.0)
    timeout: Microseconds = Microseconds(0.0)
    peer_window: float = 0.0
    delivered: float = 0.0
    lost: float = 0.0
    retrans: float = 0.0
    unacked: float = 0.0
    pacing_rate: float = 0.0
    remote: str = ""
    congestion_control: str = ""

    @property
    def repairing(self) -> float:
        """Segments that are taken for lost or are on their way a second time."""
        return self.lost + self.retrans


class InstantEntry(Struct, frozen=True):
    """All sockets at one time, in seconds since 1970."""

    time: float | None = None
    sockets: tuple[SocketSample, ...] = ()


def read_samples(lines: Iterable[str], port: int) -> list[SocketSample]:
    """The samples of the sending socket: its remote port is `port`.

    Raises ValueError on a broken line.
    """
    return by_port(lines).get(str(port), [])


def by_port(lines: Iterable[str]) -> dict[str, list[SocketSample]]:
    """All samples by the remote port of their socket. Raises ValueError on a broken line."""
    samples: dict[str, list[SocketSample]] = {}
    for line in lines:
        for sample in _samples(json.loads(line)) if line.strip() else ():
            samples.setdefault(sample.remote.rpartition(":")[2], []).append(sample)
    return samples


def _samples(content: object) -> Iterator[SocketSample]:
    """Yield the connected sockets: others have no cwnd."""
    if not isinstance(content, dict):
        raise ValueError("a line holds no object")
    instant = typed(InstantEntry, content)
    if instant.time is not None:
        for socket in instant.sockets:
            if socket.cwnd:
                yield replace(socket, time=instant.time)
