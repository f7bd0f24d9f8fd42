"""The table of metrics: all that is measured of a run, each an entry with all that is known of it.

Sweeps, `--metric`, claims, reports, labs and the reference of columns read this table. An entry has
a name, a unit, a title, its source (a file of the run) and the function that computes it. The
functions get readings of the run's files (analysis.measures.readings).

* Columns are those of a sweep's table, for each flow or for the whole run. As a metric of a
  trial, a column has the key `metric.NAME`.
* Measures are all others: they follow the first flow, read captures, or sum up flows.
* The kernel's counters are `nstat.NAME`; its Documentation/networking/snmp_counter.rst explains
  them.

Another package adds metrics as an entry point of the group `tcplab.metrics`: a Metric, or several.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from functools import cache
from pathlib import Path
from typing import Any

from topologies.foundation.errors import TcplabError
from topologies.foundation.plugins import registered

Row = dict[str, str | float | None]
"""A row of a sweep's table: `condition`, `flow` and the columns; None for what is unknown."""
GROUP = "tcplab.metrics"
PAUSE = 0.25
"""Seconds without a data segment that count as a pause.

More than the published path's round trip of 80 ms, and less than that and the kernel's least
retransmission time-out (200 ms) together.
"""


@dataclass(frozen=True)
class Metric:
    """An entry of the table.

    `value` computes it of a flow's or a trial's readings, None for no value. A `column` can be
    swept; it belongs to each flow unless it is `of_run`. A `total` grows with the time that the
    flow sends.
    """

    name: str
    unit: str
    title: str = field(compare=False)
    source: str = field(compare=False)
    value: Callable[[Any], float | None] = field(compare=False, repr=False)
    column: bool = False
    of_run: bool = field(default=False, compare=False)
    total: bool = field(default=False, compare=False)

    @property
    def key(self) -> str:
        """The name among the metrics of a trial, as claims, labs and published numbers have it."""
        return f"metric.{self.name}" if self.column else self.name

    def __reduce__(self) -> tuple[Callable[[str], Metric], tuple[str]]:
        return metric, (self.key,)  # a function as such does not travel between processes


class UnknownMetric(TcplabError):
    """A metric that the table lacks.

    It is no KeyError, which would be taken for a metric without a value.
    """

    def __init__(self, name: str) -> None:
        known = [*_by_key(), *(f"nstat.{each}" for each in counters())]
        near = get_close_matches(name, known, 3)
        remedy = f"Is {' or '.join(near)} meant?" if near else "analysis/measures/metrics.py."
        super().__init__(f"There is no measure '{name}'.", remedy)
        self._made_of = name

    def __reduce__(self) -> tuple[type, tuple[str]]:
        return type(self), (self._made_of,)


def metric(key: str) -> Metric:
    """Return the metric of a trial by its key, such as "path.lost" or "metric.timeouts".

    Raises UnknownMetric.
    """
    if found := _OWN.get(key) or _by_key().get(key):
        return found
    group, _, name = key.partition(".")
    if group == "nstat" and name in counters():
        return counter(name)
    raise UnknownMetric(key)


@cache
def columns() -> dict[str, Metric]:
    """Return the columns of a sweep's table by name, those of other packages last."""
    return {each.name: each for each in _by_key().values() if each.column}


@cache
def measures() -> tuple[Metric, ...]:
    """Return all metrics but the columns and the kernel's counters."""
    return tuple(each for each in _by_key().values() if not each.column)


@cache
def counters() -> frozenset[str]:
    """The names that the lab kernel gives its counters of IP, ICMP, TCP and UDP, as nstat does."""
    return frozenset(Path(__file__).with_name("counters.txt").read_text("utf-8").split())


def counter(name: str, title: str = "") -> Metric:
    """Return a counter of the sender's host: its growth during the trial, on any kernel."""
    source = f"counters.json, sender, {name}"
    return Metric(f"nstat.{name}", "", title or name, source, _at(f"grown.{name}"))


@cache
def _by_key() -> dict[str, Metric]:
    """All entries by their keys, those of other packages last. Raises UsageError."""
    found = dict(_OWN)
    for plugin in registered(GROUP).values():
        loaded = plugin.load()
        for each in loaded if isinstance(loaded, Iterable) else [loaded]:
            if not isinstance(each, Metric):
                raise plugin.broken(f"{each!r:.60} is no Metric")
            if found.setdefault(each.key, each) is not each:
                raise plugin.broken(f"there is a metric '{each.key}' already")
    return found


def _at(path: str) -> Callable[[Any], float | None]:
    """Read `GROUP.NAME`: the value NAME of a group of values that readings have."""
    group, _, name = path.partition(".")

    def value(readings: Any) -> float | None:
        values: Mapping[str, float] = getattr(readings, group)
        return values.get(name)

    return value


def _of_flow(name: str, unit: str, title: str, source: str, path: str) -> Metric:
    return Metric(name, unit, title, source, _at(path), column=True)


def _of_run(name: str, unit: str, title: str, source: str, path: str) -> Metric:
    return Metric(name, unit, title, source, _at(path), column=True, of_run=True)


def _of(name: str, unit: str, title: str, source: str, total: bool = False) -> Metric:
    """A metric of a trial: its name is where readings have it."""
    return Metric(name, unit, title, source, _at(name), total=total)


_SERVER, _CLIENT = "FLOW.server.txt, last line", "FLOW.client.txt, last line"
_SECONDS, _SOCKET = "FLOW.client.txt, lines of seconds", "sockets.jsonl of the sender, as ss -ti"
_SENDERS, _HOSTS = "counters.json, all senders", "counters.json, all hosts"
_PORTS, _SERVERS = "qdiscs.json, all ports", "the last lines of all flows' .server.txt"
_CLIENTS = "the last lines of all flows' .client.txt"

_COLUMNS = (
    _of_flow("goodput_kbit_s", "kbit/s", "Goodput at the receiver", _SERVER, "server.rate"),
    _of_flow("transfer_kbyte", "KByte", "Data received", _SERVER, "server.transfer"),
    _of_flow(
        "seconds",
        "s",
        "Time from the first to the last byte at the receiver",
        _SERVER,
        "server.interval",
    ),
    _of_flow("retransmitted_percent", "%", "Bytes retransmitted", _SOCKET, "socket.bytes_resent"),
    _of_flow("retransmitted_segments", "", "Segments retransmitted", _SOCKET, "socket.resent"),
    _of_flow(
        "rtt_median_ms",
        "ms",
        "Smoothed round-trip time, median over time",
        _SOCKET,
        "socket.rtt_median",
    ),
    _of_flow(
        "rtt_p95_ms",
        "ms",
        "Smoothed round-trip time, 95th percentile over time",
        _SOCKET,
        "socket.rtt_p95",
    ),
    _of_flow(
        "cwnd_median_segments",
        "segments",
        "Congestion window, median over time",
        _SOCKET,
        "socket.cwnd_median",
    ),
    _of_flow(
        "client_kbit_s",
        "kbit/s",
        "Rate at the sender, as iperf's client says",
        _CLIENT,
        "client.rate",
    ),
    _of_flow(
        "client_seconds",
        "s",
        "Time from the first to the last byte at the sender",
        _CLIENT,
        "client.interval",
    ),
    _of_flow(
        "mean_second_kbit_s",
        "kbit/s",
        "Mean of the seconds' rates at the sender",
        _SECONDS,
        "seconds.mean",
    ),
    _of_flow(
        "slowest_second_kbit_s",
        "kbit/s",
        "Slowest second at the sender",
        _SECONDS,
        "seconds.slowest",
    ),
    _of_flow(
        "fastest_second_kbit_s",
        "kbit/s",
        "Fastest second at the sender",
        _SECONDS,
        "seconds.fastest",
    ),
    _of_flow("udp_lost_percent", "%", "Datagrams lost", _SERVER, "datagrams.share"),
    _of_flow("udp_jitter_ms", "ms", "Jitter of datagrams", _SERVER, "datagrams.jitter"),
    _of_run(
        "total_goodput_kbit_s", "kbit/s", "Goodput of all flows together", _SERVERS, "shared.total"
    ),
    _of_run(
        "jain_index", "", "Jain's fairness index of the flows' goodput", _SERVERS, "shared.jain"
    ),
    _of_run(
        "resent_percent",
        "%",
        "Segments retransmitted, of all senders' segments",
        _SENDERS,
        "senders.resent",
    ),
    _of_run(
        "timeouts", "", "Retransmission time-outs of all senders", _SENDERS, "senders.timeouts"
    ),
    _of_run("lost_percent", "%", "Packets lost at random on all links", _PORTS, "ports.lost"),
    _of_run("queue_drops", "", "Packets dropped by full queues", _PORTS, "ports.dropped"),
    _of_run("reorderings", "", "Reorderings that the senders' TCP saw", _HOSTS, "reordered.seen"),
    _of_run("out_of_order", "", "Segments that came out of order", _HOSTS, "reordered.queued"),
    _of_run("dsacks", "", "Needless retransmissions (DSACK)", _HOSTS, "reordered.dsacks"),
    _of_run(
        "host_drops", "", "Packets dropped by hosts' own netem", "reordering.json", "hosts.dropped"
    ),
)
"""The columns in their order. iperf's KByte are 1024 bytes; its rates have three digits."""

_FIRST_CLIENT, _FIRST_SERVER = "flow1.client.txt, last line", "flow1.server.txt, last line"
_TRIPS = "sockets.jsonl of all senders"
_GAPS = f"gaps of {PAUSE:g} s or more between data segments in the sender's .pcap"
_UDP, _ORDER = "server.txt of the UDP flow", "both captures, RFC 4737"

_MEASURES = (
    _of("client.rate", "kbit/s", "iperf client", _FIRST_CLIENT),
    _of("client.transfer", "KByte", "iperf client transfer", _FIRST_CLIENT, total=True),
    _of("client.interval", "s", "iperf client interval", _FIRST_CLIENT, total=True),
    _of("server.rate", "kbit/s", "Throughput at the receiver", _FIRST_SERVER),
    _of("server.transfer", "KByte", "iperf server transfer", _FIRST_SERVER, total=True),
    _of("server.interval", "s", "iperf server interval", _FIRST_SERVER, total=True),
    _of(
        "path.lost",
        "packets",
        "Packets that the path lost towards the receiver",
        "qdiscs.json, netem drops less queue drops",
    ),
    _of("path.dropped", "packets", "Packets that the path's queue dropped", "qdiscs.json, queue"),
    _of(
        "path.share",
        "%",
        "Share of the packets that the path lost towards the receiver",
        "qdiscs.json, netem drops / (drops + packets)",
    ),
    _of("drops.random", "packets", "Packets lost at random", f"{_PORTS}, netem"),
    _of("drops.full_queue", "packets", "Packets dropped by a full queue", f"{_PORTS}, queue"),
    _of(
        "drops.active_queue_management",
        "packets",
        "Packets dropped by a queue before it was full",
        f"{_PORTS}, active queue management",
    ),
    _of("drops.hosts", "packets", "Packets dropped in hosts", _HOSTS),
    _of("drops.unasked", "packets", "Packets lost without any cause", f"{_PORTS}, and {_HOSTS}"),
    _of("pauses.count", "", "Pauses of the sender", f"{_GAPS}, their number"),
    _of("pauses.total", "s", "Time spent in pauses", f"{_GAPS}, their sum"),
    _of("pauses.longest", "s", "Longest pause", f"{_GAPS}, the longest"),
    _of("sender.resent", "segments", "Segments sent again", "sender's .pcap: only known bytes"),
    _of("socket.reordering", "segments", "Highest threshold of reordering", _SOCKET),
    _of("socket.least_rtt", "ms", "Least round trip that TCP knew", _SOCKET),
    _of("trips.typical", "ms", "Round trip, median", f"{_TRIPS}, rtt as TCP smooths it"),
    _of("trips.least", "ms", "Least round trip", f"{_TRIPS}, minrtt"),
    _of(
        "trips.above_least",
        "ms",
        "Queueing delay: round trip above the least, median",
        f"{_TRIPS}, rtt less minrtt",
    ),
    _of("udp.sent", "kbit/s", "Rate of the UDP sender", "client.txt of the UDP flow, last line"),
    _of("udp.rate", "kbit/s", "Rate of the UDP flow at the receiver", _UDP),
    _of("udp.lost", "datagrams", "UDP datagrams lost", _UDP),
    _of("udp.datagrams", "datagrams", "UDP datagrams sent", _UDP),
    _of("udp.share", "%", "Share of UDP datagrams lost", _UDP),
    _of("udp.jitter", "ms", "UDP jitter", _UDP),
    _of("order.sent", "packets", "Packets sent", _ORDER),
    _of("order.arrived", "packets", "Packets that arrived", _ORDER),
    _of("order.lost", "packets", "Packets that did not arrive", _ORDER),
    _of("order.late", "packets", "Reordered packets", _ORDER),
    _of("order.share", "%", "Share of reordered packets", _ORDER),
    _of("order.share_3", "%", "Share of packets that are 3-reordered", _ORDER),
    _of("order.delay_least", "ms", "One-way delay, least", _ORDER),
    _of("order.delay_most", "ms", "One-way delay, greatest", _ORDER),
    *(
        _of(f"order.{name}_{which}", unit, f"{title}, {words}", _ORDER)
        for name, unit, title in (("extent", "packets", "Extent"), ("time", "ms", "Late time"))
        for which, words in (("median", "median"), ("p95", "95th percentile"), ("most", "greatest"))
    ),
    _of("flows.least", "kbit/s", "Slowest flow", _SERVERS),
    _of("flows.most", "kbit/s", "Fastest flow", _SERVERS),
    _of("flows.total", "kbit/s", "Goodput of all flows together", f"{_SERVERS}, their sum"),
    _of("flows.jain", "", "Jain's fairness index of the flows", _SERVERS),
    _of("flows.sent", "kbit/s", "Rate of all senders together", f"{_CLIENTS}, their sum"),
    _of("tcp.least", "kbit/s", "Slowest TCP flow", _SERVERS),
    _of("tcp.most", "kbit/s", "Fastest TCP flow", _SERVERS),
    _of("tcp.total", "kbit/s", "TCP, sum of the flows", _SERVERS),
    _of("tcp.jain", "", "Jain's index of the TCP flows", _SERVERS),
    _of("tcp.sent", "kbit/s", "Rate of the TCP senders together", f"{_CLIENTS}, their sum"),
)
"""The measures of a trial but for those of its first flow's captures."""

OF_DATA = {
    "total_packets": "packets",
    "unique_bytes_sent": "bytes",
    "actual_data_pkts": "packets",
    "actual_data_bytes": "bytes",
    "rexmt_data_pkts": "packets",
    "rexmt_data_bytes": "bytes",
    "outoforder_pkts": "packets",
    "pushed_data_pkts": "packets",
    "initial_window_bytes": "bytes",
    "initial_window_pkts": "packets",
    "data_xmit_time": "s",
    "idletime_max": "ms",
    "throughput": "byte/s",
    "min_segm_size": "bytes",
    "max_segm_size": "bytes",
    "avg_segm_size": "bytes",
    "RTT_min": "ms",
    "RTT_avg": "ms",
    "RTT_max": "ms",
}
"""tcptrace's columns of what the sender sent, with units; analysis.flows.columns defines them."""
OF_ACKS = {
    "total_packets": "packets",
    "sack_pkts_sent": "packets",
    "max_win_adv": "bytes",
    "min_win_adv": "bytes",
    "avg_win_adv": "bytes",
    "idletime_max": "ms",
}
"""tcptrace's columns of what the receiver sent, called `back.NAME`."""
_TOTALS = {
    "total_packets",
    "unique_bytes_sent",
    "actual_data_bytes",
    "rexmt_data_pkts",
    "rexmt_data_bytes",
    "outoforder_pkts",
    "data_xmit_time",
}


def _captured(role: str) -> list[Metric]:
    """The metrics of the capture at an end of the first flow, `sender` or `receiver`."""

    def entry(way: str, name: str, unit: str, direction: str, remark: str) -> Metric:
        words = name.replace("_", " ").removesuffix(" bytes" if "window" in name else " ")
        short = words if way == "both." else words.replace("total packets", "packets")
        title, source = (
            f"tcptrace {short}{direction}",
            f"{role}'s .pcap, tcptrace's {words}{remark}",
        )
        return _of(f"{role}.{way}{name}", unit, title, source, total=name in _TOTALS)

    return [
        *(entry("", name, unit, " a->b", "") for name, unit in OF_DATA.items()),
        *(entry("back.", name, unit, " b->a", ", b->a") for name, unit in OF_ACKS.items()),
        entry("both.", "total_packets", "packets", "", ", both directions"),
    ]


_OWN = {
    each.key: each for each in (*_MEASURES, *_captured("sender"), *_captured("receiver"), *_COLUMNS)
}
