"""Agreement of the losses of a connection with a policer's token bucket.

A policer drops what arrives while its bucket is empty. Buckets are therefore simulated with what
the sender offered (Flach and others, An Internet-Wide Analysis of Traffic Policing, SIGCOMM 2016).
They simulate one rate. A grid of rates and sizes also finds buckets that fill up between bursts.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from itertools import accumulate, pairwise
from math import sqrt
from statistics import median
from typing import Any, NamedTuple

from analysis.flows.columns import KINDS

_FEWEST = 8
"""Losses below which chance fits a bucket."""
_MOST = 2_500
"""Segments from the first loss on that are compared."""
_HEADERS = 52
_KIND = {name: number for number, (name, _) in enumerate(KINDS)}
_OTHERS = {_KIND[name] for name in ("keepalive", "probe", "copy", "spurious")}
_RATES = (0.9, 1.2, 1.7, 2.6, 4.0)
"""Of the mean rate that passed: buckets that are often full pass less than their rate."""
_SIZES = (7e3, 1.2e4, 2e4, 3.5e4, 8e4, 2e5, 6e5, 2e6)
_NEAR = (0.75, 0.87, 1.0, 1.15, 1.3)
"""Rates and sizes around the best of the grid."""


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
    """Return the segments of a capture from its columns COLUMNS.

    Rows are made of those that are asked for only.
    """
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


def agreement(segments: Iterable[SegmentRow]) -> float:
    """Return 1 if a bucket explains all losses of a direction, about 0 if none does (phi)."""
    offered = _offered([each for each in segments if each.payload and each.kind not in _OTHERS])
    lost = sum(each.lost for each in offered)
    if lost < _FEWEST or lost == len(offered):
        return 0.0
    passed = sum(each.octets for each in offered if not each.lost)
    mean = passed / max(sum(each.elapsed for each in offered), 1)
    grid = [TokenBucket(mean * rate, size) for rate in _RATES for size in _SIZES]
    _, best = max(zip(_agreements(offered, grid), grid, strict=True))
    near = [TokenBucket(best.rate * rate, best.size * size) for rate in _NEAR for size in _NEAR]
    return max(_agreements(offered, near))


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


def _agreements(offered: Sequence[OfferedSegment], buckets: Sequence[TokenBucket]) -> list[float]:
    """Return the phi coefficient of lost and dropped for each bucket; all begin empty."""
    all_lost = sum(each.lost for each in offered)
    return [_phi(*_drops(offered, each), all_lost, len(offered) - all_lost) for each in buckets]


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


def _phi(hits: int, alarms: int, lost: int, kept: int) -> float:
    missed, right = lost - hits, kept - alarms
    whole = (hits + alarms) * lost * kept * (missed + right)
    return (hits * right - alarms * missed) / sqrt(max(whole, 1))
