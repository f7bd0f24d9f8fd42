"""Which connections of a capture are shown, written and drawn."""

from __future__ import annotations

import ipaddress
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from analysis.analyze import short_numbers
from analysis.flows.reader import Reading
from topologies.errors import TcplabError, UsageError

if TYPE_CHECKING:
    import polars as pl


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
        fitting = chosen.connections
        if self.hosts:
            fitting = fitting.filter(_either("host", _addresses(fitting, self.hosts)))
        if self.ports:
            fitting = fitting.filter(_either("port", self.ports))
        if self.where:
            fitting = _fulfilling(fitting, self.where)
        if reading.connections.height and not fitting.height:
            raise TcplabError(
                f"No connection of {reading.file.path} fits.",
                f"It has {short_numbers.counted(reading.connections.height, 'connection')};"
                " without --host, --port and --where all are shown.",
            )
        return only(reading, fitting["connection"].to_list())


def only(reading: Reading, numbers: Sequence[int]) -> Reading:
    """The reading with these connections alone. Raises UsageError for one that it has not."""
    import polars as pl

    missing = sorted(set(numbers) - set(reading.connections["connection"]))
    if missing:
        height = reading.connections.height
        has = f"It has {height:,}, numbered from 1." if height else "No TCP connection is in it."
        words = short_numbers.listed([str(number) for number in missing])
        raise UsageError(f"{reading.file.path} has no connection {words}.", has)
    chosen = pl.col("connection").is_in(list(numbers))
    packets = None if reading.packets is None else reading.packets.filter(chosen)
    return replace(reading, connections=reading.connections.filter(chosen), packets=packets)


def _either(name: str, values: Sequence[object]) -> pl.Expr:
    """One of the two ends has one of the values."""
    import polars as pl

    return pl.any_horizontal(pl.col(f"{name}_{end}").is_in(list(values)) for end in "ab")


def _addresses(connections: pl.DataFrame, hosts: Sequence[str]) -> list[str]:
    """The addresses in the capture that are one of `hosts`, or lie within one of them."""
    networks = [_network(host) for host in hosts]
    known = set(connections["host_a"]) | set(connections["host_b"])
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


def _fulfilling(connections: pl.DataFrame, where: str) -> pl.DataFrame:
    import polars as pl
    from polars.exceptions import PolarsError

    try:
        return connections.filter(pl.sql_expr(where))
    except PolarsError as error:
        reason = str(error).strip().partition("\n")[0]
        raise UsageError(
            f"--where {where!r} is no condition on the columns: {reason}",
            "For example: --where 'retransmissions_a2b > 10 and port_b = 443'; --columns names"
            " the columns.",
        ) from error
