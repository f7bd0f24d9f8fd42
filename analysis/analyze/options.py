"""Options of one call of analyze, and its choice of connections.

SQLite ignores the case of names in --where, which tells tcptrace's RTT_min_a2b from our
rtt_min_a2b: so columns get other names there.
"""

from __future__ import annotations

import ipaddress
import re
import sqlite3
import sys
from collections.abc import Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from analysis import fmt
from analysis.analyze import files
from analysis.flows.reader import TUNNELS, CaptureMoment, CapturePeriod, Reading
from topologies.errors import TcplabError, UsageError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from analysis.table import ColumnTable, Truths

_NAME = re.compile(r"""'(?:[^']|'')*'|"(?P<quoted>[^"]*)"|[A-Za-z_]\w*""")
"""Text, a name in quotes, or a word."""


def fulfilling(table: ColumnTable, condition: str) -> Truths:
    """Return for each row whether it meets the condition. Raises UsageError for invalid SQL."""
    import numpy as np

    used: dict[str, str] = {}

    def in_database(word: re.Match[str]) -> str:
        name = word["quoted"] or word[0]
        return used.setdefault(name, f"c{len(used)}") if name in table.columns else word[0]

    translated = _NAME.sub(in_database, condition)
    # SQLite's whole numbers have a sign and 64 bits.
    columns = [range(len(table))] + [
        [float(x) if isinstance(x, int) and x >= 2**63 else x for x in table[name].to_list()]
        for name in used
    ]
    try:
        answers = _answers(translated, ["place", *used.values()], zip(*columns, strict=True))
        if not {*answers} <= {0, 1, None}:
            raise sqlite3.Warning("it is neither true nor false")
    except (sqlite3.Error, sqlite3.Warning) as error:
        raise UsageError(
            f"--where {condition!r} is no condition on the columns: {error}",
            "For example: --where 'retransmissions_a2b > 10 and port_b = 443'; --columns names the"
            " columns.",
        ) from error
    return np.array([answer == 1 for answer in answers], np.bool_)


def _answers(condition: str, names: list[str], rows: Iterable[tuple[Any, ...]]) -> list[Any]:
    with closing(sqlite3.connect(":memory:")) as database:
        database.execute(f"create table connections ({', '.join(names)})")
        places = ", ".join("?" * len(names))
        database.executemany(f"insert into connections values ({places})", rows)
        chosen = database.execute(f"select ({condition}\n) from connections order by place")
        return [answer for (answer,) in chosen]


@dataclass(frozen=True)
class ConnectionChoice:
    """Filter of connections: one value of each kind must fit, and `where` (SQL on columns)."""

    numbers: tuple[int, ...] = ()
    hosts: tuple[str, ...] = ()
    ports: tuple[int, ...] = ()
    where: str | None = None

    def __bool__(self) -> bool:
        return bool(self.numbers or self.hosts or self.ports or self.where)

    def of(self, reading: Reading) -> Reading:
        fitting = self.fitting(reading.connection_table, reading.file.path)
        return only(reading, fitting["connection"].to_list())

    def fitting(self, connections: ColumnTable, path: str) -> ColumnTable:
        """Return those that fit. Raises UsageError, or TcplabError if none fits."""
        number, fitting = len(connections), connections
        if missing := sorted({*self.numbers} - {*connections["connection"].to_list()}):
            has = f"It has {number:,}, numbered from 1." if number else _NO_CONNECTION
            raise UsageError(f"{path} has no connection {fmt.listed([*map(str, missing)])}.", has)
        if self.numbers:
            fitting = fitting.rows(_has("connection", fitting, self.numbers))
        if self.hosts:
            fitting = _with_end(fitting, "host", _addresses(fitting, self.hosts))
        if self.ports:
            fitting = _with_end(fitting, "port", self.ports)
        if self.where:
            fitting = fitting.rows(fulfilling(fitting, self.where))
        if number and not len(fitting):
            raise TcplabError(
                f"No connection of {path} fits.",
                f"It has {fmt.counted(number, 'connection')};"
                " without --host, --port and --where all are shown.",
            )
        return fitting


_NO_CONNECTION = "No TCP connection is in it."


def only(reading: Reading, numbers: Sequence[int]) -> Reading:
    chosen: dict[str, Any] = {
        name: table and table.rows(_has("connection", table, numbers))
        for name in ("connection_table", "packet_table", "limit_table")
        for table in [getattr(reading, name)]
    }
    wanted = {None, *numbers}
    icmp = tuple(error for error in reading.icmp if error["connection"] in wanted)
    return replace(reading, icmp=icmp, **chosen)


def _with_end(connections: ColumnTable, name: str, values: Sequence[Any]) -> ColumnTable:
    a, b = (_has(f"{name}_{end}", connections, values) for end in "ab")
    return connections.rows(a | b)


def _has(name: str, table: ColumnTable, values: Sequence[Any]) -> NDArray[Any]:
    import numpy as np

    return np.isin(table[name].values, np.array(values, table[name].values.dtype))


def _addresses(connections: ColumnTable, hosts: Sequence[str]) -> list[str]:
    networks = []
    for host in hosts:
        try:
            networks.append(ipaddress.ip_network(host, strict=False))
        except ValueError as error:
            remedy = "For example: 10.0.0.1, 10.0.0.0/8 or 2001:db8::1."
            raise UsageError(f"--host {host} is no address.", remedy) from error
    known = {host for end in "ab" for host in connections[f"host_{end}"].to_list()}
    return [each for each in known if any(ipaddress.ip_address(each) in net for net in networks)]


_SECONDS = re.compile(r"\d+(\.\d+)?")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_LARGEST = 2**62 // 10**9  # seconds; times of captures end there


def moment(text: str) -> CaptureMoment:
    """Seconds since the first packet (12.5), or a time, by default in UTC. Raises UsageError."""
    if _SECONDS.fullmatch(text) and float(text) < _LARGEST:
        whole, _, fraction = text.partition(".")
        return CaptureMoment(int(whole) * 10**9 + int(fraction[:9].ljust(9, "0")))
    try:
        time = datetime.fromisoformat(text)
    except ValueError as error:
        raise UsageError(
            f"'{text}' is no moment.",
            "Give seconds since the first packet, such as 12.5, or a time such as"
            " 2026-11-22T10:00:00.",
        ) from error
    since = (time if time.tzinfo else time.replace(tzinfo=UTC)) - _EPOCH
    return CaptureMoment(since // timedelta(microseconds=1) * 1000, is_relative=False)


def tunnel(text: str) -> tuple[int, str]:
    """Return port and tunnel of `PORT=TUNNEL`. Raises UsageError."""
    port, _, name = text.partition("=")
    if not re.fullmatch(r"\d{1,5}", port) or int(port) >= 2**16 or name not in TUNNELS:
        raise UsageError(
            f"--decode-as {text} is no port of UDP with a tunnel.",
            f"For example: 14789=vxlan. It takes {', '.join(TUNNELS)}.",
        )
    return int(port), name


@dataclass(frozen=True)
class AnalyzeOptions:
    """The options of one call. `write` is empty without --out."""

    out: Path | None
    write: tuple[str, ...]
    as_json: bool
    events: bool
    responses: bool
    why: bool
    since: str | None
    until: str | None
    compatible: bool
    partial: bool
    connection: tuple[int, ...]
    host: tuple[str, ...]
    port: tuple[int, ...]
    where: str | None
    decode_as: tuple[str, ...]
    sort: str
    compare: bool
    match: bool
    mss: int | None
    align: bool
    dedup: Path | None
    live: bool
    interval: float

    @property
    def choice(self) -> ConnectionChoice:
        return ConnectionChoice(self.connection, self.host, self.port, self.where)

    @property
    def in_tables(self) -> bool:
        """True if the call needs tables of NumPy: a choice, files or events."""
        return bool(self.choice or self.out or self.events)

    @property
    def period(self) -> CapturePeriod | None:
        """Of --from and --to. Raises UsageError for what is no moment."""
        if self.since is None and self.until is None:
            return None
        ends = (self.since, self.until)
        since, until = (
            moment(x) if x else end for x, end in zip(ends, CapturePeriod(), strict=True)
        )
        return CapturePeriod(since, until)

    @property
    def tunnels(self) -> dict[int, str]:
        return dict(map(tunnel, self.decode_as))

    @property
    def packets(self) -> bool:
        return self.match or self.events or bool(files.OF_PACKETS & set(self.write))


def check(paths: Sequence[Path], options: AnalyzeOptions) -> None:
    """Check the call before anything is read. Raises UsageError, TcplabError."""
    if not paths:
        raise UsageError("Name a capture file.", "For example: ./tcplab analyze trace.pcap")
    if options.match and (options.events or options.responses):
        raise UsageError("--events and --responses show one capture.", "Leave out --match.")
    if options.responses and any(str(path) == "/dev/stdin" or path.is_fifo() for path in paths):
        raise UsageError("--responses reads a capture twice.", "Write the capture to a file.")
    if options.period and options.period.is_empty:
        raise UsageError("--to is before --from.", "Exchange them.")
    if options.match and len(paths) != 2:
        match = f"--match takes two captures, not {len(paths)}."
        raise UsageError(match, "Name the file of each end.")
    if options.compare and len(paths) != 2:
        why = f"--compare takes two captures, not {len(paths)}."
        raise UsageError(why, "Name the fast one first.")
    others = (options.match, options.events, options.responses, options.out, options.dedup)
    if options.compare and any(others):
        remedy = "Leave out --match, --events, --responses, --out and --dedup."
        raise UsageError("--compare prints a table or --json only.", remedy)
    if not options.match and (options.align or options.mss):
        raise UsageError("--align-clocks and --mss are for two captures.", "Add --match.")
    if options.dedup and (len(paths) != 1 or not paths[0].is_file()):
        raise UsageError("--dedup takes one capture, in a file.", "Call it for each file.")
    if options.dedup and options.dedup.exists() and options.dedup.samefile(paths[0]):
        why = f"--dedup would overwrite {options.dedup} while it is read."
        raise UsageError(why, "Name another file.")
    for path in paths:
        if str(path) == "/dev/stdin" and sys.stdin.isatty():
            terminal = "- reads standard input, and that is this terminal."
            raise UsageError(terminal, "For example: ./tcplab analyze - < FILE")
        if path.is_dir():
            remedy = f"Name the files in it, for example: {path}/*.pcap"
            raise UsageError(f"{path} is a folder.", remedy)
        if not path.exists():
            raise UsageError(f"There is no file {path}.", "Check the path.")
        if path.is_file() and not path.stat().st_size:
            remedy = "Capture again: tcpdump writes when it is stopped, or with -U."
            raise TcplabError(f"{path} is empty.", remedy)
