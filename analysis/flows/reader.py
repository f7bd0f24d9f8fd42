"""Captures read by the engine: files in one pass, and streams that grow."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache, cached_property
from importlib import import_module
from importlib.util import module_from_spec, spec_from_file_location
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from analysis.flows.columns import Handed, listed
from testbed.builds.engine import CORE, engine_file
from topologies.errors import TcplabError

if TYPE_CHECKING:
    import polars

    from analysis.table import ColumnTable
IcmpError = dict[str, Any]  # one error, by names of columns.ICMP_ERRORS


def _with_connections(
    errors: Sequence[IcmpError], connections: Mapping[str, Handed]
) -> tuple[IcmpError, ...]:
    """Add the quoted connection, the latest that had begun, and whether a sent the segment."""
    known: dict[object, list[dict[str, Any]]] = {each: [] for each in map(_both_ways, errors)}
    names = ("connection", "first_packet", "host_a", "port_a", "host_b", "port_b", "network")
    for row in rows({name: connections[name] for name in names if errors and connections}):
        ends = frozenset((_end(row, "host_a", "port_a"), _end(row, "host_b", "port_b")))
        if (key := (ends, row["network"])) in known:
            known[key].append(row)
    for error in errors:
        fitting = known[_both_ways(error)] if error["protocol"] == "TCP" else []
        begun = [row for row in fitting if row["first_packet"] <= error["time"]] or fitting[:1]
        row, source = begun[-1] if begun else {}, _end(error, "source", "source_port")
        error["connection"] = row.get("connection")
        error["forward"] = source == _end(row, "host_a", "port_a") if row else None
    return tuple(errors)


def _end(row: Mapping[str, Any], host: str, port: str) -> tuple[Any, Any]:
    return row[host], row[port]


def _both_ways(error: IcmpError) -> object:
    ends = (_end(error, end, f"{end}_port") for end in ("source", "target"))
    return frozenset(ends), error["network"]


MOST = 20_000  # connections that a FollowedCapture remembers
TUNNELS = ("vxlan", "vxlan-gpe", "geneve", "gtp-u", "l2tp", "gre", "mpls")
FAULTS = {
    "cut": "it is cut short: the last record is not whole",
    "length": "a record claims an impossible length",
    "block": "a block is damaged, or a packet names an interface that was not described",
    "unpacking": "its compressed data is damaged or cut short",
}
"""Sentences for the engine's names of damage."""


class CaptureMoment(NamedTuple):
    """A moment of a capture, in ns since 1970, or since its first packet if `is_relative`."""

    nanoseconds: int
    is_relative: bool = True


class CapturePeriod(NamedTuple):
    """A period, ends included, as if the capture began and ended there; earlier SYNs hold."""

    since: CaptureMoment = CaptureMoment(0)
    until: CaptureMoment = CaptureMoment(2**62, is_relative=False)

    @property
    def is_empty(self) -> bool:
        """True if no packet can be in it. Moments of different kinds need the capture: False."""
        alike = self.since.is_relative == self.until.is_relative
        return alike and self.until.nanoseconds < self.since.nanoseconds


@dataclass(frozen=True)
class FileFacts:
    """Facts of a capture file.

    Times are ns since 1970; `fault_offset` counts bytes of the unpacked stream. `backwards` counts
    the records whose time is before the previous record's; `longest_back` is the longest such step
    in ns, 0 without one; with `is_sorted` the packets were put in the order of their times.
    `lost` are packets that the capture lost by its own account, between `lost_since` and
    `lost_until` if that is known. `timeless` records have no time. `unread_types` counts records
    of Ethernet by their type, if that is not read.
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
    is_sorted: bool
    lost: int
    lost_since: int | None
    lost_until: int | None
    timeless: int
    unread_types: dict[int, int]
    fault: str | None
    fault_offset: int | None

    @property
    def clock_back(self) -> int:
        """Return by how much a clock was set back, in ns; interfaces differ by less than 1 ms."""
        return 0 if self.is_sorted or self.longest_back < 10**6 else self.longest_back


class ThinnedRows(NamedTuple):
    """Extent to which rows of packets are thinned: of `segments` some have none.

    Of `every` neighbours of a direction and kind only the first and last, those with the least and
    greatest values and the ends of a long pause have rows, of `every_event` others, such as
    retransmissions, the first of each kind.
    """

    segments: int
    every: int
    every_event: int


class RowLimit(NamedTuple):
    """The most `rows` of packets; above `connections`, those that `choose` gives have rows."""

    rows: int
    connections: int
    choose: Callable[[ColumnTable], Sequence[int]]


@dataclass(frozen=True)
class Reading:
    """One capture with the facts of its file: a row a connection and, if asked for, a TCP segment.

    `connections`, `packets` and `limits` are frames of Polars; without it they raise UsageError.
    """

    connection_table: ColumnTable
    packet_table: ColumnTable | None
    file: FileFacts
    udp: tuple[dict[str, Any], ...] = ()
    """Flows of UDP, with what QUIC's headers show; times in ns."""
    limit_table: ColumnTable | None = None
    """With packets, the times in which each cause limited a sender."""
    icmp: tuple[IcmpError, ...] = ()
    """Errors of ICMP that quote TCP or UDP, with the connection; the first 65,536."""
    copies: tuple[int, ...] = ()
    """With packets, the numbers of those that a mirror port or second interface doubled."""
    thinned: ThinnedRows | None = None
    """Set if rows of packets are left out: they are for pictures."""

    @cached_property
    def connections(self) -> polars.DataFrame:
        return self.connection_table.to_polars()

    @cached_property
    def packets(self) -> polars.DataFrame | None:
        return None if self.packet_table is None else self.packet_table.to_polars()

    @cached_property
    def limits(self) -> polars.DataFrame | None:
        return None if self.limit_table is None else self.limit_table.to_polars()


@cache
def load_engine() -> Any:
    """Load the engine (core/src/lib.rs), which a checkout compiles first. Raises TcplabError."""
    name = f"{__package__}._core"
    if not CORE.exists():  # an installed copy
        return import_module(name)
    spec = spec_from_file_location(name, engine_file())
    assert spec and spec.loader, "a library"
    engine = sys.modules[name] = module_from_spec(spec)
    spec.loader.exec_module(engine)
    return engine


def read(
    path: str | PathLike[str],
    packets: bool = False,
    partial: bool = True,
    compatible: bool = False,
    period: CapturePeriod | None = None,
    decode_as: Mapping[int, str] | None = None,
    limit: RowLimit | None = None,
) -> Reading:
    """Read the connections (and `packets` and limits) in the capture at `path`, or in a period.

    With a `limit` only so many packets have rows.

    The format is pcap or pcapng, plain, gzip, zstd, bzip2, xz or lz4; a pipe is read too.

    A damaged file is read up to the damage, with the reason in `file.fault`; with `partial=False`
    damage is an error. `compatible=True` gives tcptrace's own definitions in tcptrace's columns.
    `decode_as` names tunnels (TUNNELS) on further ports of UDP.
    Raises TcplabError if the file cannot be read.
    """
    results, facts = columns(path, packets, partial, compatible, period, decode_as, limit)
    from analysis.flows import tables  # NumPy takes longer to load than a million packets to read

    return Reading(
        tables.connections_table(results["connections"]),
        tables.packets_table(results["packets_pieces"]) if packets else None,
        facts,
        tuple(rows(results["udp"])),
        tables.limits_table(results["limits"]) if packets else None,
        icmp_errors(results),
        tuple(results["copies"]),
        results["thinned"] and ThinnedRows(*results["thinned"]),
    )


def columns(
    path: str | PathLike[str],
    packets: bool = False,
    partial: bool = True,
    compatible: bool = False,
    period: CapturePeriod | None = None,
    decode_as: Mapping[int, str] | None = None,
    limit: RowLimit | None = None,
) -> tuple[dict[str, Any], FileFacts]:
    """As `read`, with the columns as the engine hands them over (analysis.flows.columns.Handed)."""
    path = Path(path)
    with _reading(path) as file:
        call = str(file), packets, compatible, period, [*(decode_as or {}).items()]
        results = load_engine().analyse(*call, limit and (limit.rows, limit.connections, None))
        if limit and results["is_without_rows"]:
            from analysis.flows.tables import connections_table

            drawn = limit.choose(connections_table(results["connections"]))
            results = load_engine().analyse(*call, (limit.rows, len(drawn), drawn))
    facts = _file_facts(path, results)
    if facts.fault and not partial:
        fault = f"{path}: {facts.fault} (at byte {facts.fault_offset})."
        raise TcplabError(fault, "Without partial=False what is whole is read.")
    return results, facts


def icmp_errors(results: Mapping[str, Any]) -> tuple[IcmpError, ...]:
    """Return errors of ICMP out of the engine's results; a growing capture has none."""
    return _with_connections(rows(results.get("icmp", {})), results["connections"])


def exchanges(
    path: Path, period: CapturePeriod | None = None, decode_as: Mapping[int, str] | None = None
) -> list[dict[str, Any]]:
    """Return requests and answers by names of EXCHANGES, with `idle_time` to the next request."""
    with _reading(path) as file:
        found = rows(load_engine().exchanges(str(file), period, [*(decode_as or {}).items()]))
    following: dict[int, int] = {}
    for row in reversed(found):
        after, began = following.get(row["connection"]), row["response_time"]
        following[row["connection"]] = row["request_time"]
        row["idle_time"] = None
        if row["connection"] and after is not None and began is not None:
            end = row["request_time"] + row["request_duration"] + began + row["transfer_time"]
            row["idle_time"] = max(after - end, 0)
    return found


def rows(handed: Mapping[str, Handed]) -> list[dict[str, Any]]:
    """Return columns that the engine handed over as rows; their values differ in some column."""
    cells = {name: listed(*column) for name, column in handed.items()}
    height = max(map(len, cells.values()), default=0)
    lists = [each if len(each) == height else each * height for each in cells.values()]
    return [dict(zip(cells, row, strict=True)) for row in zip(*lists, strict=True)]


@contextmanager
def _reading(path: Path) -> Iterator[Path]:
    """Give the engine a file: a pipe is copied to a temporary one. Raises TcplabError."""
    try:
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
    except OSError as error:
        why = f"{path} cannot be read ({error.strerror or error})."
        raise TcplabError(why, "Check the path.") from error
    except ValueError as error:
        why = "" if str(error) == "no capture" else f" ({error})"
        raise TcplabError(
            f"{path} is no capture{why}.",
            "It must be pcap or pcapng; gzip, zstd, bzip2, xz and lz4 are unpacked.",
        ) from error


def write_without_copies(path: Path, to: Path, decode_as: Mapping[int, str] | None = None) -> int:
    """Write a capture without copies of packets, and return their number. Raises TcplabError."""
    engine = load_engine()
    copies: list[int] = columns(path, packets=True, decode_as=decode_as)[0]["copies"]
    try:
        engine.write_without(str(path), str(to), copies)
    except OSError as error:
        why = f"{to} cannot be written ({error.strerror or error})."
        raise TcplabError(why, "Check the folder and its disk.") from error
    except ValueError as error:
        to.unlink(missing_ok=True)  # what was written until then
        raise TcplabError(
            f"{path} has packets of several link types, which one pcap file cannot hold.",
            "Split it by interface first, with Wireshark: -Y frame.interface_id==0.",
        ) from error
    return len(copies)


def _file_facts(path: Path | str, results: Mapping[str, Any]) -> FileFacts:
    names = [name for name in FileFacts.__dataclass_fields__ if name != "path"]
    facts = {name: results[name] for name in names}
    facts["link_types"] = tuple(facts["link_types"])
    facts |= {name: dict(facts[name]) for name in ("ignored", "unread_types")}
    facts["fault"] = FAULTS[facts["fault"]] if facts["fault"] else None
    return FileFacts(str(path), **facts)


class FollowedCapture:
    """A capture fed in pieces; beyond `most` connections the longest silent half is forgotten."""

    def __init__(self, name: str, most: int = MOST) -> None:
        self.name = name
        self._follower = load_engine().Follower(most)

    def feed(self, octets: bytes) -> None:
        """Take the next octets. Raises TcplabError for a stream that is no capture."""
        try:
            self._follower.feed(octets)
        except ValueError as error:
            raise TcplabError(
                f"{self.name} is no capture that can be followed.",
                "It must be pcap or pcapng, not compressed: as tcpdump -U -w writes it.",
            ) from error

    def end(self) -> None:
        """Take an incomplete record for damage from now on."""
        self._follower.end()

    def columns(self) -> tuple[dict[str, Any], FileFacts, int]:
        """As `columns`, with the number of all connections; `format` is empty before a header."""
        results = self._follower.results()
        return results, _file_facts(self.name, results), results["connections_in_all"]
