"""The connections' columns on the way to a table: a row is added for each connection."""

from __future__ import annotations

from array import array
from collections.abc import Mapping, Sequence
from operator import itemgetter
from typing import Any

from analysis.flows.columns import OURS, TCPTRACE, Column
from analysis.flows.engine_columns import Handed

Value = int | float | str | None
_CODES = {"unsigned": ("Q", "uint64"), "integer": ("q", "int64"), "float": ("d", "float64")}
_WHOLE = [column for column in (*OURS, *TCPTRACE) if not column.directed]
_DIRECTED = [column for column in (*OURS, *TCPTRACE) if column.directed]
_ROWS = 1024
"""Rows that are put into the columns together."""


class ColumnFrame:
    """Values by the columns' names; None is missing."""

    def __init__(self) -> None:
        places = [(column, 0) for column in (*_WHOLE, *_DIRECTED)] + [
            (column, 1) for column in _DIRECTED
        ]
        self._columns = [_Values(column, place) for column, place in places]
        self._whole_of = itemgetter(*(column.name for column in _WHOLE))
        self._directed_of = itemgetter(*(column.name for column in _DIRECTED))
        self._rows: list[tuple[Value, ...]] = []

    def add(
        self, whole: Mapping[str, Value], a2b: Mapping[str, Value], b2a: Mapping[str, Value]
    ) -> None:
        """Adds a connection: its own columns, and those of either direction."""
        self._rows.append(
            (*self._whole_of(whole), *self._directed_of(a2b), *self._directed_of(b2a))
        )
        if len(self._rows) == _ROWS:
            self._settle()

    def handed(self) -> dict[str, Handed]:
        self._settle()
        return {column.name: column.handed() for column in self._columns}

    def _settle(self) -> None:
        if self._rows:
            for column, values in zip(self._columns, zip(*self._rows, strict=True), strict=True):
                column.extend(values)
        self._rows = []


class _Values:
    def __init__(self, column: Column, place: int) -> None:
        self.name = column.names()[place]
        code, self._type = _CODES.get(column.type, ("", "text"))
        self._values: Any = array(code) if code else []
        self._valid = bytearray()

    def extend(self, values: Sequence[Value]) -> None:
        missing = None in values
        self._valid += (
            bytes(value is not None for value in values) if missing else b"\1" * len(values)
        )
        self._values.extend(
            [0 if value is None else value for value in values] if missing else values
        )

    def handed(self) -> Handed:
        values = self._values if self._type == "text" else self._values.tobytes()
        return (self._type, values, bytes(self._valid) if 0 in self._valid else b"")
