"""Choice of connections by number, address, port and a condition in SQL.

SQLite evaluates the condition. It ignores the case of names, and tcptrace's RTT_min_a2b is not our
rtt_min_a2b: so columns get other names there."""

from __future__ import annotations

import ipaddress
import re
import sqlite3
from collections.abc import Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from analysis.analyze import short_numbers
from analysis.flows.reader import Reading
from topologies.foundation.errors import TcplabError, UsageError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from analysis.tabular.table import ColumnTable, Truths


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
