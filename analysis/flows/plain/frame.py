"""The connections' frame on the way to Polars: a row is added for each connection, as columns.py has the columns."""

from __future__ import annotations

from array import array
from collections.abc import Mapping
from typing import Any

from analysis.flows.columns import OURS, TCPTRACE, Column
from analysis.flows.frames import Handed

Value = int | float | str | None
_CODES = {"unsigned": ("Q", "uint64"), "integer": ("q", "int64"), "float": ("d", "float64")}


class Frame:
    """Values by the columns' names; None is missing."""

    def __init__(self) -> None:
        self._columns = {name: _Values(column) for column in (*OURS, *TCPTRACE) for name in column.names()}
        self._whole = [column.name for column in (*OURS, *TCPTRACE) if not column.directed]
        self._directed = [(column.name, *column.names()) for column in (*OURS, *TCPTRACE) if column.directed]

    def add(self, whole: Mapping[str, Value], a2b: Mapping[str, Value], b2a: Mapping[str, Value]) -> None:
        """Adds a connection: its own columns, and those of either direction."""
        for name in self._whole:
            self._columns[name].add(whole[name])
        for name, forward, back in self._directed:
            self._columns[forward].add(a2b[name])
            self._columns[back].add(b2a[name])

    def handed(self) -> dict[str, Handed]:
        return {name: values.handed() for name, values in self._columns.items()}


class _Values:
    def __init__(self, column: Column) -> None:
        code, self._type = _CODES.get(column.type, ("", "text"))
        self._values: Any = array(code) if code else []
        self._valid = bytearray()

    def add(self, value: Value) -> None:
        self._values.append(0 if value is None else value)
        self._valid.append(value is not None)

    def handed(self) -> Handed:
        values = self._values if self._type == "text" else self._values.tobytes()
        return (self._type, values, b"" if all(self._valid) else bytes(self._valid))
