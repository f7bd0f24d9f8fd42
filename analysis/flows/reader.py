"""Reads a capture with the engine that is there, and makes tables of what the engine gives."""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol

from analysis.flows.faults import FAULTS
from topologies.errors import TcplabError, UsageError

if TYPE_CHECKING:
    import polars

    from analysis.tabular.column_table import ColumnTable

Engine = Literal["auto", "compiled", "plain"]
_PREFIX = __name__.removesuffix("analysis.flows.reader")
ENGINES: dict[Engine, str] = {
    "compiled": f"{_PREFIX}analysis.flows._core",
    "plain": f"{_PREFIX}analysis.flows.plain",
}
"""The module of each engine, in the order in which `auto` takes them."""


EnginePeriod = tuple[tuple[int, bool], tuple[int, bool]]


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


class CaptureFollower(Protocol):
    """An engine's part that takes a capture piece by piece.

    Of more than `most` connections it forgets the half that is silent longest.
    """

    def __init__(self, most: int, /) -> None: ...

    def feed(self, octets: bytes, /) -> None:
        """The next octets. Raises ValueError if it is no capture."""

    def end(self) -> None:
        """No more octets come: what is not whole is damage."""

    def results(self) -> dict[str, Any]:
        """As `analyse` of what came so far, and the number of connections with those forgotten."""


class Analyser(Protocol):
    """An engine: a module with this function and this class."""

    Follower: type[CaptureFollower]

    def analyse(
        self, path: str, packets: bool, compatible: bool, period: EnginePeriod | None
    ) -> dict[str, Any]:
        """The file's facts, `connections` as columns, and `packets_pieces`.

        analysis.flows.engine_columns describes the columns.
        """


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
    analyser = find_engine(engine)
    path = Path(path)
    handed = (period.since.handed, period.until.handed) if period else None
    try:
        with _seekable(path) as file:
            results = analyser.analyse(str(file), packets, compatible, handed)
    except OSError as error:
        raise TcplabError(
            f"{path} cannot be read ({error.strerror or error}).", "Check the path."
        ) from error
    except ValueError as error:
        why = "" if str(error) == "no capture" else f" ({error})"
        raise TcplabError(
            f"{path} is no capture{why}.",
            "It must be pcap or pcapng; gzip, zstd, bzip2, xz and lz4 are unpacked.",
        ) from error
    facts = file_facts(path, results)
    if facts.fault and not partial:
        raise TcplabError(
            f"{path}: {facts.fault} (at byte {facts.fault_offset}).",
            "Without partial=False what is whole is read.",
        )
    return results, facts


@contextmanager
def _seekable(path: Path) -> Iterator[Path]:
    """The file itself; a pipe is first kept in a temporary file, as the engines go back in it."""
    if not path.is_fifo():
        yield path
        return
    # A small capture is read in less time than these load.
    import shutil
    from tempfile import NamedTemporaryFile

    with path.open("rb") as pipe, NamedTemporaryFile(prefix="tcplab-") as kept:
        shutil.copyfileobj(pipe, kept)
        kept.flush()
        yield Path(kept.name)


def find_engine(engine: Engine) -> Analyser:
    """The engine of that name; `auto` takes the compiled one if it is installed."""
    if engine not in ("auto", "compiled", "plain"):
        raise UsageError(f"There is no engine {engine!r}.", "Take auto, compiled or plain.")
    for name, module in ENGINES.items():
        if engine in ("auto", name):
            try:
                return importlib.import_module(module)
            except ImportError as error:
                if engine == name:
                    raise UsageError(
                        f"The {name} engine is not installed ({error}).", _REMEDY[name]
                    ) from error
    raise UsageError("No engine is installed.", _REMEDY["compiled"])


_REMEDY = {
    "compiled": "Install Rust's cargo and start ./tcplab again, or take engine='plain'.",
    "plain": "Install tcplab again.",
}


def engines() -> tuple[Engine, ...]:
    """The engines that are installed, the fastest first."""
    return tuple(name for name in ENGINES if _is_installed(name))


def _is_installed(engine: Engine) -> bool:
    try:
        find_engine(engine)
    except UsageError:
        return False
    return True


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
