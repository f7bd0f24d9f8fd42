"""Input of the graphs: the tables of `analysis.flows`, cut into directions.

The tables' columns are defined in analysis/flows/columns.csv. Times become ns since a start that
all captures of one page share, so that their graphs can stand above each other.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from analysis.flows.reader import Reading, ThinnedRows
from analysis.table import ColumnTable, Truths, Whole

Numbers = NDArray[np.int64] | NDArray[np.floating[Any]]
FIN, SYN, RST = 1, 2, 4  # bits of the column `flags` (RFC 9293)
MOST_CONNECTIONS = 64  # connections of a capture that the page shows
HOW_CHOSEN = "those with most payload, and those with most retransmissions, resets and zero windows"
"""What connections are shown if not all are; `drawn` has the rule."""
SIGNS_OF_TROUBLE = (
    *("retransmissions", "syns_again", "fins_again", "probes", "late"),
    *("resets_sent", "zero_win_adv"),
)
_FACTS = ("host_a", "host_b", "port_a", "port_b", "vantage")


@dataclass(frozen=True)
class Capture:
    """One capture file's tables and what it is called on the page, such as its interface."""

    label: str
    packet_table: ColumnTable
    connection_table: ColumnTable
    limit_table: ColumnTable | None = None
    thinned: ThinnedRows | None = None

    @classmethod
    def of(cls, label: str, reading: Reading) -> Capture:
        assert reading.packet_table is not None
        tables = reading.packet_table, reading.connection_table, reading.limit_table
        return cls(label, *tables, reading.thinned)

    @property
    def start(self) -> int:
        """ns since 1970 of the first segment; 0 without any."""
        times = self.packet_table["time"].values
        if self.thinned:  # perhaps of some connections only
            times = np.append(times, self.connection_table["first_packet"].values)
        return int(times.min()) if len(times) else 0

    @property
    def segments(self) -> int:
        return self.thinned.segments if self.thinned else len(self.packet_table)


class _Rows:
    """Columns of one length."""

    def at(self, rows: Truths) -> Self:
        """Return these rows; if all, the same columns, which a page stores once."""
        if rows.all():
            return self
        return type(self)(**{name: column[rows] for name, column in vars(self).items()})


@dataclass(frozen=True)
class SentSegments(_Rows):
    """Segments that take sequence numbers or are retransmitted; bytes from the SYN, times in ns."""

    time: Whole
    low: Whole
    high: Whole
    kind: Whole
    number: Whole
    in_flight: Whole
    carried: Whole
    count: Whole
    left_out: Whole


@dataclass(frozen=True)
class Acknowledgements(_Rows):
    """ACKs for what was sent; `edge` is the first byte beyond the window, `rtt` -1 for none."""

    time: Whole
    highest: Whole
    edge: Whole
    window: Whole
    number: Whole
    rtt: Whole
    in_flight: Whole  # bytes that are left in flight
    regular: Truths


@dataclass(frozen=True)
class SackBlocks(_Rows):
    """SACK blocks; `duplicate` ones report a segment that arrived twice (RFC 2883)."""

    time: Whole
    left: Whole
    right: Whole
    duplicate: NDArray[np.bool_]
    number: Whole


@dataclass(frozen=True)
class LimitIntervals:
    """Times of `causes` that limited a sender; `duration` is less than the interval if shared."""

    since: Whole
    until: Whole
    duration: Whole
    causes: NDArray[np.object_]


@dataclass(frozen=True)
class CaptureDirection:
    """Segments of one end and the other end's answers; `start` is the page's, ns since 1970."""

    capture: str
    connection: int
    forward: bool
    source: str
    target: str
    vantage: str
    start: int
    sent: SentSegments
    answers: Acknowledgements
    blocks: SackBlocks
    limits: LimitIntervals | None = None

    @property
    def name(self) -> str:
        return f"{self.source} \N{RIGHTWARDS ARROW} {self.target}"

    @property
    def ends(self) -> tuple[str, str]:
        """Both ends of the connection, a first, whichever way the segments go."""
        return (self.source, self.target) if self.forward else (self.target, self.source)

    @property
    def at_receiver(self) -> bool:
        """True if the capture was taken at the end at which this direction arrives."""
        return self.vantage == ("b" if self.forward else "a")

    @property
    def payload(self) -> int:
        """Bytes, each as often as it was sent, with one for SYN and FIN."""
        return int(self.sent.carried[-1]) if len(self.sent.carried) else 0


def resolution(capture: Capture) -> int:
    """Return the capture's clock in ns: 1000 if all times are whole microseconds, otherwise 1."""
    return 1000 if bool((capture.packet_table["time"].values % 1000 == 0).all()) else 1


def directions(
    capture: Capture, start: int | None = None, most: int | None = None
) -> list[CaptureDirection]:
    """Return the directions that sent data, in file order, of at most `most` connections."""
    begin = capture.start if start is None else start
    packets, connections = capture.packet_table, capture.connection_table
    if most is not None and len(connections) > most:
        packets = of_connections(packets, drawn(connections, most))
    ours = of_connections(connections, np.unique(packets["connection"].values))
    facts = {row["connection"]: row for row in ours.select("connection", *_FACTS).as_rows()}
    limits = capture.limit_table.parts("connection") if capture.limit_table else {}
    both_ways = [
        _direction(capture.label, facts.get(number, {}), forward, both, limits.get(number), begin)
        for number, both in packets.sorted_by("time").parts("connection").items()
        for forward in (True, False)
    ]
    return [direction for direction in both_ways if len(direction.sent.time)]


def drawn(connections: ColumnTable, most: int) -> list[int]:
    """Return connections to draw: half by payload, half by signs of trouble."""
    payload = _of_both(connections, "actual_data_bytes")
    signs = _of_both(connections, *SIGNS_OF_TROUBLE)
    by_payload = np.argsort(-payload, kind="stable")[:most]
    by_signs = np.argsort(-signs, kind="stable")[:most]
    troubled, largest = by_signs[signs[by_signs] > 0], by_payload[: most - most // 2]
    others = troubled[~np.isin(troubled, largest)][: most // 2]
    order = dict.fromkeys([*largest.tolist(), *others.tolist(), *by_payload.tolist()])
    numbers: list[int] = connections["connection"].values[list(order)[:most]].tolist()
    return numbers


def _of_both(connections: ColumnTable, *names: str) -> Whole:
    columns = [connections.whole(f"{name}_{way}") for name in names for way in ("a2b", "b2a")]
    sums: Whole = np.sum(columns, axis=0)
    return sums


def of_connections(table: ColumnTable, numbers: Whole | Sequence[int]) -> ColumnTable:
    is_of = np.isin(table["connection"].values, numbers)
    return table if is_of.all() else table.rows(is_of)


def _direction(
    label: str,
    facts: dict[str, object],
    forward: bool,
    both: ColumnTable,
    limits: ColumnTable | None,
    start: int,
) -> CaptureDirection:
    is_sent = both["forward"].values == forward
    ends = [f"{facts.get(f'host_{end}', end)}:{facts.get(f'port_{end}', '?')}" for end in "ab"]
    source, target = ends if forward else ends[::-1]
    is_answer = both["acknowledgement"].is_known & (both["flags"].values & RST == 0)
    answers = both.rows(~is_sent & is_answer)
    return CaptureDirection(
        label,
        int(both["connection"].values[0]),
        forward,
        source,
        target,
        str(facts.get("vantage", "unknown")),
        start,
        _sent(both.rows(is_sent), start),
        _answers(answers, start),
        _blocks(answers, start),
        None if limits is None else _limits(limits, forward, start),
    )


def _limits(table: ColumnTable, forward: bool, start: int) -> LimitIntervals:
    own = table.rows(table["forward"].values == forward)
    times = own.whole("since") - start, own.whole("until") - start, own.whole("time")
    return LimitIntervals(*times, own["cause"].values)


def _sent(own: ColumnTable, start: int) -> SentSegments:
    flags, kinds = own.whole("flags"), own.whole("kind")
    taken = own.whole("payload") + (flags & SYN > 0) + (flags & FIN > 0)
    is_drawn = (taken > 0) | (kinds > 1)
    rows, taken = own.rows(is_drawn), taken[is_drawn]
    time, low, *others = (
        rows.whole(name) for name in ("time", "sequence", "kind", "number", "in_flight")
    )
    if "left_out" in own.columns:
        further = [rows.whole(name) for name in ("carried", "carriers", "left_out")]
    else:
        count = np.arange(1, 1 + len(rows))
        further = [np.cumsum(taken), count, np.zeros_like(count)]
    return SentSegments(time - start, low, low + taken, *others, *further)


def _answers(answers: ColumnTable, start: int) -> Acknowledgements:
    acknowledged, window = answers.whole("acknowledgement"), answers.whole("window")
    is_known = "regular" in answers.columns
    return Acknowledgements(
        time=answers.whole("time") - start,
        highest=np.maximum.accumulate(acknowledged),
        edge=acknowledged + window,
        window=window,
        number=answers.whole("number"),
        rtt=answers.whole("rtt", missing=-1),
        in_flight=answers.whole("peer_in_flight"),
        regular=answers["regular"].values if is_known else np.ones(len(answers), np.bool_),
    )


def _blocks(answers: ColumnTable, start: int) -> SackBlocks:
    """Return one row a block. Only the first block of an ACK can be a report of a duplicate."""
    some = answers.rows(answers.lists("sacks").lengths > 0)
    edges = some.lists("sacks").values.astype(np.int64).reshape(-1, 2)
    counts = some.lists("sacks").lengths // 2
    first = np.zeros(len(edges), dtype=np.bool_)
    first[np.cumsum(counts) - counts] = True
    return SackBlocks(
        time=np.repeat(some.whole("time") - start, counts),
        left=edges[:, 0],
        right=edges[:, 1],
        duplicate=first & np.repeat(some["dsack"].values, counts),
        number=np.repeat(some.whole("number"), counts),
    )


def all_directions(captures: Sequence[Capture], most: int | None = None) -> list[CaptureDirection]:
    """Return the directions of all captures, on one clock."""
    start = min((capture.start for capture in captures if len(capture.packet_table)), default=0)
    return [direction for capture in captures for direction in directions(capture, start, most)]
