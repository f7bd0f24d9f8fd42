"""The packets' frame: columns in pieces.

What the packets say comes from NumPy, what the analysis adds from lists.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from analysis.flows.engine_columns import Handed
from analysis.flows.plain.connection import Connection
from analysis.flows.plain.segment import ACK, SYN, TcpSegments
from analysis.flows.plain.step import SegmentStep

_PIECE = 1 << 18
_TYPES = {
    "number": "uint64",
    "time": "int64",
    "connection": "uint32",
    "forward": "bool",
    "sequence": "uint64",
    "acknowledgement": "uint64",
    "payload": "uint32",
    "window": "uint64",
    "flags": "uint16",
    "sack_row": "uint32",
    "sack_value": "uint64",
    "dsack": "bool",
    "timestamp": "uint32",
    "echo": "uint32",
    "ip_id": "uint16",
    "ecn": "uint8",
    "ttl": "uint8",
    "in_flight": "uint64",
    "rtt": "int64",
}
_ADDED = (
    "connection",
    "forward",
    "sequence",
    "acknowledgement",
    "window",
    "dsack",
    "in_flight",
    "rtt",
    "sack_row",
    "sack_value",
)
Columns = dict[str, npt.NDArray[Any]]


class PacketRows:
    """`kinds` has an octet for each row of the whole file: a later packet may change it."""

    def __init__(self) -> None:
        self.kinds = bytearray()
        self._added: dict[str, list[int]] = {name: [] for name in _ADDED}
        self._joined: list[Columns] = []
        self._open: list[Columns] = []
        self._open_rows = 0

    def push(self, step: SegmentStep, connection: Connection, forward: bool) -> None:
        """What the analysis adds to what the packet itself says; -1 for none."""
        added = self._added
        added["connection"].append(connection.number)
        added["forward"].append(forward)
        added["sequence"].append(step.first if step.first > 0 else 0)
        added["acknowledgement"].append(-1 if step.ack is None else step.ack if step.ack > 0 else 0)
        added["window"].append(step.window if step.flags & (ACK | SYN) else step.window_field)
        added["dsack"].append(step.dsack)
        added["in_flight"].append((connection.a if forward else connection.b).in_flight())
        added["rtt"].append(-1 if step.rtt is None else step.rtt)
        for block in step.sacks:
            at = self._open_rows + len(added["rtt"]) - 1
            added["sack_row"] += [at, at]
            added["sack_value"] += [max(edge, 0) for edge in block]
        self.kinds.append(step.kind)

    def finish(self, segments: TcpSegments, numbers: npt.NDArray[np.int64]) -> None:
        """The rows of a batch are complete, whose records have these numbers."""
        columns: Columns = {
            "number": numbers,
            "time": segments.time,
            "payload": segments.payload,
            "flags": segments.flags,
            "timestamp": segments.options.value,
            "echo": segments.options.echo,
            "ip_id": segments.ip_id,
            "ecn": segments.ecn,
            "ttl": segments.ttl,
            **{name: np.array(values, np.int64) for name, values in self._added.items()},
        }
        for name in ("acknowledgement", "ip_id", "rtt"):
            columns[f"has_{name}"] = columns[name] >= 0
            columns[name] = np.maximum(columns[name], 0)
        columns["has_timestamp"] = columns["has_echo"] = segments.options.has_timestamps
        self._open.append(
            {name: values.astype(_TYPES.get(name, "bool")) for name, values in columns.items()}
        )
        self._open_rows += len(segments.row)
        self._added = {name: [] for name in _ADDED}
        if self._open_rows >= _PIECE:
            self._join()

    def pieces(self) -> list[dict[str, Handed]]:
        """The frame's pieces, for analysis.flows.engine_tables."""
        self._join()
        pieces_of_rows, at = [], 0
        for columns in self._joined:
            end = at + len(columns["number"])
            piece: dict[str, Handed] = {name: _handed(columns, name) for name in _TYPES}
            piece["kind"] = ("uint8", bytes(self.kinds[at:end]), b"")
            pieces_of_rows.append(piece)
            at = end
        return pieces_of_rows

    def _join(self) -> None:
        if self._open:
            names = list(self._open[0])
            self._joined.append(
                {name: np.concatenate([columns[name] for columns in self._open]) for name in names}
            )
        self._open, self._open_rows = [], 0


def _handed(columns: Columns, name: str) -> Handed:
    valid = columns.get(f"has_{name}")
    return (_TYPES[name], columns[name].tobytes(), b"" if valid is None else valid.tobytes())
