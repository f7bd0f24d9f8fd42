"""Polars frames of the columns that an engine hands over (see handed.py).

If one value stands for all rows, Polars too keeps it once. Many rows go through NumPy, none
by itself.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import polars

from analysis.flows.columns import OURS, PACKETS, TCPTRACE, connection_names
from analysis.flows.engine_columns import Handed, listed

_TYPES: dict[str, Any] = {
    "integer": polars.Int64,
    "unsigned": polars.UInt64,
    "float": polars.Float64,
    "text": polars.String,
    "truth": polars.Boolean,
}
_PACKET_TYPES: dict[str, Any] = {
    "number": polars.UInt64,
    "time": polars.Int64,
    "connection": polars.UInt32,
    "forward": polars.Boolean,
    "sequence": polars.UInt64,
    "acknowledgement": polars.UInt64,
    "payload": polars.UInt32,
    "window": polars.UInt64,
    "flags": polars.UInt16,
    "sacks": polars.List(polars.UInt64),
    "dsack": polars.Boolean,
    "timestamp": polars.UInt32,
    "echo": polars.UInt32,
    "ip_id": polars.UInt16,
    "ecn": polars.UInt8,
    "ttl": polars.UInt8,
    "kind": polars.UInt8,
    "in_flight": polars.UInt64,
    "rtt": polars.Int64,
}


_HANDED: dict[str, Any] = {
    "uint64": polars.UInt64,
    "int64": polars.Int64,
    "uint32": polars.UInt32,
    "uint16": polars.UInt16,
    "uint8": polars.UInt8,
    "bool": polars.Boolean,
    "float64": polars.Float64,
    "text": polars.String,
}
_FEW = 1000
"""Up to so many rows lists are quick enough; NumPy takes longer to load."""


def connections_frame(columns: Mapping[str, Handed]) -> polars.DataFrame:
    """The connections' frame, its columns named, typed and ordered as the table says."""
    types = {name: _TYPES[column.type] for column in (*OURS, *TCPTRACE) for name in column.names()}
    if not columns:
        return polars.DataFrame(schema={name: types[name] for name in connection_names()})
    all_series = [_series(name, *columns[name]).cast(types[name]) for name in connection_names()]
    height = max(map(len, all_series))
    frame = polars.DataFrame([series for series in all_series if len(series) == height])
    shared = [
        polars.lit(series[0], series.dtype).alias(series.name)
        for series in all_series
        if len(series) < height
    ]
    return frame.with_columns(shared).select(connection_names())


def packets_frame(pieces: Sequence[Mapping[str, Handed]]) -> polars.DataFrame:
    """The packets' frame out of its pieces."""
    if not pieces:
        return polars.DataFrame(
            schema={column.name: _PACKET_TYPES[column.name] for column in PACKETS}
        )
    return polars.concat([_piece(piece) for piece in pieces], rechunk=False)


def _piece(piece: Mapping[str, Handed]) -> polars.DataFrame:
    plain = [column.name for column in PACKETS if column.name != "sacks"]
    frame = polars.DataFrame([_series(name, *piece[name]) for name in plain])
    return frame.with_columns(_sacks(piece, frame.height)).select(
        [column.name for column in PACKETS]
    )


def _sacks(piece: Mapping[str, Handed], height: int) -> polars.Series:
    """The lists of the edges of SACK blocks.

    An engine hands over a row and a value for each edge, ordered by row.
    """
    edges = polars.DataFrame(
        [_series("row", *piece["sack_row"]), _series("sacks", *piece["sack_value"])]
    )
    lists = edges.group_by("row", maintain_order=True).agg(polars.col("sacks"))
    rows = polars.DataFrame({"row": polars.arange(0, height, dtype=polars.UInt32, eager=True)})
    joined = rows.join(lists, on="row", how="left", maintain_order="left")
    return joined.get_column("sacks").fill_null(
        polars.Series([[]], dtype=polars.List(polars.UInt64))
    )


def _series(name: str, kind: str, values: Any, valid: bytes) -> polars.Series:
    if kind == "text" or len(values) <= 8 * _FEW >= len(valid):
        return polars.Series(name, listed(kind, values, valid), dtype=_HANDED[kind])
    import numpy

    numbers = numpy.frombuffer(values, dtype=kind)
    present = numpy.frombuffer(valid, dtype=bool)
    if present.all():
        return polars.Series(name, numbers)
    series = polars.Series(
        name, numbers.repeat(len(present)) if len(numbers) < len(present) else numbers
    )
    return polars.select(polars.when(polars.Series(present)).then(series).alias(name)).to_series()
