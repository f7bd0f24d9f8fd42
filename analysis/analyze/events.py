"""Events of a capture, packet by packet."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from analysis.flows.events import events
from analysis.flows.reader import Reading
from analysis.tabular.table import ColumnTable

_HEAD = ("Packet", "Time (s)", "Conn.", "Way", "Severity", "Event", "What the packet says", "Why")


def table(reading: Reading) -> ColumnTable:
    """Return the events with the names of both ends; times are ns since 1970."""
    told, connections = events(reading), reading.connection_table
    place = np.searchsorted(connections["connection"].values, told["connection"].values)
    forward = told["forward"].values
    ends = [_ends(connections, side)[place] for side in "ab"]
    return told.having(source=np.where(forward, *ends), target=np.where(forward, *ends[::-1]))


def lines(reading: Reading) -> Iterator[str]:
    """Yield an aligned line an event, after a head; times since the file's first packet."""
    cells = [_HEAD, *(_cells(row, reading.file.first or 0) for row in table(reading).as_rows())]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    for row in cells:
        padded = [
            cell.rjust(width) if at in (0, 1, 2) else cell.ljust(width)
            for at, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        yield "  ".join(padded).rstrip()


def _cells(row: dict[str, Any], first: int) -> tuple[str, ...]:
    said = f"seq {row['sequence']} len {row['payload']} win {row['window']}"
    said = "" if row["sequence"] is None else said  # an error of ICMP
    acknowledged = row["acknowledgement"]
    why = row["meaning"]
    why += f" (number {row['count']})" if row["count"] else ""
    why += f", {row['since'] / 1e6:.3f} ms after it was last sent" if row["since"] else ""
    return (
        str(row["number"]),
        f"{(row['time'] - first) / 1e9:.6f}",
        str(row["connection"]),
        f"{row['source']} → {row['target']}",
        row["severity"],
        row["event"],
        said + ("" if acknowledged is None else f" ack {acknowledged}"),
        why,
    )


def _ends(connections: ColumnTable, side: str) -> NDArray[np.object_]:
    ends = [connections[f"{name}_{side}"].to_list() for name in ("host", "port")]
    return np.array([f"{host}:{port}" for host, port in zip(*ends, strict=True)], np.object_)
