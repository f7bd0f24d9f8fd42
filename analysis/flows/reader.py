"""Reads a capture with the engine that is there, and makes tables of what the engine gives."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from analysis.flows.faults import FAULTS
from analysis.flows.installed_engines import Engine, handed_over
from topologies.foundation.errors import TcplabError

if TYPE_CHECKING:
    import polars

    from analysis.tabular.table import ColumnTable


@dataclass(frozen=True)
class CaptureMoment:
    """A moment of a capture, in ns since 1970, or since its first packet if `is_relative`."""

    nanoseconds: int
    is_relative: bool = True

    @property
    def handed(self) -> tuple[int, bool]:
        return self.nanoseconds, self.is_relative


@dataclass(frozen=True)
class CapturePeriod:
    """From one moment to another, both included: packets outside are left out.

    The figures are those of a capture that begins and ends there.
    """

    since: CaptureMoment = CaptureMoment(0)
    until: CaptureMoment = CaptureMoment(2**62, is_relative=False)

    @property
    def is_empty(self) -> bool:
        """Whether no packet can be in it; without the capture that is known of like moments."""
        alike = self.since.is_relative == self.until.is_relative
        return alike and self.until.nanoseconds < self.since.nanoseconds


@dataclass(frozen=True)
class FileFacts:
    """What the file says of itself.

    Times are ns since 1970; `fault_offset` counts bytes of the unpacked stream. `backwards` counts
    the records whose time is before the previous record's; `longest_back` is the longest such step
    in ns, 0 without one.
    """

    path: str
    format: str
    compression: str
    link_types: tuple[int, ...]
    snaplen: int
    packets: int
    tcp_segments: int
    ignored: dict[str, int]
    bytes: int
    first: int | None
    last: int | None
    backwards: int
    longest_back: int
    fault: str | None
    fault_offset: int | None


@dataclass(frozen=True)
class Reading:
    """One capture, read, with the facts of the file.

    A row of `connection_table` is a connection, a row of `packet_table` a TCP segment, if these
    were asked for. `connections` and `packets` are the same as data frames of Polars, for who has
    it installed; else they raise UsageError.
    """

    connection_table: ColumnTable
    packet_table: ColumnTable | None
    file: FileFacts

    @cached_property
    def connections(self) -> polars.DataFrame:
        return self.connection_table.to_polars()

    @cached_property
    def packets(self) -> polars.DataFrame | None:
        return None if self.packet_table is None else self.packet_table.to_polars()


def read(
    path: str | PathLike[str],
    packets: bool = False,
    partial: bool = True,
    engine: Engine = "auto",
    compatible: bool = False,
    period: CapturePeriod | None = None,
) -> Reading:
    """The connections (and `packets`) in the capture at `path`, or in a period of it.

    pcap or pcapng, plain, gzip, zstd, bzip2, xz or lz4; also a pipe.

    A damaged file gives what precedes the damage, and says so in `file.fault`; with `partial=False`
    it is an error. `compatible=True` gives tcptrace's own definitions in tcptrace's columns. Raises
    TcplabError if the file cannot be read, UsageError for an engine that is not there.
    """
    results, facts = columns(path, packets, partial, engine, compatible, period)
    # NumPy takes longer to load than a million packets to read: a caller without tables does
    # without it.
    from analysis.flows.engine_tables import connections_table, packets_table

    table = packets_table(results["packets_pieces"]) if packets else None
    return Reading(connections_table(results["connections"]), table, facts)


def columns(
    path: str | PathLike[str],
    packets: bool = False,
    partial: bool = True,
    engine: Engine = "auto",
    compatible: bool = False,
    period: CapturePeriod | None = None,
) -> tuple[dict[str, Any], FileFacts]:
    """As `read`, but the columns as the engine hands them over: analysis.flows.engine_columns."""
    path = Path(path)
    handed = (period.since.handed, period.until.handed) if period else None
    results = handed_over(path, packets, engine, compatible, handed)
    facts = file_facts(path, results)
    if facts.fault and not partial:
        raise TcplabError(
            f"{path}: {facts.fault} (at byte {facts.fault_offset}).",
            "Without partial=False what is whole is read.",
        )
    return results, facts


_SAME = (
    "format",
    "compression",
    "snaplen",
    "packets",
    "tcp_segments",
    "bytes",
    "first",
    "last",
    "backwards",
    "longest_back",
)
"""What the engines hand over as FileFacts has it."""


def file_facts(path: Path | str, results: Mapping[str, Any]) -> FileFacts:
    """Of what an engine hands over."""
    same = {name: results[name] for name in _SAME}
    fault = results["fault"]
    return FileFacts(
        path=str(path),
        link_types=tuple(results["link_types"]),
        ignored=dict(results["ignored"]),
        fault=FAULTS[fault] if fault else None,
        fault_offset=results["fault_offset"],
        **same,
    )
