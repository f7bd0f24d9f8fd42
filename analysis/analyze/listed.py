"""Connections of a capture as rows, and the table of many; those that never opened are counted."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
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
    in_all: int | None = None  # The number of the file's connections if some are not listed
    is_growing: bool = False

    @cached_property
    def errors(self) -> Mapping[int | None, Sequence[IcmpError]]:
        found = dict[int | None, list[IcmpError]]()
        for error in self.icmp:
            found.setdefault(error["connection"], []).append(error)
        found.pop(None, None)
        return found

    def column(self, name: str) -> Sequence[Any]:
        return self.part(name, slice(None))

    def values(self, *names: str) -> Iterator[tuple[Any, ...]]:
        """Yield each connection's values in some columns; few of them are in memory at a time."""
        for begin in range(0, self.height, _TOGETHER):
            rows = slice(begin, begin + _TOGETHER)
            yield from zip(*(self.part(name, rows) for name in names), strict=True)

    def rows(self, places: Iterable[int] | None = None) -> Iterator[dict[str, Any]]:
        """Yield the connections, or those at some places: each as its values by name."""
        names = connection_names()
        cells = self.values(*names)
        if places is not None:
            chosen = list(places)
            cells = zip(*([self.column(name)[at] for at in chosen] for name in names), strict=True)
        for row in cells:
            yield dict(zip(names, row, strict=True))

    def facts(self, places: Iterable[int] | None = None) -> Iterator[ConnectionFacts]:
        """Yield the connections as `rows` does, each as its facts."""
        for row in self.rows(places):
            errors = self.errors.get(int(row["connection"]), ())
            yield connection(row, self.segments, errors, self.file)


def of_engine(
    results: Mapping[str, Any], file: FileFacts, segments: Segments = unread, **more: Any
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
    return ListedCapture(file, height, part, udp, segments, icmp, **more)


def of_reading(reading: Reading, in_all: int | None = None) -> ListedCapture:
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
        in_all,
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
    counts = Counter(kinds)
    for kind in (each for each in Attempt if counts[each]):
        sources, targets, named = set[str](), set[int](), dict[str, None]()
        ends = zip(capture.values("host_a", "host_b", "port_b"), kinds, strict=True)
        for source, host, port in (row for row, of_row in ends if of_row == kind):
            sources.add(source)
            targets.add(hash((host, port)))  # takes less memory than the text
            if len(named) <= _NAMED:
                named[fmt.end(host, port)] = None
        whence = f"{len(sources):,} addresses" if len(sources) > 1 else "".join(sources)
        whither = fmt.listed(list(named))
        if len(targets) > _NAMED:
            whither = f"{len(targets):,} ports ({', '.join([*list(named)[:_NAMED], '...'])})"
        number = fmt.counted(counts[kind], "connection")
        yield f"{kind.capitalize()}: {number}, from {whence} to {whither}."


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


def show_many(
    capture: ListedCapture, places: Sequence[int], console: Console, sort: str, most: int
) -> None:
    """Print `most` of the connections at these places, those that are first by `sort`."""
    columns, order = ORDERS[sort]
    weights = list(map(sum, capture.values(*columns)))
    first = nlargest(most, places, key=weights.__getitem__)
    digits = max(3, len(str(max(places) + 1)))
    head = ["No.".rjust(digits), *(name.rjust(width) for name, width, _ in _COLUMNS)]
    console.print(Text("\n" + "  ".join(head), style="bold"))
    for facts in capture.facts(first):
        _print_connection(facts, digits, console)
    left = len(places) - len(first)
    if left:
        octets = list(map(sum, capture.values(*_SIZE)))
        rest = sum(octets[at] for at in places) - sum(octets[at] for at in first)
        how = "" if capture.is_growing else "; --out FOLDER writes them all"
        console.print(f"\nAnd {left:,} more, with {fmt.size(rest)} together{how}.")
        console.print(f"Shown: {order}.")
        if how:
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


_COLUMNS: tuple[tuple[str, int, Callable[[ConnectionFacts], str]], ...] = (
    ("Bytes", 7, lambda facts: fmt.size(facts.directions[0].carried)),
    ("Time", 7, lambda facts: fmt.seconds(facts.duration)),
    ("Goodput", 11, lambda facts: fmt.rate(facts.directions[0]["goodput"])),
    ("RTT 50/95 ms", 12, _round_trips),
    ("Again", 5, lambda facts: facts.directions[0].again or fmt.NOTHING),
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
    counted = []
    for name, words in (("complete", _ENDINGS), ("vantage", _VANTAGES)):
        column = capture.column(name)
        counts = Counter(column[at] for at in places)
        counted.append(", ".join(f"{words[key]}: {counts[key]:,}" for key in words if counts[key]))
    console.print(f"\nHow they ended: {counted[0]}.")
    console.print(f"Where the capture was taken, by connection: {counted[1]}.")
    if counted[1].partition(":")[0] != _VANTAGES["unknown"]:
        console.print(f"{fmt.NOTHING}: this is unknown if data is captured at its receiver.")
