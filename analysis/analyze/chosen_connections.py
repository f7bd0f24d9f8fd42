"""Which connections of a capture are shown, written and drawn."""

from __future__ import annotations

import ipaddress
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from analysis.analyze import short_numbers
from analysis.flows.reader import Reading
from topologies.foundation.errors import TcplabError, UsageError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from analysis.tabular.column_table import ColumnTable


@dataclass(frozen=True)
class ConnectionChoice:
    """What a connection must fit: one of the values of each kind that is given.

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
        """The reading with the connections that fit.

        Raises UsageError for a number that it has not, and for a host or condition that is none;
        TcplabError if nothing fits.
        """
        chosen = only(reading, self.numbers) if self.numbers else reading
        fitting, number = chosen.connection_table, len(reading.connection_table)
        if self.hosts:
            fitting = _with_end(fitting, "host", _addresses(fitting, self.hosts))
        if self.ports:
            fitting = _with_end(fitting, "port", self.ports)
        if self.where:
            from analysis.analyze.sql_conditions import fulfilling

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
    connections, packets = reading.connection_table, reading.packet_table
    missing = sorted(set(numbers) - set(connections["connection"].to_list()))
    if missing:
        height = len(connections)
        has = f"It has {height:,}, numbered from 1." if height else "No TCP connection is in it."
        words = short_numbers.listed([str(number) for number in missing])
        raise UsageError(f"{reading.file.path} has no connection {words}.", has)
    return replace(
        reading,
        connection_table=_with_number(connections, numbers),
        packet_table=None if packets is None else _with_number(packets, numbers),
    )


def _with_number(table: ColumnTable, numbers: Sequence[int]) -> ColumnTable:
    return table.rows(_has("connection", table, numbers))


def _with_end(connections: ColumnTable, name: str, values: Sequence[Any]) -> ColumnTable:
    """Those of which either end has one of the values."""
    a, b = (_has(f"{name}_{end}", connections, values) for end in "ab")
    return connections.rows(a | b)


def _has(name: str, table: ColumnTable, values: Sequence[Any]) -> NDArray[Any]:
    import numpy as np

    return np.isin(table[name].values, np.array(values, table[name].values.dtype))


def _addresses(connections: ColumnTable, hosts: Sequence[str]) -> list[str]:
    """The addresses in the capture that are one of `hosts`, or lie within one of them."""
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
