"""Table of many connections: a line of figures and a line with the ends for each."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from heapq import nlargest
from typing import NamedTuple

from rich.console import Console
from rich.text import Text

from analysis.analyze import short_numbers
from analysis.analyze.facts import ConnectionFacts
from analysis.analyze.listed import ListedCapture
from analysis.analyze.verdict import verdict

MOST = 30
"""Connections that the table has."""
_ARROW = "\N{RIGHTWARDS ARROW}"
_SIZE = ("unique_bytes_sent_a2b", "unique_bytes_sent_b2a")
_TROUBLE = tuple(
    f"{name}_{way}"
    for name in ("retransmissions", "late", "syns_again", "zero_win_adv", "resets_sent")
    for way in ("a2b", "b2a")
)


class ConnectionOrder(NamedTuple):
    """The sum of `columns` by which connections are shown, the greatest first."""

    columns: tuple[str, ...]
    words: str


ORDERS = {
    "bytes": ConnectionOrder(_SIZE, "most bytes"),
    "duration": ConnectionOrder(("duration",), "longest duration"),
    "trouble": ConnectionOrder(
        _TROUBLE, "most retransmissions, gaps, repeated SYNs, zero windows and resets"
    ),
}
"""The orders of --sort."""


@dataclass(frozen=True)
class ManyShown:
    """The `most` connections that are first by `sort`; `tells_how` the others are seen."""

    most: int = MOST
    sort: str = "bytes"
    tells_how: bool = True


USUAL = ManyShown()


@dataclass(frozen=True)
class _Column:
    """A column of the first line of a connection."""

    name: str
    width: int
    figure: Callable[[ConnectionFacts], str]

    def cell(self, text: str) -> str:
        """Return the text in the column; figures stand to the right, words to the left."""
        return text.rjust(self.width) if self.width else text


def show_many(
    capture: ListedCapture, places: Sequence[int], console: Console, shown: ManyShown
) -> None:
    """Print the connections at these places, those of the greatest size or trouble first."""
    order = ORDERS[shown.sort]
    weights = list(map(sum, capture.values(*order.columns)))
    first = nlargest(shown.most, places, key=weights.__getitem__)
    digits = max(3, len(str(max(places) + 1)))
    head = ["No.".rjust(digits), *(column.cell(column.name) for column in _COLUMNS)]
    console.print(Text("\n" + "  ".join(head), style="bold"))
    for facts in capture.facts(first):
        _print_connection(facts, digits, console)
    left = len(places) - len(first)
    if left:
        octets = list(map(sum, capture.values(*_SIZE)))
        rest = sum(octets[at] for at in places) - sum(octets[at] for at in first)
        how = "; --out FOLDER writes them all" if shown.tells_how else ""
        console.print(f"\nAnd {left:,} more, with {short_numbers.size(rest)} together{how}.")
        console.print(f"Shown: {order.words}.")
        if shown.tells_how:
            console.print("--connection N shows one of them alone, --sort chooses others.")
    _print_counts(capture, places, console)


def _print_connection(facts: ConnectionFacts, digits: int, console: Console) -> None:
    main = facts.directions[0]
    cells = [column.cell(column.figure(facts)) for column in _COLUMNS]
    console.print(Text("  ".join([str(facts.number).rjust(digits), *cells])))
    margin = " " * (digits + 2)
    ends = f"{main.source} {_ARROW} {main.target}"
    if len(margin + ends) > console.width:
        ends = ends.replace(f" {_ARROW}", f"\n{margin}{_ARROW}")
    console.print(Text(margin + ends, style="cyan"))


def _round_trips(facts: ConnectionFacts) -> str:
    main = facts.directions[0]
    if main.place == "receiver" or not main["rtt_samples"]:
        return short_numbers.NOTHING
    trips = (main["rtt_p50"], main["rtt_p95"])
    return " / ".join(short_numbers.digits((trip or 0) / 1e6) for trip in trips)


def _repeated(facts: ConnectionFacts) -> str:
    main = facts.directions[0]
    is_seen = main.sees_sending or main["retransmissions"]
    return f"{main['retransmissions']:,}" if is_seen else short_numbers.NOTHING


_COLUMNS = (
    _Column("Bytes", 7, lambda facts: short_numbers.size(facts.directions[0].carried)),
    _Column("Time", 7, lambda facts: short_numbers.seconds(facts.duration)),
    _Column("Goodput", 11, lambda facts: short_numbers.rate(facts.directions[0]["goodput"])),
    _Column("RTT 50/95 ms", 12, _round_trips),
    _Column("Again", 5, _repeated),
    _Column("Slow because", 0, lambda facts: str(verdict(facts).cause)),
)

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
    endings, vantages = (
        Counter(column[at] for at in places)
        for column in map(capture.column, ("complete", "vantage"))
    )
    console.print(f"\nHow they ended: {_counted(endings, _ENDINGS)}.")
    words = _counted(vantages, _VANTAGES)
    console.print(f"Where the capture was taken, by connection: {words}.")
    if set(vantages) & {"a", "b", "middle"}:
        console.print(
            f"{short_numbers.NOTHING}: this is unknown if data is captured at its receiver."
        )


def _counted(counts: Counter[str], words: Mapping[str, str]) -> str:
    return ", ".join(f"{words[key]}: {counts[key]:,}" for key in words if key in counts)
