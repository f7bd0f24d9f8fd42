"""Connections of a capture as a list of rows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any

from analysis.analyze.facts import ConnectionFacts, connection
from analysis.analyze.policing import COLUMNS, Segments, segments_of, unread
from analysis.flows.columns import Handed, connection_names, listed
from analysis.flows.icmp import IcmpError
from analysis.flows.reader import FileFacts, Reading, icmp_errors, rows

JUDGED = 200_000
"""Packets up to which a verdict may look at each."""
_TOGETHER = 4096
"""Connections whose values are in memory at a time."""


@dataclass(frozen=True)
class ListedCapture:
    """The facts of a file, and `height` of its connections.

    `part` gives the values of some rows in the column of a name of analysis.flows.columns.
    """

    file: FileFacts
    height: int
    part: Callable[[str, slice], Sequence[Any]]
    udp: Sequence[Mapping[str, Any]] = ()
    segments: Segments = unread
    icmp: Sequence[IcmpError] = ()

    @cached_property
    def errors(self) -> Mapping[int, Sequence[IcmpError]]:
        """Errors of ICMP by the number of the connection that they quote."""
        found = dict[int, list[IcmpError]]()
        for error in self.icmp:
            if error["connection"] is not None:
                found.setdefault(error["connection"], []).append(error)
        return found

    def column(self, name: str) -> Sequence[Any]:
        """Return all values of a column."""
        return self.part(name, slice(None))

    def values(self, *names: str) -> Iterator[tuple[Any, ...]]:
        """Yield each connection's values in some columns; few of them are in memory at a time."""
        for begin in range(0, self.height, _TOGETHER):
            rows = slice(begin, begin + _TOGETHER)
            yield from zip(*(self.part(name, rows) for name in names), strict=True)

    def rows(self, places: Iterable[int] | None = None) -> Iterator[dict[str, Any]]:
        """Yield the connections, or those at some places: each as its values by name."""
        names = connection_names()
        for row in self.values(*names) if places is None else self._at(list(places), names):
            yield dict(zip(names, row, strict=True))

    def facts(self, places: Iterable[int] | None = None) -> Iterator[ConnectionFacts]:
        """Yield the connections as `rows` does, each as its facts."""
        for row in self.rows(places):
            yield connection(row, self.segments, self.errors.get(int(row["connection"]), ()))

    def _at(self, places: Sequence[int], names: Sequence[str]) -> Iterator[tuple[Any, ...]]:
        """Yield the rows at some places, out of one column after the other."""
        columns = map(self.column, names)
        return zip(*[[column[at] for at in places] for column in columns], strict=True)


def of_engine(
    results: Mapping[str, Any], file: FileFacts, segments: Segments = unread
) -> ListedCapture:
    """Return the rows of `analysis.flows.reader.columns`.

    Numbers of the connections differ, so that their column is as long as there are rows.
    """
    handed: Mapping[str, Handed] = results["connections"]
    height = len(listed(*handed["connection"])) if handed else 0

    def part(name: str, wanted: slice) -> Sequence[Any]:
        kind, values, valid = handed[name] if handed else ("text", [], b"")
        chosen = len(range(height)[wanted])
        cells = listed(kind, values, valid, wanted)
        return cells if len(cells) == chosen else cells * chosen

    udp, icmp = rows(results.get("udp", {})), icmp_errors(results)
    return ListedCapture(file, height, part, udp, segments, icmp)


def of_reading(reading: Reading) -> ListedCapture:
    """Return the connections of a reading, from its tables."""
    table, packets = reading.connection_table, reading.packet_table

    @cache
    def read() -> Segments:
        if packets is None or len(packets) > JUDGED:
            return unread
        return segments_of(packets[name].to_list() for name in COLUMNS)

    return ListedCapture(
        reading.file,
        len(table),
        lambda name, part: table[name][part].to_list(),
        reading.udp,
        lambda connection, forward: read()(connection, forward),
        reading.icmp,
    )


def segments_again(results: Mapping[str, Any]) -> Segments:
    """Return the segments of `analysis.flows.reader.columns` with packets."""
    cells: list[list[Any]] = [[] for _ in COLUMNS]
    for piece in results["packets_pieces"]:
        found = [listed(*piece[name]) for name in COLUMNS]
        height = max(map(len, found))
        for column, values in zip(cells, found, strict=True):
            column += values if len(values) == height else values * height
    return segments_of(cells)
