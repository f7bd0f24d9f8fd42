"""Tables of the columns that the engine hands over, without copies."""

from collections.abc import Mapping, MutableMapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from analysis.flows.columns import INTERVALS, OURS, PACKETS, TCPTRACE, Handed, connection_names
from analysis.table import ColumnTable, ListColumn, TableColumn

_GENERAL = {
    "integer": np.int64,
    "unsigned": np.uint64,
    "float": np.float64,
    "text": np.object_,
    "truth": np.bool_,
}
"""NumPy's types of a column's; the engine gives the values in them."""
OF_THINNED = ("carried", "carriers", "left_out", "regular")
"""Further columns if rows are left out: bytes and segments so far, left out, a fair sample."""


def connections_table(columns: Mapping[str, Handed]) -> ColumnTable:
    if not columns:
        types = {name: each.type for each in (*OURS, *TCPTRACE) for name in each.names()}
        return ColumnTable({name: _empty(types[name]) for name in connection_names()})
    height = len(_array(columns["connection"]))  # numbers differ, so none stands for all
    return ColumnTable({name: _column(columns[name], height) for name in connection_names()})


def _empty(kind: str) -> TableColumn:
    return TableColumn(np.empty(0, _GENERAL.get(kind, kind)))


def limits_table(columns: Mapping[str, Handed]) -> ColumnTable:
    return ColumnTable.of(**{each.name: _array(columns[each.name]) for each in INTERVALS})


def packets_table(pieces: Sequence[MutableMapping[str, Handed]]) -> ColumnTable:
    """The packets out of their pieces, which are emptied so that no column is kept twice."""
    heights = [len(_array(piece["number"])) for piece in pieces]
    if not pieces:
        none = ListColumn(np.empty(0, np.uint64), np.zeros(1, np.int64))
        columns = {each.name: _empty(each.type) for each in PACKETS}
        return ColumnTable({**columns, "sacks": none})
    # Those for pictures lack some columns, and may have further ones.
    has, names = {"sacks", *pieces[0]}, [column.name for column in PACKETS]
    return ColumnTable(
        {
            name: ListColumn.joined([_sacks(*part) for part in parts])
            if name == "sacks"
            else TableColumn.joined([_column(piece.pop(name), height) for piece, height in parts])
            for name in (*names, *OF_THINNED)
            if name in has
            for parts in [list(zip(pieces, heights, strict=True))]
        }
    )


def _sacks(piece: MutableMapping[str, Handed], height: int) -> ListColumn:
    """The lists of the edges of SACK blocks: the engine hands over row and value of each edge."""
    rows, values = _array(piece.pop("sack_row")), _array(piece.pop("sack_value"))
    return ListColumn.of_rows(rows, values, height)


def _array(handed: Handed) -> NDArray[Any]:
    kind, values, _ = handed
    if kind != "text":
        return np.frombuffer(values, kind)
    texts = np.empty(len(values), np.object_)
    texts[:] = values
    return texts


def _column(handed: Handed, height: int) -> TableColumn:
    values, valid = _array(handed), np.frombuffer(handed[2], np.bool_)
    return TableColumn(
        values if len(values) == height else np.broadcast_to(values, height),
        None if valid.all() else np.broadcast_to(valid, height),
    )
