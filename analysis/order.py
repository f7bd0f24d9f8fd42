"""In which order packets arrived, from captures at both ends, in the terms of RFC 4737.

A packet is a segment as it was sent once: a retransmission is another packet. The sender's capture numbers packets in
the order of sending; one is reordered if a later one arrived before it (section 3). Its extent is by how many places it
came too late, its late time how long after the first of those that overtook it (sections 4.2 and 4.3). It is
n-reordered if the n packets that arrived right before it were all sent after it (section 5): without other losses each
of these gave a duplicate acknowledgement, so TCP's threshold of 3 takes a 3-reordered packet for lost.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict, deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import median, quantiles

from analysis.capture import Segment

DUPLICATES = 3
"""Duplicate acknowledgements after which a segment counts as lost (RFC 5681, section 3.2)."""


@dataclass(frozen=True)
class Late:
    """A reordered packet: `extent` in packets, `time` in seconds, and the largest n for which it is n-reordered."""

    extent: int
    time: float
    directly: int


@dataclass(frozen=True)
class Order:
    """Counts of packets, the one-way delays of those that arrived (s), and those that were late."""

    sent: int
    delays: tuple[float, ...]
    late: tuple[Late, ...]

    @property
    def arrived(self) -> int:
        return len(self.delays)


def order(sent: Sequence[Segment], received: Iterable[Segment]) -> Order:
    """The order of the packets of one connection and direction, from the captures at its ends.

    A packet is recognised by its IPv4 identification, sequence number and length, of equals the earliest.
    """
    waiting: dict[tuple[int, int, int], deque[int]] = defaultdict(deque)
    for place, segment in enumerate(sent):
        waiting[_key(segment)].append(place)
    places, times = [], []
    for segment in received:
        if found := waiting.get(_key(segment)):
            places.append(found.popleft())
            times.append(segment.time)
    delays = tuple(time - sent[place].time for place, time in zip(places, times, strict=True))
    return Order(len(sent), delays, tuple(_late(places, times)))


def _key(segment: Segment) -> tuple[int, int, int]:
    return segment.identification, segment.sequence, segment.payload


def _late(places: Sequence[int], times: Sequence[float]) -> Iterable[Late]:
    """One pass: `highest` was sent later than all before it, `lower` sooner than all that came since."""
    highest: list[int] = []
    at: list[int] = []
    lower: list[int] = []
    for arrival, place in enumerate(places):
        while lower and places[lower[-1]] > place:
            lower.pop()
        directly = arrival - (lower[-1] if lower else -1) - 1
        lower.append(arrival)
        if highest and place < highest[-1]:
            first = at[bisect_right(highest, place)]
            yield Late(arrival - first, times[arrival] - times[first], directly)
        else:
            highest.append(place)
            at.append(arrival)


def values_of(found: Order) -> dict[str, float]:
    """The order by key: counts, `share` and `share_3` (% of what arrived), extents in packets, times in ms."""
    if not found.arrived:
        return {}
    values = {
        "order.sent": found.sent, "order.arrived": found.arrived, "order.lost": found.sent - found.arrived,
        "order.late": len(found.late), "order.share": 100 * len(found.late) / found.arrived,
        "order.share_3": 100 * sum(one.directly >= DUPLICATES for one in found.late) / found.arrived,
        "order.delay_least": 1000 * min(found.delays), "order.delay_most": 1000 * max(found.delays),
    }  # fmt: skip
    extents, times = [one.extent for one in found.late], [1000 * one.time for one in found.late]
    return values | _spread("order.extent", extents) | _spread("order.time", times)


def _spread(key: str, values: Sequence[float]) -> dict[str, float]:
    """Median, 95th percentile and greatest; nothing without values."""
    if not values:
        return {}
    high = quantiles(values, n=20)[-1] if len(values) > 1 else values[0]
    return {f"{key}_median": median(values), f"{key}_p95": min(high, max(values)), f"{key}_most": max(values)}
