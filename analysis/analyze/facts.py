"""The figures of each direction that carried data, as the capture's place allows.

A capture at the sender sees the retransmissions. One at the receiver sees gaps that were filled, by
segments that may have been lost or overtaken on the way: none of them is called a retransmission.
An ACK follows its data at once there, so that the time between them is no round trip.

A policer drops what arrives while its token bucket is empty. As evidence for one, buckets are
simulated with what the sender offered (Flach and others, An Internet-Wide Analysis of Traffic
Policing, SIGCOMM 2016). They simulate one rate; a grid of rates and sizes also finds buckets that
fill up between bursts.
"""

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate, pairwise
from math import lgamma, log
from statistics import median
from typing import Any, Literal, NamedTuple

from analysis import fmt
from analysis.flows.columns import KINDS, RETRANSMISSIONS
from analysis.flows.reader import FileFacts, IcmpError

_FEWEST = 8  # losses below which chance fits a bucket
_CHANCE, _FOR_EACH = 6.0, 1 / 250
"""Digits of improbability that prove a bucket, and further ones for each segment.

Places of losses before a capture are estimated, so that many random losses fit a bucket a little.
"""
_MOST = 2_500  # segments from the first loss on that are compared
_HEADERS = 52
_KIND = {name: number for number, (name, _) in enumerate(KINDS)}
_OTHERS = {_KIND[name] for name in ("keepalive", "probe", "copy", "spurious")}
_RATES = (0.9, 1.2, 1.7, 2.6, 4.0)
"""Of the mean rate that passed: buckets that are often full pass less than their rate."""
_SIZES = (7e3, 1.2e4, 2e4, 3.5e4, 8e4, 2e5, 6e5, 2e6)
_NEAR = (0.75, 0.87, 1.0, 1.15, 1.3)  # rates and sizes around the best of the grid


class SegmentRow(NamedTuple):
    """A segment of one direction; `time` in ns, `kind` a place in KINDS."""

    time: int
    sequence: int
    payload: int
    kind: int


Segments = Callable[[int, bool], Sequence[SegmentRow] | None]
"""Reads the segments of a connection's direction (forward or not); None if they are too many."""
COLUMNS = ("connection", "forward", *SegmentRow._fields)


def unread(_connection: int, _forward: bool) -> None:
    """Read no segments."""


def segments_of(cells: Iterable[Sequence[Any]]) -> Segments:
    """Return the segments out of the columns COLUMNS; rows are made of those asked for only."""
    connections, forwards, *columns = cells
    found = defaultdict[tuple[int, bool], list[int]](list)
    for place, way in enumerate(zip(connections, forwards, strict=True)):
        found[way].append(place)

    def of(connection: int, forward: bool) -> list[SegmentRow]:
        chosen = [map(column.__getitem__, found[connection, forward]) for column in columns]
        return [*map(SegmentRow._make, zip(*chosen, strict=True))]

    return of


class OfferedSegment(NamedTuple):
    """A segment at the policer: ns since the one before, bytes, and its fate."""

    elapsed: int
    octets: int
    lost: bool


class TokenBucket(NamedTuple):
    """A policer: bytes per ns, and bytes that it lets through at once."""

    rate: float
    size: float


def evidence(segments: Iterable[SegmentRow]) -> float:
    """Return how improbable chance is next to the best bucket, by what proves it: 1 or more."""
    offered = _offered([each for each in segments if each.payload and each.kind not in _OTHERS])
    lost = sum(each.lost for each in offered)
    if lost < _FEWEST or lost == len(offered):
        return 0.0

    def surprise(bucket: TokenBucket) -> float:
        return _surprise(*_drops(offered, bucket), lost, len(offered) - lost)

    passed = sum(each.octets for each in offered if not each.lost)
    mean = passed / max(sum(each.elapsed for each in offered), 1)
    grid = [TokenBucket(mean * rate, size) for rate in _RATES for size in _SIZES]
    best = max(grid, key=lambda bucket: (surprise(bucket), bucket))
    near = [TokenBucket(best.rate * rate, best.size * size) for rate in _NEAR for size in _NEAR]
    return max(map(surprise, near)) / (_CHANCE + _FOR_EACH * len(offered))


def _offered(segments: Sequence[SegmentRow]) -> list[OfferedSegment]:
    """Return the segments from the first loss on.

    A segment was lost if it was sent again, or if its repair fills a gap. Then it came between the
    segments around the gap, behind the first by the usual time between two segments at most.
    """
    newest = {each.sequence: place for place, each in enumerate(segments)}
    tops = list(accumulate((each.sequence for each in segments), max))
    behind = defaultdict[int, list[int]](list)
    for each in segments:
        if each.kind == _KIND["late"]:
            behind[max(bisect_right(tops, each.sequence) - 1, 0)].append(each.payload)
    found, last = list[OfferedSegment](), 0
    after = [max(later.time - each.time, 0) for each, later in pairwise(segments)] + [0]
    usual = median(after)
    for place, each in enumerate(segments):
        step = min(usual, after[place] / (len(behind[place]) + 1))
        fates = [(0.0, each.payload, newest[each.sequence] != place)]
        fates += [(step * at, payload, True) for at, payload in enumerate(behind[place], 1)]
        for later_by, payload, lost in fates:
            time = each.time + int(later_by)
            if found or lost:
                elapsed = max(time - last, 0) if found else 0
                found.append(OfferedSegment(elapsed, payload + _HEADERS, lost))
                last = time
        if len(found) >= _MOST:
            break
    return found


def _drops(offered: Iterable[OfferedSegment], bucket: TokenBucket) -> tuple[int, int]:
    """Return how many lost and how many other segments the bucket drops."""
    (rate, size), tokens, hits, alarms = bucket, 0.0, 0, 0
    for elapsed, octets, lost in offered:
        tokens += rate * elapsed
        if tokens > size:
            tokens = size
        if tokens < octets:
            if lost:
                hits += 1
            else:
                alarms += 1
                tokens = 0.0
        elif not lost:
            tokens -= octets
    return hits, alarms


def _surprise(hits: int, alarms: int, lost: int, kept: int) -> float:
    """Return -log10 of Fisher's exact test: the chance of at least `hits` lost of all drawn."""
    drawn, term, total = hits + alarms, 1.0, 1.0
    if hits * (lost + kept) <= drawn * lost:
        return 0.0
    for more in range(hits, min(drawn, lost)):
        term *= (drawn - more) * (lost - more) / ((more + 1) * (kept - drawn + more + 1))
        total += term
    ways = _ways(lost, hits) + _ways(kept, alarms) - _ways(lost + kept, drawn)
    return -(ways + log(total)) / log(10)


def _ways(among: int, chosen: int) -> float:
    return lgamma(among + 1) - lgamma(chosen + 1) - lgamma(among - chosen + 1)


EPHEMERAL = 32768
"""First port of clients on Linux (net.ipv4.ip_local_port_range); elsewhere 49152 (RFC 6335)."""
Row = Mapping[str, Any]
Place = Literal["sender", "receiver", "middle", "unknown"]

CALLED = {
    "fast": "after duplicate ACKs",
    "sack": "by SACK",
    "rto": "by the timer",
    "tlp": "as tail loss probe",
    "spurious": "needless",
    "other": "without a sign",
    "fastopen": "as the SYN's data were refused",
}
"""The kinds of retransmissions in a student's words."""
_MANY = 20  # A direction with less than this part of the other's bytes has requests only
LIMITS = {"receiver": "receive window", "network": "network", "application": "application"}


@dataclass(frozen=True)
class DirectionFacts:
    """Data that one end of a connection sent; `place` is where the capture is, seen from there."""

    source: str
    target: str
    place: Place
    row: Row
    ending: str

    def __getitem__(self, name: str) -> Any:
        return self.row[f"{name}_{self.ending}"]

    def back(self, name: str) -> Any:
        return self.row[f"{name}_{self.ending[::-1]}"]

    @property
    def answered(self) -> bool:
        return bool(self.back("total_packets"))

    @property
    def carried(self) -> int:
        return int(self["unique_bytes_sent"])

    @property
    def is_request(self) -> bool:
        """True if it asks for the data of the other direction: no limit of it matters."""
        return self.carried * _MANY < int(self.back("unique_bytes_sent"))

    @property
    def kinds(self) -> dict[str, int]:
        counts = {kind: int(self[f"retransmissions_{kind}"]) for kind in RETRANSMISSIONS}
        return {kind: number for kind, number in counts.items() if number}

    @property
    def again(self) -> str:
        """Retransmissions; empty if the capture cannot tell, as none pass it behind a loss."""
        is_seen = self.place in ("sender", "unknown") or self["retransmissions"]
        return f"{self['retransmissions']:,}" if is_seen else ""

    @property
    def limits(self) -> dict[str, int]:
        times = {state: int(self[f"limited_{state}"] or 0) for state in LIMITS}
        longest = sorted(times.items(), key=lambda item: -item[1])
        return {state: time for state, time in longest if time}


@dataclass(frozen=True)
class ConnectionFacts:
    """One connection: its row and the directions, that with more payload first."""

    number: int
    row: Row
    directions: tuple[DirectionFacts, DirectionFacts]
    segments: Segments = unread
    errors: Sequence[IcmpError] = ()  # Errors of ICMP that quote it
    file: FileFacts | None = None

    @cached_property
    def policing(self) -> float | None:
        """Evidence for a policer, proved from 1 on; None if the segments cannot be read."""
        found = self.segments(self.number, self.directions[0].ending == "a2b")
        return None if found is None else evidence(found)

    @cached_property
    def opener(self) -> DirectionFacts | None:
        """The direction of the end that opened it, by SYNs or ports; None if unknown."""
        a, b = sorted(self.directions, key=lambda way: way.ending)
        pairs = ((a, b), (b, a))
        asks = [one["syns"] > one["syn_acks"] or other["syn_acks"] for one, other in pairs]
        if asks[0] != asks[1]:
            return a if asks[0] else b
        ports = int(self.row["port_a"]), int(self.row["port_b"])
        if min(ports) < EPHEMERAL <= max(ports):
            return a if ports[0] >= EPHEMERAL else b
        return None

    @property
    def server(self) -> DirectionFacts:
        main, other = self.directions
        return other if self.opener is main else main

    @property
    def client(self) -> DirectionFacts:
        return self.directions[self.server is self.directions[0]]

    def role(self, way: DirectionFacts) -> str:
        if self.opener is None:
            return "other end" if way is self.directions[1] else "sender of the data"
        return "client" if way is self.opener else "server"

    @property
    def duration(self) -> int:
        return int(self.row["duration"])

    @property
    def carried(self) -> int:
        return sum(direction.carried for direction in self.directions)

    @property
    def shown(self) -> tuple[DirectionFacts, ...]:
        return tuple(direction for direction in self.directions if direction["actual_data_pkts"])

    @property
    def vantage(self) -> str:
        """Place of the capture with the evidence, as a sentence."""
        vantage = self.row["vantage"]
        if vantage == "middle":
            return "Captured in the middle of the path (by the handshake)."
        if vantage not in ("a", "b"):
            return "The place of the capture is not known (no handshake)."
        end = _end(self.row, vantage)
        main = self.directions[0]
        role = "sender" if main.source == end else "receiver"
        return f"Captured at {end}, the {role} (by the {self.row['vantage_source']})."

    @property
    def opened(self) -> str:
        """Opener, time and number of SYNs; empty if the capture lacks them."""
        syns, answers = int(self.row["syns_a2b"]), int(self.row["syns_b2a"])
        if not syns or not answers:
            return ""
        if all(self.row[f"syns_{way}"] > self.row[f"syn_acks_{way}"] for way in ("a2b", "b2a")):
            return "Opened by both ends at once: their SYNs crossed."
        took, again = self.row["connect_time"], []
        again += [f"its SYN was sent {syns} times"] if syns > 1 else []
        again += [f"the answer was sent {answers} times"] if answers > 1 else []
        within = "" if took is None else f" in {fmt.seconds(took)}"
        return "; ".join([f"Opened by {_end(self.row, 'a')}{within}", *again]) + "."

    @property
    def silence(self) -> str:
        kept = [
            f"{fmt.counted(direction['keepalives'], 'keep-alive')} of {direction.source}"
            for direction in self.directions
            if direction["keepalives"]
        ]
        return f"No data was captured{', but ' if kept else ''}{' and '.join(kept)}."

    @property
    def ended(self) -> str:
        """End of the connection in words; without a beginning, the reason."""
        row = self.row
        syns, answered = int(row["syns_a2b"]), int(row["total_packets_b2a"])
        if syns and row["total_packets_a2b"] <= syns and answered <= row["resets_sent_b2a"]:
            times = fmt.times(syns)
            refused = f"refused by a reset, {times}"
            return refused if answered else f"its SYN was sent {times} and not answered"
        words = {"yes": "opened and closed in the capture", "reset": "ended by a reset"}
        if row["complete"] in words:
            return words[row["complete"]]
        missing = [] if syns and row["syns_b2a"] else ["opening"]
        missing += [] if row["fins_a2b"] and row["fins_b2a"] else ["close"]
        return f"without its {' and '.join(missing)}" if missing else "not complete"


def connection(
    row: Row,
    segments: Segments = unread,
    errors: Sequence[IcmpError] = (),
    file: FileFacts | None = None,
) -> ConnectionFacts:
    """Return the facts of a row of `flows.read(...).connection_table`, and its errors of ICMP."""
    a_to_b, b_to_a = _direction(row, "a", "b"), _direction(row, "b", "a")
    directions = (a_to_b, b_to_a) if a_to_b.carried >= b_to_a.carried else (b_to_a, a_to_b)
    return ConnectionFacts(int(row["connection"]), row, directions, segments, errors, file)


def lost_packets(file: FileFacts) -> str:
    """Return how many packets the capture lost by its own account, and when."""
    lost, begin = f"{file.lost:,} of {file.packets + file.lost:,} packets", file.first or 0
    if file.lost_since is None or file.lost_until is None:
        return lost
    ends = (fmt.seconds(time - begin) for time in (file.lost_since, file.lost_until))
    return f"{lost} between {' and '.join(ends)}"


def _direction(row: Row, source: str, target: str) -> DirectionFacts:
    places: dict[str, Place] = {source: "sender", target: "receiver", "middle": "middle"}
    ends, place = (_end(row, source), _end(row, target)), places.get(row["vantage"], "unknown")
    return DirectionFacts(*ends, place, row, f"{source}2{target}")


def _end(row: Row, end: str) -> str:
    return fmt.end(row[f"host_{end}"], row[f"port_{end}"])
