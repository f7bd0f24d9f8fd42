"""Output of iperf version 2, and samples of a host's sockets (the fields of `ss -tin`)."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from msgspec import Struct
from msgspec.structs import replace

from analysis.records.json_reader import Microseconds, typed
from topologies.notation import json_value

_NUMBER = r"\d{1,12}(?:\.\d{1,9})?"
_LINE = re.compile(
    rf"^\[\s*(?:\d+|SUM)\]\s+(?P<start>{_NUMBER})\s*-\s*(?P<end>{_NUMBER}) sec"
    rf"\s+(?P<amount>{_NUMBER}) (?P<size>[KMG]?)Bytes\s+(?P<rate>{_NUMBER})"
    r" (?P<scale>[KMG]?)bits/sec",
    re.MULTILINE,
)
_DATAGRAMS = re.compile(
    rf"bits/sec\s+(?P<jitter>{_NUMBER}) ms\s+(?P<lost>\d{{1,12}})/\s*(?P<sent>\d{{1,12}}) \("
)
_BINARY = {"": 1 / 1024, "K": 1.0, "M": 1024.0, "G": 1024.0**2}
_DECIMAL = {"": 1e-3, "K": 1.0, "M": 1e3, "G": 1e6}


_DEATH = re.compile(r"^(?:tcp )?write failed: ", re.MULTILINE)


def has_died(client: str) -> bool:
    return bool(_DEATH.search(client))


@dataclass(frozen=True)
class IperfSummary:
    """The last line of iperf: `interval` in s, `transfer` in KByte (1024), `rate` in kbit/s."""

    interval: float
    transfer: float
    rate: float


def read_summary(output: str) -> IperfSummary | None:
    """The summary of the whole run: the last of the longest lines, SUM if there are streams."""
    lines = list(_LINE.finditer(output))
    if not lines:
        return None
    longest = max(map(_seconds, lines))
    line = [line for line in lines if _seconds(line) >= 0.99 * longest][-1]
    return IperfSummary(_seconds(line), float(line["amount"]) * _BINARY[line["size"]], _rate(line))


def _rate(line: re.Match[str]) -> float:
    return float(line["rate"]) * _DECIMAL[line["scale"]]


def _seconds(line: re.Match[str]) -> float:
    return float(line["end"]) - float(line["start"])


@dataclass(frozen=True)
class IperfInterval:
    """A line of `iperf -i`: seconds since the connection began, and kbit/s."""

    start: float
    end: float
    rate: float


def read_intervals(output: str) -> list[IperfInterval]:
    """All whole intervals; the last line may be of the time that the last write took."""
    lines = list(_LINE.finditer(output))
    longest = max(map(_seconds, lines), default=0.0)
    return [
        IperfInterval(float(each["start"]), float(each["end"]), _rate(each))
        for each in lines
        if _seconds(each) < 0.99 * longest
        and abs(_seconds(each) - _seconds(lines[0])) < 0.1 * _seconds(lines[0])
    ]


@dataclass(frozen=True)
class Datagrams:
    """A UDP server's count: jitter in ms (RFC 1889), datagrams lost and sent."""

    jitter: float
    lost: int
    sent: int

    @property
    def share(self) -> float:
        return 100 * self.lost / self.sent if self.sent else 0.0


def read_datagrams(output: str) -> Datagrams | None:
    lines = list(_DATAGRAMS.finditer(output))
    if not lines:
        return None
    jitter, lost, sent = lines[-1].group("jitter", "lost", "sent")
    return Datagrams(float(jitter), int(lost), int(sent))


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
    """One socket at one time, as `ss -tin` has it: times in s, windows and counts in segments.

    `ssthresh` is None until the first loss. Bytes count payload, `bytes_sent` with retransmissions.
    `reordering` is the threshold, which the kernel raises when it sees reordering. `busy` is how
    long data has been outstanding, `window_limited` and `buffer_limited` how long of that a window
    held the sender back (tcp_info). `timeout` is the one for retransmissions; `peer_window` what
    the other end advertised. `delivered` are known to have arrived, also behind a gap; 0 before
    Linux 4.18. `lost` are taken for lost, `retrans` on their way again, `unacked` all on their way.
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


def by_port(lines: Iterable[str]) -> dict[str, list[SocketSample]]:
    """All samples by the remote port of their socket. Raises ValueError on a broken line."""
    samples: dict[str, list[SocketSample]] = {}
    for line in lines:
        for sample in _samples(json_value(line)) if line.strip() else ():
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
