"""Choice of connections by number, address, port and a condition in SQL.

SQLite evaluates the condition. It ignores the case of names, and tcptrace's RTT_min_a2b is not our
rtt_min_a2b: so columns get other names there.

Connections that never opened: without an answer, refused, left half open, or of a scan.
"""

from __future__ import annotations

import ipaddress
import re
import sqlite3
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from analysis.analyze import short_numbers
from analysis.analyze.listed import ListedCapture
from analysis.flows.reader import Reading
from topologies.errors import TcplabError, UsageError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from analysis.table import ColumnTable, Truths


_NAME = re.compile(r"""'(?:[^']|'')*'|"(?P<quoted>[^"]*)"|[A-Za-z_]\w*""")
"""Text, a name in quotes, or a word."""
_GREATEST = 2**63


def fulfilling(table: ColumnTable, condition: str) -> Truths:
    """Return for each row whether it meets the condition. Raises UsageError for invalid SQL."""
    import numpy as np

    used: dict[str, str] = {}

    def in_database(word: re.Match[str]) -> str:
        name = word["quoted"] or word[0]
        return used.setdefault(name, f"c{len(used)}") if name in table.columns else word[0]

    translated = _NAME.sub(in_database, condition)
    columns = [range(len(table)), *(map(_storable, table[name].to_list()) for name in used)]
    try:
        answers = _answers(translated, ["place", *used.values()], zip(*columns, strict=True))
    except (sqlite3.Error, sqlite3.Warning) as error:
        raise _refused(condition, str(error)) from error
    if not {*answers} <= {0, 1, None}:
        raise _refused(condition, "it is neither true nor false")
    return np.array([answer == 1 for answer in answers], np.bool_)


def _answers(condition: str, names: list[str], rows: Iterable[tuple[Any, ...]]) -> list[Any]:
    with closing(sqlite3.connect(":memory:")) as database:
        database.execute(f"create table connections ({', '.join(names)})")
        places = ", ".join("?" * len(names))
        database.executemany(f"insert into connections values ({places})", rows)
        chosen = database.execute(f"select ({condition}\n) from connections order by place")
        return [answer for (answer,) in chosen]


def _storable(value: Any) -> Any:
    """SQLite's whole numbers have a sign and 64 bits."""
    return float(value) if isinstance(value, int) and value >= _GREATEST else value


def _refused(condition: str, reason: str) -> UsageError:
    return UsageError(
        f"--where {condition!r} is no condition on the columns: {reason}",
        "For example: --where 'retransmissions_a2b > 10 and port_b = 443'; --columns names the"
        " columns.",
    )


@dataclass(frozen=True)
class ConnectionChoice:
    """Filter of connections: one of the values of each given kind must fit.

    `hosts` are addresses or networks of either end, `ports` of either end, and `where` a condition
    in SQL on the columns.
    """

    numbers: tuple[int, ...] = ()
    hosts: tuple[str, ...] = ()
    ports: tuple[int, ...] = ()
    where: str | None = None

    def __bool__(self) -> bool:
        return bool(self.numbers or self.hosts or self.ports or self.where)

    def of(self, reading: Reading) -> Reading:
        """Return the reading with the connections that fit.

        Raises UsageError for a number that it has not, and for a host or condition that is none;
        TcplabError if no connection fits.
        """
        chosen = only(reading, self.numbers) if self.numbers else reading
        fitting, number = chosen.connection_table, len(reading.connection_table)
        if self.hosts:
            fitting = _with_end(fitting, "host", _addresses(fitting, self.hosts))
        if self.ports:
            fitting = _with_end(fitting, "port", self.ports)
        if self.where:
            fitting = fitting.rows(fulfilling(fitting, self.where))
        if number and not len(fitting):
            raise TcplabError(
                f"No connection of {reading.file.path} fits.",
                f"It has {short_numbers.counted(number, 'connection')};"
                " without --host, --port and --where all are shown.",
            )
        return only(reading, fitting["connection"].to_list())


def only(reading: Reading, numbers: Sequence[int]) -> Reading:
    """The reading with these connections alone. Raises UsageError for one that it has not."""
    connections = reading.connection_table
    missing = sorted(set(numbers) - set(connections["connection"].to_list()))
    if missing:
        height = len(connections)
        has = f"It has {height:,}, numbered from 1." if height else "No TCP connection is in it."
        words = short_numbers.listed([str(number) for number in missing])
        raise UsageError(f"{reading.file.path} has no connection {words}.", has)
    names = ("connection_table", "packet_table", "limit_table")
    tables = {name: getattr(reading, name) for name in names}
    chosen: dict[str, Any] = {
        name: table and _with_number(table, numbers) for name, table in tables.items()
    }
    wanted = {None, *numbers}
    icmp = tuple(error for error in reading.icmp if error["connection"] in wanted)
    return replace(reading, icmp=icmp, **chosen)


def _with_number(table: ColumnTable, numbers: Sequence[int]) -> ColumnTable:
    return table.rows(_has("connection", table, numbers))


def _with_end(connections: ColumnTable, name: str, values: Sequence[Any]) -> ColumnTable:
    """Return the connections of which either end has one of the values."""
    a, b = (_has(f"{name}_{end}", connections, values) for end in "ab")
    return connections.rows(a | b)


def _has(name: str, table: ColumnTable, values: Sequence[Any]) -> NDArray[Any]:
    import numpy as np

    return np.isin(table[name].values, np.array(values, table[name].values.dtype))


def _addresses(connections: ColumnTable, hosts: Sequence[str]) -> list[str]:
    """Return the addresses in the capture that are one of `hosts`, or lie within one of them."""
    networks = [_network(host) for host in hosts]
    known = {host for end in "ab" for host in connections[f"host_{end}"].to_list()}
    return [
        address
        for address in known
        if any(ipaddress.ip_address(address) in network for network in networks)
    ]


def _network(host: str) -> ipaddress.IPv4Network | ipaddress.IPv6Network:
    try:
        return ipaddress.ip_network(host, strict=False)
    except ValueError as error:
        raise UsageError(
            f"--host {host} is no address.", "For example: 10.0.0.1, 10.0.0.0/8 or 2001:db8::1."
        ) from error


_SCAN = 10
"""Targets that one host tries to open within a capture before this counts as a scan."""
_NAMED = 3
_COLUMNS = (
    "syns_a2b",
    "syns_b2a",
    "total_packets_a2b",
    "total_packets_b2a",
    "resets_sent_a2b",
    "resets_sent_b2a",
    "actual_data_pkts_a2b",
    "actual_data_pkts_b2a",
)


class Attempt(StrEnum):
    """The ways in which a connection does not open; the values are words for a reader."""

    UNANSWERED = "never answered"
    REFUSED = "refused"
    HALF_OPEN = "answered and left half open"


@dataclass
class _Tried:
    """Attempts that one sentence describes. Of the targets hashes are kept, for memory."""

    kinds: Counter[Attempt] = field(default_factory=Counter)
    sources: set[str] = field(default_factory=set)
    hosts: set[int] = field(default_factory=set)
    targets: set[int] = field(default_factory=set)
    named: dict[str, None] = field(default_factory=dict)
    open: dict[str, None] = field(default_factory=dict)

    def add(self, kind: Attempt, source: str, host: str, port: int) -> None:
        self.kinds[kind] += 1
        self.sources.add(source)
        self.hosts.add(hash(host))
        self.targets.add(hash((host, port)))
        names = self.open if kind == Attempt.HALF_OPEN else self.named
        if len(names) <= _NAMED:
            names[short_numbers.end(host, port)] = None


def attempts(capture: ListedCapture) -> tuple[list[int], list[str]]:
    """Return the places of connections that opened, and sentences on the others."""
    kinds = [_kind(*row) for row in capture.values(*_COLUMNS)]
    opened = [at for at, kind in enumerate(kinds) if kind is None]
    if len(opened) == len(kinds):
        return opened, []
    return opened, list(_sentences(capture, kinds))


def _kind(
    syns: int, answers: int, sent: int, back: int, resets: int, refusals: int, *data: int
) -> Attempt | None:
    if not syns or any(data) or sent > syns + resets:
        return None
    if not back:
        return Attempt.UNANSWERED
    if back <= refusals:
        return Attempt.REFUSED
    return Attempt.HALF_OPEN if answers else None


def _sentences(capture: ListedCapture, kinds: list[Attempt | None]) -> Iterator[str]:
    hosts = capture.column("host_a")
    numbers = Counter(host for host, kind in zip(hosts, kinds, strict=True) if kind)
    scans = {host: _Tried() for host, number in numbers.items() if number >= _SCAN}
    others = {kind: _Tried() for kind in Attempt}
    ends = capture.values("host_a", "host_b", "port_b")
    for (source, host, port), kind in zip(ends, kinds, strict=True):
        if kind and source in scans:
            scans[source].add(kind, source, host, port)
    repeated = {source for source, tried in scans.items() if len(tried.targets) < _SCAN}
    ends = capture.values("host_a", "host_b", "port_b")
    for (source, host, port), kind in zip(ends, kinds, strict=True):
        if kind and (source not in scans or source in repeated):
            others[kind].add(kind, source, host, port)
    found = [(source, tried) for source, tried in scans.items() if source not in repeated]
    yield from (_scan(source, tried) for source, tried in found[:_NAMED])
    if rest := found[_NAMED:]:
        several = sum(tried.kinds.total() for _, tried in rest)
        yield f"Scans by {len(rest):,} more addresses: {several:,} connections."
    yield from (_other(kind, tried) for kind, tried in others.items() if tried.kinds)


def _scan(source: str, tried: _Tried) -> str:
    hosts = short_numbers.counted(len(tried.hosts), "address", "addresses")
    found = ", ".join(f"{number:,} {kind}" for kind, number in sorted(tried.kinds.items()))
    targets = short_numbers.counted(len(tried.targets), "port")
    return f"Scan by {source} of {targets} at {hosts}: {found}{_listed(tried.open)}."


def _other(kind: Attempt, tried: _Tried) -> str:
    number = short_numbers.counted(tried.kinds.total(), "connection")
    source = "".join(tried.sources)
    if len(tried.sources) > 1:
        source = f"{len(tried.sources):,} addresses"
    names = tried.open if kind == Attempt.HALF_OPEN else tried.named
    targets = short_numbers.listed(list(names))
    if len(tried.targets) > _NAMED:
        targets = f"{len(tried.targets):,} ports{_listed(names)}"
    return f"{kind.capitalize()}: {number}, from {source} to {targets}."


def _listed(names: dict[str, None]) -> str:
    """Return the first names in brackets; empty without any."""
    shown = list(names)[:_NAMED]
    return f" ({', '.join([*shown, *(['...'] if len(names) > _NAMED else [])])})" if shown else ""
