"""Samples of a host's sockets, one JSON object per line and instant (the fields of `ss -tin`)."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from analysis.records.jsonfile import Object, number, objects, text


@dataclass(frozen=True)
class SocketSample:
    """One socket at one instant: `time` in seconds since 1970, `rtt` in seconds, cwnd and ssthresh
    in segments.

    `ssthresh` is None until the first loss (the kernel's infinity). Bytes count payload,
    `bytes_sent` with its retransmissions. `reordering` is the threshold in segments, which the
    kernel raises when it sees reordering; `least_rtt` is in seconds.
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


def read_samples(lines: Iterable[str], port: int) -> list[SocketSample]:
    """The samples of the sending socket: its remote port is `port`.

    Raises ValueError on a broken line.
    """
    return by_port(lines).get(str(port), [])


def by_port(lines: Iterable[str]) -> dict[str, list[SocketSample]]:
    """All samples by the remote port of their socket. Raises ValueError on a broken line."""
    found: dict[str, list[SocketSample]] = {}
    for line in lines:
        for port, sample in _samples(json.loads(line)) if line.strip() else ():
            found.setdefault(port, []).append(sample)
    return found


def _samples(instant: object) -> Iterator[tuple[str, SocketSample]]:
    if not isinstance(instant, dict):
        raise ValueError("a line holds no object")
    time = number(instant, "time")
    for socket in objects(instant, "sockets"):
        if time is not None and number(socket, "cwnd") is not None:
            yield text(socket, "remote").rpartition(":")[2], _sample(time, socket)


def _sample(time: float, socket: Object) -> SocketSample:
    field = {
        name: number(socket, name) or 0.0
        for name in (
            "cwnd",
            "rtt_us",
            "bytes_acked",
            "bytes_sent",
            "bytes_retrans",
            "total_retrans",
            "reordering",
            "min_rtt_us",
        )
    }
    rtt, least, resent = (
        field.pop("rtt_us") / 1e6,
        field.pop("min_rtt_us") / 1e6,
        field.pop("total_retrans"),
    )
    rest = {"rtt": rtt, "least_rtt": least, "segments_retrans": resent}
    return SocketSample(time=time, ssthresh=number(socket, "ssthresh"), **rest, **field)
