"""Connections of a capture as a list of rows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from analysis.flows.columns import Handed, connection_names, listed
from analysis.flows.reader import FileFacts, Reading, rows

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

    def _at(self, places: Sequence[int], names: Sequence[str]) -> Iterator[tuple[Any, ...]]:
        """Yield the rows at some places, out of one column after the other."""
        columns = map(self.column, names)
        return zip(*[[column[at] for at in places] for column in columns], strict=True)


def of_engine(results: Mapping[str, Any], file: FileFacts) -> ListedCapture:
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

    return ListedCapture(file, height, part, rows(results.get("udp", {})))


def of_reading(reading: Reading) -> ListedCapture:
    """Return the connections of a reading, from its tables."""
    table = reading.connection_table
    return ListedCapture(
        reading.file, len(table), lambda name, part: table[name][part].to_list(), reading.udp
    )
