"""The measures of a trial by name, each declared once: a misspelt name is an error, not "no value".

A measure that is declared and has no value in a trial, because a file is missing or because there
was nothing to measure, is None there.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, fields
from difflib import get_close_matches
from functools import cache
from pathlib import Path
from typing import Self

from analysis.records.row_columns import METRICS, Metric
from topologies.foundation.errors import TcplabError

PAUSE = 0.25
"""Seconds without a data segment that count as a pause.

More than the published path's round trip of 80 ms, and less than that and the kernel's least
retransmission time-out (200 ms) together.
"""


class UnknownMetric(TcplabError):
    """A measure that is not declared.

    It is no KeyError, which would be taken for a measure without a value.
    """

    def __init__(self, name: str) -> None:
        near = get_close_matches(name, [*_DECLARED, *(f"nstat.{each}" for each in counters())], 3)
        remedy = f"Is {' or '.join(near)} meant?" if near else "analysis/measures/metric_keys.py."
        super().__init__(f"There is no measure '{name}'.", remedy)
        self._made_of = name

    def __reduce__(self) -> tuple[type, tuple[str]]:
        return type(self), (self._made_of,)


@dataclass(frozen=True)
class MetricKey:
    """A measure of a trial: its name, its unit, and what it is read from."""

    name: str
    unit: str
    source: str


MetricValues = Mapping[MetricKey, float]
"""The measures of a trial that have a value."""

_DECLARED: dict[str, MetricKey] = {}


def _declare(name: str, unit: str, source: str) -> MetricKey:
    assert name not in _DECLARED, name
    _DECLARED[name] = MetricKey(name, unit, source)
    return _DECLARED[name]


def metric(name: str) -> MetricKey:
    """The measure of that name. Raises UnknownMetric."""
    if name in _DECLARED:
        return _DECLARED[name]
    group, _, counter = name.partition(".")
    if group == "nstat" and counter in counters():
        return counted(counter)
    raise UnknownMetric(name)


def declared() -> tuple[MetricKey, ...]:
    """All measures that have a name of their own: counters of the kernel are not among them."""
    return tuple(_DECLARED.values())


@cache
def counters() -> frozenset[str]:
    """The names that the lab kernel gives its counters of IP, ICMP, TCP and UDP, as nstat does."""
    content = Path(__file__).with_suffix(".txt").read_text("utf-8")
    return frozenset(content.split())


def counter(name: str) -> MetricKey:
    """A counter of the sender's network namespace: after the trial less before.

    Raises UnknownMetric if the lab kernel has no counter of that name.
    """
    if name not in counters():
        raise UnknownMetric(f"nstat.{name}")
    return counted(name)


def counted(name: str) -> MetricKey:
    """The same for a name that a kernel gave, whichever kernel it was."""
    return MetricKey(f"nstat.{name}", "", f"counters.json, sender, {name}")


def of_metric(column: Metric) -> MetricKey:
    """A run's metric, or that of its only flow."""
    return _OF_METRICS[column]


_CLIENT, _SERVER = "client.txt of the first flow, last line", "server.txt of the same"
CLIENT_RATE = _declare("client.rate", "kbit/s", _CLIENT)
CLIENT_TRANSFER = _declare("client.transfer", "KByte", _CLIENT)
CLIENT_INTERVAL = _declare("client.interval", "s", _CLIENT)
SERVER_RATE = _declare("server.rate", "kbit/s", _SERVER)
SERVER_TRANSFER = _declare("server.transfer", "KByte", _SERVER)
SERVER_INTERVAL = _declare("server.interval", "s", _SERVER)

_QDISCS = "qdiscs.json, the port that carried most bytes"
PATH_LOST = _declare("path.lost", "packets", _QDISCS)
PATH_DROPPED = _declare("path.dropped", "packets", _QDISCS)
PATH_SHARE = _declare("path.share", "%", _QDISCS)

_CAUSES = "qdiscs.json, all ports, and counters.json, all hosts"
DROPS_RANDOM = _declare("drops.random", "packets", _CAUSES)
DROPS_FULL = _declare("drops.full_queue", "packets", _CAUSES)
DROPS_MANAGED = _declare("drops.active_queue_management", "packets", _CAUSES)
DROPS_HOSTS = _declare("drops.hosts", "packets", _CAUSES)
DROPS_UNASKED = _declare("drops.unasked", "packets", _CAUSES)

_GAPS = "gaps between data segments in the sender's .pcap"
PAUSE_COUNT = _declare("pauses.count", "", _GAPS)
PAUSE_TOTAL = _declare("pauses.total", "s", _GAPS)
PAUSE_LONGEST = _declare("pauses.longest", "s", _GAPS)
SENDER_RESENT = _declare("sender.resent", "segments", "sender's .pcap: nothing but known bytes")

_SOCKET = "sockets.jsonl of the sender, as ss -ti"
SOCKET_REORDERING = _declare("socket.reordering", "segments", _SOCKET)
SOCKET_LEAST_RTT = _declare("socket.least_rtt", "ms", _SOCKET)

_SOCKETS = "sockets.jsonl of all senders, as ss -ti"
TRIP_TYPICAL = _declare("trips.typical", "ms", f"{_SOCKETS}: rtt")
TRIP_LEAST = _declare("trips.least", "ms", f"{_SOCKETS}: minrtt")
TRIP_ABOVE = _declare("trips.above_least", "ms", f"{_SOCKETS}: rtt less minrtt")

_UDP = "server.txt of the UDP flow"
UDP_SENT = _declare("udp.sent", "kbit/s", "client.txt of the UDP flow, last line")
UDP_RATE = _declare("udp.rate", "kbit/s", _UDP)
UDP_LOST = _declare("udp.lost", "datagrams", _UDP)
UDP_DATAGRAMS = _declare("udp.datagrams", "datagrams", _UDP)
UDP_SHARE = _declare("udp.share", "%", _UDP)
UDP_JITTER = _declare("udp.jitter", "ms", _UDP)

_ORDER = "both captures, RFC 4737"
ORDER_SENT = _declare("order.sent", "packets", _ORDER)
ORDER_ARRIVED = _declare("order.arrived", "packets", _ORDER)
ORDER_LOST = _declare("order.lost", "packets", _ORDER)
ORDER_LATE = _declare("order.late", "packets", _ORDER)
ORDER_SHARE = _declare("order.share", "%", _ORDER)
ORDER_SHARE_3 = _declare("order.share_3", "%", _ORDER)
DELAY_LEAST = _declare("order.delay_least", "ms", _ORDER)
DELAY_MOST = _declare("order.delay_most", "ms", _ORDER)


@dataclass(frozen=True)
class SpreadKeys:
    """A quantity of packets: its median, 95th percentile and greatest."""

    median: MetricKey
    p95: MetricKey
    most: MetricKey

    @classmethod
    def declare(cls, group: str, unit: str) -> Self:
        return cls(
            *(_declare(f"{group}_{name}", unit, _ORDER) for name in ("median", "p95", "most"))
        )


ORDER_EXTENT = SpreadKeys.declare("order.extent", "packets")
ORDER_TIME = SpreadKeys.declare("order.time", "ms")


@dataclass(frozen=True)
class GroupKeys:
    """What several flows got: rates in kbit/s at the receivers, and what their clients `sent`."""

    least: MetricKey
    most: MetricKey
    total: MetricKey
    jain: MetricKey
    sent: MetricKey

    @classmethod
    def declare(cls, group: str) -> Self:
        source = "last lines of the flows' server.txt and client.txt"
        return cls(
            *(
                _declare(f"{group}.{field.name}", "" if field.name == "jain" else "kbit/s", source)
                for field in fields(cls)
            )
        )


FLOWS = GroupKeys.declare("flows")
TCP = GroupKeys.declare("tcp")


@dataclass(frozen=True)
class CaptureKeys:
    """The columns of one end's capture, by tcptrace's names: data, `back_` ACKs, `both_` ways.

    analysis.flows.columns defines them.
    """

    total_packets: MetricKey
    unique_bytes_sent: MetricKey
    actual_data_pkts: MetricKey
    actual_data_bytes: MetricKey
    rexmt_data_pkts: MetricKey
    rexmt_data_bytes: MetricKey
    outoforder_pkts: MetricKey
    pushed_data_pkts: MetricKey
    initial_window_bytes: MetricKey
    initial_window_pkts: MetricKey
    data_xmit_time: MetricKey
    idletime_max: MetricKey
    throughput: MetricKey
    min_segm_size: MetricKey
    max_segm_size: MetricKey
    avg_segm_size: MetricKey
    RTT_min: MetricKey
    RTT_avg: MetricKey
    RTT_max: MetricKey
    back_total_packets: MetricKey
    back_sack_pkts_sent: MetricKey
    back_max_win_adv: MetricKey
    back_min_win_adv: MetricKey
    back_avg_win_adv: MetricKey
    back_idletime_max: MetricKey
    both_total_packets: MetricKey

    @classmethod
    def declare(cls, role: str) -> Self:
        return cls(*(_captured(role, field.name) for field in fields(cls)))


def _captured(role: str, field: str) -> MetricKey:
    name = re.sub("^(back|both)_", r"\1.", field)
    unit = next((unit for ending, unit in _UNITS.items() if re.search(ending, field)), "")
    return _declare(f"{role}.{name}", unit, f"{role}'s .pcap, tcptrace's columns")


_UNITS = {
    "_(packets|pkts|pkts_sent)$": "packets",
    "_time$": "s",
    "^throughput$": "byte/s",
    "^(RTT|(back_)?idletime)_": "ms",
    "": "bytes",
}
"""By what the name of a column has in it; the first that fits."""

SENDER = CaptureKeys.declare("sender")
RECEIVER = CaptureKeys.declare("receiver")

_OF_METRICS = {
    column: _declare(f"metric.{column.name}", column.unit, "the rows of the run's flows")
    for column in METRICS
}
