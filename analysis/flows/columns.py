"""Columns of connections and packets: type, unit, definition and source.

columns.csv is the table. Columns of a direction come twice, with `_a2b` (what a sent) and `_b2a`.
The table `tcptrace` has the names and the order of `tcptrace -n -l -r -W --csv`, 147 together, and
says how far each value agrees with tcptrace 6.6.7: `exact`, within a `tolerance` (`allowed`, in the
column's unit), or `repaired`: tcptrace is wrong in the case that `why` names, and
`compatible=True` gives its value. Times are whole nanoseconds if the unit is ns.
"""

import csv
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal, NamedTuple, cast

_MISPRINTED = {"RTT_full_sz_stdev_a2b": "RTT full_sz_stdev_a2b"}
"""tcptrace prints this one with a space; the column is found by that name."""
Agreement = Literal["exact", "tolerance", "repaired", ""]


class Column(NamedTuple):
    """One column: `name` without the direction's ending, `unit` ("" for counts and text).

    `type` is integer, unsigned, float, text, truth, or NumPy's name of a narrower one.
    """

    name: str
    type: str
    unit: str
    definition: str
    source: str
    directed: bool
    agreement: Agreement  # Agreement with tcptrace; empty for a column that tcptrace lacks
    allowed: float
    why: str

    def names(self) -> tuple[str, ...]:
        """The names in the frame: two for a column of a direction, one otherwise."""
        names = (f"{self.name}_a2b", f"{self.name}_b2a") if self.directed else (self.name,)
        return tuple(_MISPRINTED.get(name, name) for name in names)


def table_rows(path: Path) -> Iterator[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as table:
        yield from csv.DictReader(table)


def _columns(table: str) -> tuple[Column, ...]:
    return tuple(
        Column(
            *(row["name"], row["type"], row["unit"], row["definition"], row["source"]),
            *(row["of"] == "direction", cast(Agreement, row["agreement"])),
            *(float(row["allowed"] or 0), row["why"]),
        )
        for row in table_rows(Path(__file__).with_name("columns.csv"))
        if row["table"] == table
    )


TCPTRACE = _columns("tcptrace")  # tcptrace's columns of a connection
OURS = _columns("connections")  # further columns of a connection
PACKETS = _columns("packets")  # the columns of one row per segment
INTERVALS = _columns("limits")
"""The columns of one row per interval and cause that limited a sender."""
ICMP_ERRORS = _columns("icmp")  # the columns of one row per error of ICMP that quotes TCP or UDP
EXCHANGES = _columns("exchanges")  # the columns of one row per request and answer

_KINDS = tuple(table_rows(Path(__file__).with_name("kinds.csv")))
KINDS = tuple((row["kind"], row["meaning"]) for row in _KINDS)
"""Name and meaning of the `kind` of a packet; the position is the number in the frame."""
KIND = {name: code for code, (name, _) in enumerate(KINDS)}  # the number in the frame of each kind

RETRANSMISSIONS = ("fast", "sack", "rto", "tlp", "spurious", "other", "fastopen")
"""The kinds that are retransmissions of data by the sender."""


def connection_names() -> list[str]:
    """Return the frame's names: of a connection, tcptrace's 147, then of a direction."""
    of_connection = [column for column in OURS if not column.directed]
    of_direction = [column for column in OURS if column.directed]
    columns = (*of_connection, *TCPTRACE, *of_direction)
    return [name for column in columns for name in column.names()]


Handed = tuple[str, Any, bytes]
"""A column as the engine hands it over: (type, values, valid).

The type is NumPy's name, and the values are bytes; or it is "text" and they are a list of strings.
`valid` has a byte per value, 0 for a missing one, or is empty if all values are there. One value,
or one byte of `valid`, may stand for all rows.
"""

_CODES = {
    "uint64": "Q",
    "int64": "q",
    "uint32": "I",
    "uint16": "H",
    "uint8": "B",
    "bool": "?",
    "float64": "d",
}
"""The formats of the standard library's `struct`, by NumPy's names of the types."""


def listed(kind: str, values: Any, valid: bytes, rows: slice = slice(None)) -> list[Any]:
    """Return values in some rows, or one for all, None if missing; for few quicker than NumPy."""
    numbers = values if kind == "text" else memoryview(values).cast(_CODES[kind])  # type: ignore[call-overload]
    cells = list(numbers if len(numbers) == 1 else numbers[rows])
    valid = valid if len(valid) == 1 else valid[rows]
    if 0 not in valid:
        return cells
    shared = len(cells) == 1
    return [cells[0 if shared else row] if present else None for row, present in enumerate(valid)]
