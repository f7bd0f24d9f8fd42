"""The table of metrics: all that is measured of a run, each an entry with all that is known of it.

Sweeps, `--metric`, claims, reports, labs and the reference of columns read this table. metrics.csv
has the entries; its `kind` says what they are:

* `flow` and `run` are columns of a sweep's table, for each flow or for the whole run. As a metric
  of a trial, a column has the key `metric.NAME`.
* `trial` and `total` are measures: they follow the first flow, read captures, or sum up flows. A
  `total` grows with the time that the flow sends. OF_DATA and OF_ACKS are measures too.
* `rate`, `share` and `sample` are the terms of expressions (analysis.measures.expressions) with
  several values of a flow: its flows together are bytes over the common time, the mean, or the
  median of all values.

The kernel's counters are `nstat.NAME` (Documentation/networking/snmp_counter.rst). Another package
adds metrics as an entry point of the group `tcplab.metrics`: a Metric, or several.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from functools import cache
from pathlib import Path
from typing import Any, Literal

from topologies.errors import TcplabError
from topologies.plugins import registered

Row = dict[str, str | float | None]
"""A row of a sweep's table: `condition`, `flow` and the columns; None for what is unknown."""
GROUP = "tcplab.metrics"
PAUSE = 0.25
"""Seconds without a data segment that count as a pause.

metrics.csv states it too. It is more than the published path's round trip of 80 ms, and less than
that and the kernel's least retransmission time-out (200 ms) together.
"""


Together = Literal["", "rate", "mean", "p50"]
Transport = Literal["", "tcp", "udp"]
Scope = Literal["", "flow", "host", "port", "all flows", "all senders", "all ports", "all hosts"]


@dataclass(frozen=True)
class Metric:
    """An entry of the table.

    `value` computes it of a flow's or a trial's readings. A `column` can be swept; it belongs to
    each flow unless it is `of_run`. A `total` grows with the sending time. Several values of a flow
    become one number as `together` says. A metric is `windowed` if a part of the run has one, and
    `of_packets` if it needs captures; other transports have none. As a metric of a trial it is
    about its `scope`: the first flow, its host, the busiest port, or all of a kind.
    """

    name: str
    unit: str
    title: str = field(compare=False)
    source: str = field(compare=False)
    value: Callable[[Any], Any] = field(compare=False, repr=False)
    column: bool = False
    of_run: bool = field(default=False, compare=False)
    total: bool = field(default=False, compare=False)
    together: Together = field(default="", compare=False)
    windowed: bool = field(default=False, compare=False)
    of_packets: bool = field(default=False, compare=False)
    transport: Transport = field(default="", compare=False)
    scope: Scope = field(default="", compare=False)

    @property
    def of_flows(self) -> bool:
        return bool(self.together) or (self.column and not self.of_run)

    @property
    def is_rate(self) -> bool:
        return self.together == "rate"

    @property
    def key(self) -> str:
        """The name among the metrics of a trial, as claims, labs and published numbers have it."""
        return f"metric.{self.name}" if self.column else self.name

    def __reduce__(self) -> tuple[Callable[[str], Metric], tuple[str]]:
        return metric, (self.key,)  # a function as such does not travel between processes


class UnknownMetric(TcplabError):
    """A metric that the table lacks: no KeyError, which would mean one without a value."""

    def __init__(self, name: str) -> None:
        known = [*terms(), *columns(), *_by_key(), *(f"nstat.{each}" for each in counters())]
        near = get_close_matches(name, known, 3)
        remedy = f"Is {' or '.join(near)} meant?" if near else "./tcplab docs --serve lists all."
        super().__init__(f"There is no measure '{name}'.", remedy)
        self._made_of = name

    def __reduce__(self) -> tuple[type, tuple[str]]:
        return type(self), (self._made_of,)


def metric(key: str) -> Metric:
    """Return a trial's metric by its key, such as "metric.timeouts". Raises UnknownMetric."""
    if found := _OWN.get(key) or _by_key().get(key):
        return found
    group, _, name = key.partition(".")
    if group == "nstat" and name in counters():
        return counter(name)
    raise UnknownMetric(key)


def is_metric(key: str) -> bool:
    try:
        return bool(metric(key))
    except UnknownMetric:
        return False


def term_metric(name: str) -> Metric:
    """Return the metric that an expression calls `name`. Raises UnknownMetric."""
    return terms().get(name) or columns().get(name) or metric(name)


@cache
def terms() -> dict[str, Metric]:
    """Return the metrics with several values of a flow, by name."""
    return {each.name: each for each in _TABLE if each.together}


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
    value = _at(f"grown.{name}")
    return Metric(f"nstat.{name}", "", title or name, source, value, scope="host")


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


def _entries() -> Iterator[Metric]:
    """Yield the metrics in metrics.csv, whose `value` says where readings have the value."""
    table = Path(__file__).with_name("metrics.csv").read_text("utf-8").splitlines()
    for row in csv.DictReader(table):
        kind, group = row["kind"], row["value"].partition(".")[0]
        yield Metric(
            row["name"],
            row["unit"],
            row["title"],
            row["source"],
            _at(row["value"]),
            column=kind in ("flow", "run"),
            of_run=kind == "run",
            total=kind == "total",
            together=_TOGETHER.get(kind, ""),
            windowed=kind in ("flow", *_TOGETHER) and group in _WINDOWED,
            of_packets=group in ("packets", "crossed"),
            transport=_TRANSPORTS.get(group, ""),
            scope=_SCOPES.get(group, "" if kind in _TOGETHER else "flow"),
        )


_TOGETHER: dict[str, Together] = {"rate": "rate", "share": "mean", "sample": "p50"}
_TRANSPORTS: dict[str, Transport] = {"socket": "tcp", "sampled": "tcp", "datagrams": "udp"}
_SCOPES: dict[str, Scope] = {
    "path": "port",
    **dict.fromkeys(("flows", "trips"), "all flows"),
    "senders": "all senders",
    **dict.fromkeys(("drops", "ports"), "all ports"),
    **dict.fromkeys(("reordered", "hosts"), "all hosts"),
    "udp": "",
}
"""Scopes of groups; the other groups are the first flow's."""
_WINDOWED = ("rates", "socket", "sampled", "packets", "crossed")
"""Groups of a flow's values that are known of any part of the run."""
_TABLE = tuple(_entries())
_OWN = {each.key: each for each in _TABLE if not each.together}
_ENDS = (name.partition(".") for name in _OWN if name != "sender.resent")  # counted apart
_CAPTURED = tuple(dict.fromkeys(name for end, _, name in _ENDS if end in ("sender", "receiver")))
OF_DATA = tuple(name for name in _CAPTURED if "." not in name)
"""tcptrace's columns of what the sender sent; analysis.flows.columns defines them."""
OF_ACKS = tuple(name.removeprefix("back.") for name in _CAPTURED if name.startswith("back."))
"""tcptrace's columns of what the receiver sent, called `back.NAME`."""
