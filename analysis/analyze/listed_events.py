"""The list of events in the terminal, as JSON's types, and as a file."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import polars as pl

from analysis.flows.packet_events import events
from analysis.flows.reader import Reading

_HEAD = ("Packet", "Time (s)", "Conn.", "Way", "Severity", "Event", "What the packet says", "Why")


def table(reading: Reading) -> pl.DataFrame:
    """The events with the names of both ends; times are ns since 1970."""
    ends = reading.connections.select("connection", _end("a"), _end("b"))
    forward = pl.col("forward")
    return (
        events(reading)
        .with_columns(pl.col("connection").cast(ends["connection"].dtype))
        .join(ends, on="connection", how="left", maintain_order="left")
        .with_columns(
            source=pl.when(forward).then("end_a").otherwise("end_b"),
            target=pl.when(forward).then("end_b").otherwise("end_a"),
        )
        .drop("end_a", "end_b")
    )


def lines(reading: Reading) -> Iterator[str]:
    """An aligned line an event, after a head; times since the file's first packet."""
    cells = [_HEAD, *(_cells(row, reading.file.first or 0) for row in table(reading).to_dicts())]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    for row in cells:
        padded = [
            cell.rjust(width) if at in (0, 1, 2) else cell.ljust(width)
            for at, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        yield "  ".join(padded).rstrip()


def _cells(row: dict[str, Any], first: int) -> tuple[str, ...]:
    said = f"seq {row['sequence']} len {row['payload']} win {row['window']}"
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


def _end(side: str) -> pl.Expr:
    host, port = pl.col(f"host_{side}"), pl.col(f"port_{side}")
    return pl.format("{}:{}", host, port).alias(f"end_{side}")
