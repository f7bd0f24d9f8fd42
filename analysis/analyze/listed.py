"""Connections of a capture as rows, and the table of many; those that never opened are counted."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cache, cached_property
from heapq import nlargest
from typing import Any

from rich.console import Console
from rich.text import Text

from analysis import fmt
from analysis.analyze.facts import (
    COLUMNS,
    ConnectionFacts,
    Segments,
    connection,
    segments_of,
    unread,
)
from analysis.analyze.verdict import verdict
from analysis.flows.columns import Handed, connection_names, listed
from analysis.flows.reader import FileFacts, IcmpError, Reading, icmp_errors, rows

JUDGED = 200_000  # packets up to which a verdict may look at each
_TOGETHER = 4096  # connections whose values are in memory at a time


@dataclass(frozen=True)
class ListedCapture:
    """A file and `height` connections; `part` gives some rows of a column by its name."""

    file: FileFacts
    height: int
    part: Callable[[str, slice], Sequence[Any]]
    udp: Sequence[Mapping[str, Any]] = ()
    segments: Segments = unread
    icmp: Sequence[IcmpError] = ()

    @cached_property
    def errors(self) -> Mapping[int, Sequence[IcmpError]]:
        """Errors of ICMP by the number of the connection that they quote."""
        found = dict[int, list[IcmpError]]()
        for error in self.icmp:
            if error["connection"] is not None:
                found.setdefault(error["connection"], []).append(error)
        return found

    def column(self, name: str) -> Sequence[Any]:
        """Return all values of a column."""
        return self.part(name, slice(None))

    def values(self, *names: str) -> Iterator[tuple[Any, ...]]:
        """Yield each connection's values in some columns; few of them are in memory at a time."""
        for begin in range(0, self.height, _TOGETHER):
            rows = slice(begin, begin + _TOGETHER)
            yield from zip(*(self.part(name, rows) for name in names), strict=True)

    def rows(self, places: Iterable[int] | None = None) -> Iterator[dict[str, Any]]:
        """Yield the connections, or those at some places: each as its values by name."""
        names = connection_names()
        for row in self.values(*names) if places is None else self._at(list(places), names):
            yield dict(zip(names, row, strict=True))

    def facts(self, places: Iterable[int] | None = None) -> Iterator[ConnectionFacts]:
        """Yield the connections as `rows` does, each as its facts."""
        for row in self.rows(places):
            errors = self.errors.get(int(row["connection"]), ())
            yield connection(row, self.segments, errors, self.file)

    def _at(self, places: Sequence[int], names: Sequence[str]) -> Iterator[tuple[Any, ...]]:
        """Yield the rows at some places, out of one column after the other."""
        columns = map(self.column, names)
        return zip(*[[column[at] for at in places] for column in columns], strict=True)


def of_engine(
    results: Mapping[str, Any], file: FileFacts, segments: Segments = unread
) -> ListedCapture:
    """Return the rows of `analysis.flows.reader.columns`; its column of numbers has all rows."""
    handed: Mapping[str, Handed] = results["connections"]
    height = len(listed(*handed["connection"])) if handed else 0

    def part(name: str, wanted: slice) -> Sequence[Any]:
        kind, values, valid = handed[name] if handed else ("text", [], b"")
        chosen = len(range(height)[wanted])
        cells = listed(kind, values, valid, wanted)
        return cells if len(cells) == chosen else cells * chosen

    udp, icmp = rows(results.get("udp", {})), icmp_errors(results)
    return ListedCapture(file, height, part, udp, segments, icmp)


def of_reading(reading: Reading) -> ListedCapture:
    table, packets = reading.connection_table, reading.packet_table

    @cache
    def read() -> Segments:
        if packets is None or reading.thinned or len(packets) > JUDGED:
            return unread
        return segments_of(packets[name].to_list() for name in COLUMNS)

    return ListedCapture(
        reading.file,
        len(table),
        lambda name, part: table[name][part].to_list(),
        reading.udp,
        lambda connection, forward: read()(connection, forward),
        reading.icmp,
    )


def segments_again(results: Mapping[str, Any]) -> Segments:
    """Return the segments of `analysis.flows.reader.columns` with packets."""
    cells: list[list[Any]] = [[] for _ in COLUMNS]
    for piece in results["packets_pieces"]:
        found = [listed(*piece[name]) for name in COLUMNS]
        height = max(map(len, found))
        for column, values in zip(cells, found, strict=True):
            column += values if len(values) == height else values * height
    return segments_of(cells)


_NAMED = 3
_COUNTED = ("syns", "total_packets", "resets_sent", "actual_data_pkts")
_OPENING = tuple(f"{name}_{way}" for name in _COUNTED for way in ("a2b", "b2a"))


class Attempt(StrEnum):
    """The ways in which a connection does not open; the values are words for a reader."""

    UNANSWERED = "never answered"
    REFUSED = "refused"
    HALF_OPEN = "answered and left half open"


@dataclass
class _Tried:
    """Attempts that one sentence describes. Of the targets hashes are kept, for memory."""

    count: int = 0
    sources: set[str] = field(default_factory=set)
    targets: set[int] = field(default_factory=set)
    named: dict[str, None] = field(default_factory=dict)

    def add(self, source: str, host: str, port: int) -> None:
        self.count += 1
        self.sources.add(source)
        self.targets.add(hash((host, port)))
        if len(self.named) <= _NAMED:
            self.named[fmt.end(host, port)] = None


def attempts(capture: ListedCapture) -> tuple[list[int], list[str]]:
    """Return the places of connections that opened, and sentences on the others."""
    kinds = [_kind(*row) for row in capture.values(*_OPENING)]
    opened = [at for at, kind in enumerate(kinds) if kind is None]
    if len(opened) == len(kinds):
        return opened, []
    return opened, list(_sentences(capture, kinds))


def _kind(
    syns: int, answers: int, sent: int, back: int, resets: int, refusals: int, *data: int
) -> Attempt | None:
    if not syns or any(data) or sent > syns + resets:
        return None
    if not back:
        return Attempt.UNANSWERED
    if back <= refusals:
        return Attempt.REFUSED
    return Attempt.HALF_OPEN if answers else None


def _sentences(capture: ListedCapture, kinds: list[Attempt | None]) -> Iterator[str]:
    found = {kind: _Tried() for kind in Attempt}
    ends = capture.values("host_a", "host_b", "port_b")
    for row, kind in zip(ends, kinds, strict=True):
        if kind:
            found[kind].add(*row)
    for kind, tried in found.items():
        source, targets = "".join(tried.sources), fmt.listed(list(tried.named))
        if len(tried.sources) > 1:
            source = f"{len(tried.sources):,} addresses"
        if len(tried.targets) > _NAMED:
            first = ", ".join([*list(tried.named)[:_NAMED], "..."])
            targets = f"{len(tried.targets):,} ports ({first})"
        number = fmt.counted(tried.count, "connection")
        if tried.count:
            yield f"{kind.capitalize()}: {number}, from {source} to {targets}."


MOST = 30  # connections that the table has
_ARROW = "\N{RIGHTWARDS ARROW}"
_SIZE = ("unique_bytes_sent_a2b", "unique_bytes_sent_b2a")
_TROUBLE = tuple(
    f"{name}_{way}"
    for name in ("retransmissions", "late", "syns_again", "zero_win_adv", "resets_sent")
    for way in ("a2b", "b2a")
)


ORDERS = {
    "bytes": (_SIZE, "most bytes"),
    "duration": (("duration",), "longest duration"),
    "trouble": (_TROUBLE, "most retransmissions, gaps, repeated SYNs, zero windows and resets"),
}
"""The orders of --sort: the columns whose greatest sum is first, and words for that."""


@dataclass(frozen=True)
class ManyShown:
    """The `most` connections that are first by `sort`; `tells_how` the others are seen."""

    most: int = MOST
    sort: str = "bytes"
    tells_how: bool = True


USUAL = ManyShown()


def show_many(
    capture: ListedCapture, places: Sequence[int], console: Console, shown: ManyShown
) -> None:
    """Print the connections at these places, those of the greatest size or trouble first."""
    columns, order = ORDERS[shown.sort]
    weights = list(map(sum, capture.values(*columns)))
    first = nlargest(shown.most, places, key=weights.__getitem__)
    digits = max(3, len(str(max(places) + 1)))
    head = ["No.".rjust(digits), *(name.rjust(width) for name, width, _ in _COLUMNS)]
    console.print(Text("\n" + "  ".join(head), style="bold"))
    for facts in capture.facts(first):
        _print_connection(facts, digits, console)
    left = len(places) - len(first)
    if left:
        octets = list(map(sum, capture.values(*_SIZE)))
        rest = sum(octets[at] for at in places) - sum(octets[at] for at in first)
        how = "; --out FOLDER writes them all" if shown.tells_how else ""
        console.print(f"\nAnd {left:,} more, with {fmt.size(rest)} together{how}.")
        console.print(f"Shown: {order}.")
        if shown.tells_how:
            console.print("--connection N shows one of them alone, --sort chooses others.")
    _print_counts(capture, places, console)


def _print_connection(facts: ConnectionFacts, digits: int, console: Console) -> None:
    main = facts.directions[0]
    cells = [figure(facts).rjust(width) for _, width, figure in _COLUMNS]
    console.print(Text("  ".join([str(facts.number).rjust(digits), *cells])))
    margin = " " * (digits + 2)
    ends = f"{main.source} {_ARROW} {main.target}"
    if len(margin + ends) > console.width:
        ends = ends.replace(f" {_ARROW}", f"\n{margin}{_ARROW}")
    console.print(Text(margin + ends, style="cyan"))


def _round_trips(facts: ConnectionFacts) -> str:
    main = facts.directions[0]
    if main.place == "receiver" or not main["rtt_samples"]:
        return fmt.NOTHING
    trips = (main["rtt_p50"], main["rtt_p95"])
    return " / ".join(fmt.digits((trip or 0) / 1e6) for trip in trips)


def _repeated(facts: ConnectionFacts) -> str:
    main = facts.directions[0]
    is_seen = main.sees_sending or main["retransmissions"]
    return f"{main['retransmissions']:,}" if is_seen else fmt.NOTHING


_COLUMNS: tuple[tuple[str, int, Callable[[ConnectionFacts], str]], ...] = (
    ("Bytes", 7, lambda facts: fmt.size(facts.directions[0].carried)),
    ("Time", 7, lambda facts: fmt.seconds(facts.duration)),
    ("Goodput", 11, lambda facts: fmt.rate(facts.directions[0]["goodput"])),
    ("RTT 50/95 ms", 12, _round_trips),
    ("Again", 5, _repeated),
    ("Slow because", 0, lambda facts: str(verdict(facts).cause)),
)
"""Name, width and figure of the first line of a connection."""

_ENDINGS = {
    "yes": "opened and closed in the capture",
    "reset": "by a reset",
    "no": "not in the capture",
}
_VANTAGES = {
    "a": "at the one that opened it",
    "b": "at the one that was called",
    "middle": "in the middle",
    "unknown": "not known",
}


def _print_counts(capture: ListedCapture, places: Sequence[int], console: Console) -> None:
    """Print how the connections ended, and where they were captured."""
    counted = []
    for name, words in (("complete", _ENDINGS), ("vantage", _VANTAGES)):
        column = capture.column(name)
        counts = Counter(column[at] for at in places)
        counted.append(", ".join(f"{words[key]}: {counts[key]:,}" for key in words if counts[key]))
    console.print(f"\nHow they ended: {counted[0]}.")
    console.print(f"Where the capture was taken, by connection: {counted[1]}.")
    if counted[1].partition(":")[0] != _VANTAGES["unknown"]:
        console.print(f"{fmt.NOTHING}: this is unknown if data is captured at its receiver.")
