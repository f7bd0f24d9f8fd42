"""Tables of the columns that the engine hands over.

The bytes of a column become an array as they are. One value that stands for all rows is kept once.
"""

from collections.abc import Mapping, MutableMapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from analysis.flows.columns import INTERVALS, OURS, PACKETS, TCPTRACE, Handed, connection_names
from analysis.table import ColumnTable, ListColumn, TableColumn

_TYPES: dict[str, DTypeLike] = {
    "integer": np.int64,
    "unsigned": np.uint64,
    "float": np.float64,
    "text": np.object_,
    "truth": np.bool_,
}
_PACKET_TYPES: dict[str, DTypeLike] = {
    "number": np.uint64,
    "time": np.int64,
    "connection": np.uint32,
    "forward": np.bool_,
    "sequence": np.uint64,
    "acknowledgement": np.uint64,
    "payload": np.uint32,
    "window": np.uint64,
    "flags": np.uint16,
    "dsack": np.bool_,
    "timestamp": np.uint32,
    "echo": np.uint32,
    "ip_id": np.uint16,
    "ecn": np.uint8,
    "ttl": np.uint8,
    "kind": np.uint8,
    "in_flight": np.uint64,
    "peer_in_flight": np.uint64,
    "rtt": np.int64,
    "carried": np.uint64,
    "carriers": np.uint64,
    "left_out": np.uint64,
    "regular": np.bool_,
}
OF_THINNED = ("carried", "carriers", "left_out", "regular")
"""Further columns if rows are left out.

Bytes of the direction so far and segments that have any, with the row's; rows that are left out
behind it; and whether it is one of those whose values are a sample of all.
"""


def connections_table(columns: Mapping[str, Handed]) -> ColumnTable:
    """The connections, their columns named, typed and ordered as the table says.

    Numbers of the connections differ, so that their column is as long as there are rows.
    """
    types = {name: _TYPES[column.type] for column in (*OURS, *TCPTRACE) for name in column.names()}
    names = connection_names()
    if not columns:
        return ColumnTable({name: TableColumn(np.empty(0, types[name])) for name in names})
    height = _length(columns["connection"])
    return ColumnTable({name: _column(columns[name], height, types[name]) for name in names})


def limits_table(columns: Mapping[str, Handed]) -> ColumnTable:
    """The times in which each cause limited a sender."""
    arrays = {column.name: _array(columns[column.name]) for column in INTERVALS}
    return ColumnTable({name: TableColumn(values) for name, values in arrays.items()})


def packets_table(pieces: Sequence[MutableMapping[str, Handed]]) -> ColumnTable:
    """The packets out of their pieces, which are emptied so that no column is kept twice."""
    heights = [_length(piece["number"]) for piece in pieces]
    names = [column.name for column in PACKETS]
    if pieces:  # those for pictures lack some columns, and may have further ones
        has = {"sacks", *pieces[0]}
        names = [name for name in (*names, *OF_THINNED) if name in has]
    return ColumnTable(
        {
            name: _sacks(pieces, heights)
            if name == "sacks"
            else _packets_column(name, pieces, heights)
            for name in names
        }
    )


def _packets_column(
    name: str, pieces: Sequence[MutableMapping[str, Handed]], heights: Sequence[int]
) -> TableColumn:
    kind = _PACKET_TYPES[name]
    none = TableColumn(np.empty(0, kind))
    parts = [
        _column(piece.pop(name), height, kind)
        for piece, height in zip(pieces, heights, strict=True)
    ]
    return TableColumn.joined(parts) if parts else none


def _sacks(pieces: Sequence[MutableMapping[str, Handed]], heights: Sequence[int]) -> ListColumn:
    """The lists of the edges of SACK blocks.

    An engine hands over a row and a value for each edge, ordered by row.
    """
    parts = [
        ListColumn.of_rows(_array(piece.pop("sack_row")), _array(piece.pop("sack_value")), height)
        for piece, height in zip(pieces, heights, strict=True)
    ]
    none = ListColumn(np.empty(0, np.uint64), np.zeros(1, np.int64))
    return ListColumn.joined(parts) if parts else none


def _length(handed: Handed) -> int:
    return len(_array(handed))


def _array(handed: Handed) -> NDArray[Any]:
    kind, values, _ = handed
    if kind != "text":
        return np.frombuffer(values, kind)
    texts = np.empty(len(values), np.object_)
    texts[:] = values
    return texts


def _column(handed: Handed, height: int, kind: DTypeLike) -> TableColumn:
    values, valid = _array(handed).astype(kind, copy=False), np.frombuffer(handed[2], np.bool_)
    return TableColumn(
        values if len(values) == height else np.broadcast_to(values, height),
        None if valid.all() else np.broadcast_to(valid, height),
    )
