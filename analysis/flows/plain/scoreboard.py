"""What one direction has sent: a list of segments, ordered by sequence.

Each has when it was last sent, how often it was retransmitted, and whether it was acknowledged.
Acknowledged neighbours at the front become one. The rules of counting are tcptrace's (its manual,
and its behaviour); numbers are relative and of 64 bit.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from operator import attrgetter
from typing import Literal, Protocol

_LONGEST = 65536
"""Longest list; beyond it the two oldest entries become one, as if both were acknowledged."""
_LONGEST_ALONE = 1024
"""Longest list while the peer is not seen, so that nothing is ever acknowledged."""
_MOST_PIECES = 64
"""Most acknowledged pieces with gaps between them; beyond it the oldest gap counts as filled."""
_LONG_AGO = -(2**63)
_END = attrgetter("end")

Worth = Literal["sample", "ambiguous", "after loss"]


class SegmentObserver(Protocol):
    """Is called with what happens to segments."""

    def resent(self, time: int, again: int) -> None:
        """An unacknowledged segment was retransmitted, for the `again`-th time.

        `time` is the time since the last transmission.
        """

    def exactly(self, time: int, size: int, worth: Worth) -> None:
        """A segment's end is acknowledged.

        `time` is the time since it was sent, `size` its bytes, and `worth` what the time is worth.
        """

    def cumulatively(self) -> None:
        """A segment is covered by a later one's ACK."""

    def once_more(self, times: int) -> None:
        """A segment's end is acknowledged again, for the `times`-th time."""


class SentSegment:
    """A segment; `time` is when it was sent last.

    `acknowledged` is how often it was acknowledged, duplicates included.
    """

    __slots__ = ("acknowledged", "again", "end", "first", "time")

    def __init__(
        self, first: int, end: int, time: int, again: int = 0, acknowledged: int = 0
    ) -> None:
        self.first, self.end, self.time = first, end, time
        self.again, self.acknowledged = again, acknowledged


@dataclass(slots=True)
class SegmentRepetition:
    """What `add` found: bytes seen before, and how the first of them was sent."""

    again: int = 0
    out_of_order: bool = False
    earlier: tuple[int, int] | None = None
    """When the first repeated piece was sent last, and how often it was retransmitted before."""


NO_REPETITION = SegmentRepetition()


class Scoreboard:
    __slots__ = ("list",)

    def __init__(self) -> None:
        self.list: list[SentSegment] = []

    def add(
        self, first: int, end: int, time: int, alone: bool, observer: SegmentObserver
    ) -> SegmentRepetition:
        """Enters a segment; `alone` says that the peer was not seen."""
        sent, repetition = self.list, NO_REPETITION
        if sent and first < sent[-1].end:
            repetition = SegmentRepetition()
            self._insert(first, end, time, repetition, observer)
        else:
            sent.append(SentSegment(first, end, time))
        if len(sent) > _LONGEST_ALONE and (alone or len(sent) > _LONGEST):
            self._merge_oldest()
        return repetition

    def _merge_oldest(self) -> None:
        oldest = self.list.pop(0)
        following = self.list[0]
        following.first = oldest.first
        following.time = max(following.time, oldest.time)
        following.acknowledged = max(following.acknowledged, 1)

    def _insert(
        self,
        first: int,
        end: int,
        time: int,
        repetition: SegmentRepetition,
        observer: SegmentObserver,
    ) -> None:
        at = bisect_right(self.list, first, key=_END)
        while at < len(self.list):
            sent = self.list[at]
            if first < sent.first:
                repetition.out_of_order |= end < sent.end
                self.list.insert(at, SentSegment(first, min(end, sent.first), time))
                at += 1
                if end <= sent.first:
                    return
                first = sent.first
            self._repeat(sent, time, repetition, observer)
            repetition.again += min(end, sent.end) - first
            if end <= sent.end:
                return
            first = sent.end
            at += 1
        self.list.append(SentSegment(first, end, time))

    def _repeat(
        self, sent: SentSegment, now: int, repetition: SegmentRepetition, observer: SegmentObserver
    ) -> None:
        sent.again += 1
        if repetition.earlier is not None:
            return
        repetition.earlier = (sent.time, sent.again - 1)
        if sent.acknowledged == 0:
            observer.resent(max(now - sent.time, 0), sent.again)
        sent.time = now

    def acknowledge(
        self, ack: int, now: int, duplicate: bool, observer: SegmentObserver
    ) -> int | None:
        """Takes an ACK; `duplicate` says whether it is one.

        The time of the newest data it covers, if a sample.
        """
        covered, changed = 0, False
        latest = latest_new = _LONG_AGO
        sample = None
        for sent in self.list:
            if ack <= sent.first:
                break
            covered += 1
            if sent.time > latest:
                latest = sent.time
            if sent.acknowledged:
                exactly_again = duplicate and ack == sent.end
                sent.acknowledged = sent.acknowledged + 1 if exactly_again else 1
                if exactly_again:
                    observer.once_more(sent.acknowledged)
                continue
            sent.acknowledged, changed = 1, True
            time = now - sent.time if now > sent.time else 0
            sample = None
            if sent.time >= latest_new:
                latest_new = sent.time
                sample = None if sent.again else time
            if ack == sent.end:
                observer.exactly(time, sent.end - sent.first, _worth(sent, latest))
            else:
                observer.cumulatively()
        if changed and covered > 1:
            self._collapse(covered)
        return sample

    def _collapse(self, covered: int) -> None:
        """Makes one of acknowledged neighbours among the first `covered` segments."""
        kept = [self.list[0]]
        for following in self.list[1:covered]:
            last = kept[-1]
            if last.end == following.first:
                last.end, last.acknowledged = following.end, following.acknowledged
                last.time = max(last.time, following.time)
            else:
                kept.append(following)
            if len(kept) > _MOST_PIECES + 1:
                _fill_oldest_gap(kept)
        self.list[:covered] = kept


def _worth(sent: SentSegment, latest: int) -> Worth:
    if latest > sent.time:
        return "after loss"
    return "ambiguous" if sent.again else "sample"


def _fill_oldest_gap(kept: list[SentSegment]) -> None:
    oldest = kept.pop(0)
    kept[0].first, kept[0].time = oldest.first, max(oldest.time, kept[0].time)
