"""The plain engine of `analysis.flows`: one streaming pass over a capture, in NumPy and Python.

It gives what the compiled engine gives. Each file here is the twin of the one with its name in
../core/src, so that a rule stands at the same place in both.
"""

from __future__ import annotations

from typing import Any

from analysis.flows.plain import connection_rows, packet_records, pcapng_blocks
from analysis.flows.plain.column_frame import ColumnFrame
from analysis.flows.plain.connection_table import ConnectionTable, Period
from analysis.flows.plain.growing import Follower
from analysis.flows.plain.stream import ByteStream, open_source
from analysis.flows.plain.text_lines import lines

__all__ = ["Follower", "analyse", "lines"]


def analyse(
    path: str, packets: bool, compatible: bool, period: Period | None = None
) -> dict[str, Any]:
    """The facts of the file, `connections`, and `packets_pieces`; of packets in the period alone.

    analysis.flows.engine_columns describes them. Raises OSError for a file that cannot be read,
    ValueError for one that is no capture.
    """
    table, headers = ConnectionTable(compatible, packets, period), packet_records.FileHeaders()
    with open(path, "rb") as file:
        source, compression = open_source(file)
        recognised = packet_records.recognise(source)
        if recognised is None:
            raise ValueError("no capture")
        fault = _read(source, *recognised, headers, table)
    facts = table.facts(headers)
    facts.update(format=recognised[0], compression=compression, bytes=source.offset)
    facts.update(fault=fault, fault_offset=source.offset if fault else None)
    facts["connections"] = _connections(table)
    if table.rows is not None:
        facts["packets_pieces"] = table.rows.pieces()
    return facts


def _read(
    source: ByteStream,
    format: str,
    order: str,
    headers: packet_records.FileHeaders,
    table: ConnectionTable,
) -> str | None:
    """Reads all records into the table; why reading ended before the end."""
    if format == "pcapng":
        batches = pcapng_blocks.read_pcapng(source, headers)
    else:
        batches = packet_records.read_pcap(source, format, order, headers)
    return table.take_all(batches)


def _connections(table: ConnectionTable) -> dict[str, Any]:
    """The connections' columns; empty if there is none.

    Each connection's memory is freed with its row.
    """
    if not table.connections:
        return {}
    frame = ColumnFrame()
    for at, connection in enumerate(table.connections):
        if table.compatible and table.latest is not None:
            connection.idle_until(table.latest)
        network = table.network(connection)
        connection_rows.add(frame, connection, network, table.compatible)
        table.connections[at] = None  # type: ignore[call-overload]
    return frame.handed()
