"""A capture as the terminal and JSON show it: its connections column by column, as Python's lists.

A small capture is read in a fraction of the time that NumPy takes to load.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from analysis.flows.columns import connection_names
from analysis.flows.engine_columns import Handed, listed
from analysis.flows.reader import FileFacts, Reading


@dataclass(frozen=True)
class ListedCapture:
    """The facts of a file, and `height` of its connections.

    `column` gives their values of a name of analysis.flows.columns.
    """

    file: FileFacts
    height: int
    column: Callable[[str], Sequence[Any]]

    def rows(self, places: Iterable[int] | None = None) -> Iterator[dict[str, Any]]:
        """The connections, or those at some places: each as its values by name."""
        names = connection_names()
        values = [self.column(name) for name in names]
        for at in range(self.height) if places is None else places:
            yield {name: column[at] for name, column in zip(names, values, strict=True)}


def of_engine(results: Mapping[str, Any], file: FileFacts) -> ListedCapture:
    """What `analysis.flows.reader.columns` gives.

    Numbers of the connections differ, so that their column is as long as there are rows.
    """
    handed: Mapping[str, Handed] = results["connections"]
    height = len(listed(*handed["connection"])) if handed else 0

    def column(name: str) -> Sequence[Any]:
        values = listed(*handed[name]) if handed else []
        return values if len(values) == height else values * height

    return ListedCapture(file, height, column)


def of_reading(reading: Reading) -> ListedCapture:
    """The same of tables."""
    table = reading.connection_table
    return ListedCapture(reading.file, len(table), lambda name: table[name].to_list())
