"""The packets of a host so far, as tests ask for them."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from analysis.analyze.files import write_graphs
from analysis.flows.reader import Reading, read


@dataclass(frozen=True)
class CapturedConnection:
    """A connection: `values` is its row of the table that `tcplab analyze --columns` explains."""

    values: Mapping[str, Any]

    @property
    def retransmissions(self) -> int:
        """Segments sent again, both ways."""
        return int(self._both("retransmissions"))

    @property
    def payload(self) -> int:
        """Different bytes of payload, both ways."""
        return int(self._both("unique_bytes_sent"))

    @property
    def duration(self) -> float:
        """Seconds from its first packet to its last."""
        return float(self.values["duration"])

    def __getitem__(self, column: str) -> Any:
        return self.values[column]

    def _both(self, column: str) -> float:
        return sum(float(self.values[f"{column}_{way}"] or 0) for way in ("a2b", "b2a"))


@dataclass(frozen=True)
class HostCapture:
    """A host's capture: its file, and its connections in the order of their first packets."""

    file: Path

    @cached_property
    def reading(self) -> Reading:
        return read(self.file)

    @cached_property
    def connections(self) -> tuple[CapturedConnection, ...]:
        return tuple(map(CapturedConnection, self.reading.connection_table.as_rows()))


def write_page(folder: Path, title: str) -> Path:
    files = sorted(folder.glob("*.pcap"))
    readings = [(file.stem, read(file, packets=True)) for file in files]
    (page,) = write_graphs(title, readings, folder, {"html"})
    return page
