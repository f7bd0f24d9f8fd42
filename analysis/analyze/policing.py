"""Evidence that a policer's token bucket caused the losses of a connection.

A policer drops what arrives while its bucket is empty. Buckets are therefore simulated with what
the sender offered (Flach and others, An Internet-Wide Analysis of Traffic Policing, SIGCOMM 2016).
They simulate one rate. A grid of rates and sizes also finds buckets that fill up between bursts.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from itertools import accumulate, pairwise
from math import lgamma, log
from statistics import median
from typing import Any, NamedTuple

from analysis.flows.columns import KINDS

_FEWEST = 8
"""Losses below which chance fits a bucket."""
_CHANCE, _FOR_EACH = 6.0, 1 / 250
"""Digits of improbability that prove a bucket, and further ones for each segment.

Places of losses before a capture are estimated, so that many random losses fit a bucket a little.
"""
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


def evidence(segments: Iterable[SegmentRow]) -> float:
    """Return how improbable chance is next to the best bucket, by what proves it: 1 or more."""
    offered = _offered([each for each in segments if each.payload and each.kind not in _OTHERS])
    lost = sum(each.lost for each in offered)
    if lost < _FEWEST or lost == len(offered):
        return 0.0
    passed = sum(each.octets for each in offered if not each.lost)
    mean = passed / max(sum(each.elapsed for each in offered), 1)
    grid = [TokenBucket(mean * rate, size) for rate in _RATES for size in _SIZES]
    _, best = max(zip(_surprises(offered, grid), grid, strict=True))
    near = [TokenBucket(best.rate * rate, best.size * size) for rate in _NEAR for size in _NEAR]
    return max(_surprises(offered, near)) / (_CHANCE + _FOR_EACH * len(offered))


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


def _surprises(offered: Sequence[OfferedSegment], buckets: Sequence[TokenBucket]) -> list[float]:
    """Return for each bucket how improbable its hits are by chance; all begin empty."""
    lost = sum(each.lost for each in offered)
    return [_surprise(*_drops(offered, each), lost, len(offered) - lost) for each in buckets]


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
    """Return the negative decimal logarithm of Fisher's exact test, one-sided.

    It is the chance that of `hits + alarms` drawn segments at least `hits` are of the lost ones.
    """
    drawn, term, total = hits + alarms, 1.0, 1.0
    if hits * (lost + kept) <= drawn * lost:
        return 0.0
    for more in range(hits, min(drawn, lost)):
        term *= (drawn - more) * (lost - more) / ((more + 1) * (kept - drawn + more + 1))
        total += term
    ways = _ways(lost, hits) + _ways(kept, alarms) - _ways(lost + kept, drawn)
    return -(ways + log(total)) / log(10)


def _ways(among: int, chosen: int) -> float:
    """Return the logarithm of the binomial coefficient."""
    return lgamma(among + 1) - lgamma(chosen + 1) - lgamma(among - chosen + 1)
