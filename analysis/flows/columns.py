"""What analysis.flows measures: every column with its type, unit, definition and source.

columns.csv beside this file is the table. Columns of a connection stand alone; columns of a
direction come twice, with `_a2b` (what a sent) and `_b2a`. The table `tcptrace` has the names and
the order of `tcptrace -n -l -r -W --csv`, 7 of the connection and 70 of each direction, 147
together. If tcptrace 6.6.7 is wrong, ours is right, and the definition says how;
`compatible=True` gives tcptrace's own value. Times are whole nanoseconds if the unit is ns.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator
from pathlib import Path
from typing import Literal, NamedTuple, cast

_MISPRINTED = {"RTT_full_sz_stdev_a2b": "RTT full_sz_stdev_a2b"}
"""tcptrace prints this one with a space; the column is found by that name."""

Type = Literal["integer", "unsigned", "float", "text", "truth"]


class Column(NamedTuple):
    """One column: `name` without the direction's ending, `unit` ("" for counts and text)."""

    name: str
    type: Type
    unit: str
    definition: str
    source: str
    directed: bool

    def names(self) -> tuple[str, ...]:
        """The names in the frame: two for a column of a direction, one otherwise."""
        names = (f"{self.name}_a2b", f"{self.name}_b2a") if self.directed else (self.name,)
        return tuple(_MISPRINTED.get(name, name) for name in names)


def _rows(name: str) -> Iterator[dict[str, str]]:
    with Path(__file__).with_name(name).open(encoding="utf-8", newline="") as table:
        yield from csv.DictReader(table)


def _column(row: dict[str, str]) -> Column:
    kind, directed = cast(Type, row["type"]), row["of"] == "direction"
    return Column(row["name"], kind, row["unit"], row["definition"], row["source"], directed)


_COLUMNS = [(row["table"], _column(row)) for row in _rows("columns.csv")]
TCPTRACE = tuple(column for table, column in _COLUMNS if table == "tcptrace")
"""tcptrace's columns of a connection."""
OURS = tuple(column for table, column in _COLUMNS if table == "connections")
"""Our own columns of a connection."""
PACKETS = tuple(column for table, column in _COLUMNS if table == "packets")
"""The columns of one row per segment."""

KINDS = tuple((row["kind"], row["meaning"]) for row in _rows("kinds.csv"))
"""Name and meaning of the `kind` of a packet; the position is the number in the frame."""
KIND = {name: code for code, (name, _) in enumerate(KINDS)}
"""The number in the frame of each kind."""

PERCENTILES = (5, 25, 50, 75, 95, 99)
RETRANSMISSIONS = ("fast", "sack", "rto", "tlp", "spurious", "other")
"""The kinds that are retransmissions of data by the sender."""


def connection_names() -> list[str]:
    """The names in the connections' frame, in order.

    First ours of the connection, then tcptrace's 147, then ours of a direction.
    """
    of_connection = [column for column in OURS if not column.directed]
    of_direction = [column for column in OURS if column.directed]
    columns = (*of_connection, *TCPTRACE, *of_direction)
    return [name for column in columns for name in column.names()]
