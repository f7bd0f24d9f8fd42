"""Which kind a repeated segment is, and what gaps and reports say of losses and reordering.

docs/analysis.md has the rules in words; they use whole numbers only, so that every engine
decides alike.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from analysis.flows.columns import KINDS

(
    NONE,
    NEW,
    FAST,
    SACK,
    RTO,
    TLP,
    SPURIOUS,
    KEEPALIVE,
    PROBE,
    SYN_AGAIN,
    OTHER,
    LATE,
    COPY,
    FIN_AGAIN,
) = range(len(KINDS))
"""The positions in KINDS."""

_MILLISECOND = 1_000_000
_SHORTEST_TIMER = 10 * _MILLISECOND
"""No retransmission timer is taken to be shorter."""
_TIMER_UNMEASURED = 200 * _MILLISECOND
"""The same if no round trip was measured."""
_PROBE_DELAY = 210 * _MILLISECOND
"""A tail loss probe waits so long beyond two round trips.

It waits for a peer that delays its ACK (RFC 8985, 7.2); the rest is slack.
"""
_OVERTAKEN = 3 * _MILLISECOND
"""An overtaken packet takes so long at most, if no round trip is known."""
_REMEMBERED = 64
"""Retransmissions and gaps that are remembered."""


def later(stamp: int, other_stamp: int) -> bool:
    """Whether a timestamp of 32 bit is later than another (RFC 7323, section 5.2)."""
    return 0 < (stamp - other_stamp) % 2**32 < 2**31


@dataclass(slots=True)
class Retransmission:
    """One retransmission.

    An echo may show that it was needless, or a duplicate report may name it.
    """

    first: int
    end: int
    bytes: int
    kind: int
    row: int
    timestamp: int | None
    needless: bool = False
    reported: bool = False


@dataclass(frozen=True, slots=True)
class SequenceGap:
    """Bytes from `left` to `right` that were passed over by a packet at `time` with `timestamp`."""

    left: int
    right: int
    time: int
    timestamp: int | None
    packets: int
    """Segments with payload before that packet."""


@dataclass(frozen=True, slots=True)
class SenderSituation:
    """What is known of the sender when it repeats a segment."""

    now: int
    first: int
    end: int
    next: int
    """The end of all that was sent, and what is acknowledged since when."""
    acknowledged: int
    acknowledged_time: int
    last_received: int
    sent: int
    """When this segment was sent last, and how often it was retransmitted before."""
    again: int
    sack: bool
    """Whether both sides permit SACK, and the end of the highest block."""
    sacked_top: int
    duplicates: int
    size: int
    """Bytes that one segment holds at most, and the smoothed round trip if one was measured."""
    rtt: int | None

    def timer(self) -> int:
        return _TIMER_UNMEASURED if self.rtt is None else max(2 * self.rtt, _SHORTEST_TIMER)

    def passed(self) -> int:
        return self.now - max(self.sent, self.acknowledged_time)

    def sign(self) -> bool:
        few = self.next - self.acknowledged < 4 * self.size
        return (
            self.sacked_top > self.first or self.duplicates >= 3 or (few and self.duplicates >= 1)
        )

    def prompted(self) -> bool:
        """Whether an ACK that just came explains a repetition better than a timer does.

        Without SACK no ACK tells the sender that a retransmission was lost.
        """
        soon = _MILLISECOND if self.rtt is None else self.rtt >> 3
        acknowledged = self.sacked_top > self.first or (self.again == 0 and self.sign())
        return acknowledged and self.now - self.last_received < soon

    def head(self) -> bool:
        return self.first <= self.acknowledged

    def by_tail_probe(self, probed: int) -> bool:
        waited = (_TIMER_UNMEASURED if self.rtt is None else 2 * self.rtt) + _PROBE_DELAY
        last = self.end == self.next and self.again == 0 and self.next > probed
        return (
            self.sack and last and not self.sign() and (not self.head() or self.passed() <= waited)
        )

    def by_timer(self) -> bool:
        return self.head() and self.passed() >= self.timer() and not self.prompted()


class LossRecovery:
    """The recovery of one direction from losses.

    Repairs go on until `recover` is acknowledged; a tail loss probe stands for all up to `probed`.
    """

    def __init__(self) -> None:
        self.recover = self.probed = self.episode_end = self.episodes = 0
        self.by_timer = False
        self.resent: list[Retransmission] = []
        self.gaps: list[SequenceGap] = []
        self.reordered = self.reordering_packets = self.reordering_bytes = self.reordering_time = 0

    def classify(self, situation: SenderSituation) -> int:
        """The kind of a repetition by the sender, and what follows from it for the next ones."""
        chosen = self._chosen(situation, situation.acknowledged < self.recover)
        if situation.acknowledged >= self.episode_end:
            self.episodes += 1
            self.episode_end = situation.next
        return chosen

    def _chosen(self, situation: SenderSituation, repairing: bool) -> int:
        if situation.by_tail_probe(self.probed):
            self.probed = situation.next
            return TLP
        if situation.by_timer():
            self.recover, self.by_timer = situation.next, True
            return RTO
        if repairing and self.by_timer:
            return RTO
        if not (situation.sign() or repairing):
            return OTHER
        if not repairing:
            self.recover, self.by_timer = situation.next, False
        return SACK if situation.sack else FAST

    def remember(self, resent: Retransmission) -> None:
        if len(self.resent) == _REMEMBERED:
            del self.resent[0]
        self.resent.append(resent)

    def reported(self, left: int, right: int) -> Retransmission | None:
        """The newest retransmission that a duplicate report names: the peer had these bytes before.

        Each is named once. None too if an echo showed the same before.
        """
        for resent in reversed(self.resent):
            if not resent.reported and resent.first < right and resent.end > left:
                known_before, resent.reported, resent.needless = resent.needless, True, True
                return None if known_before else resent
        return None

    def echoed(self, left: int, echo: int) -> list[Retransmission]:
        """The retransmissions that an ACK shows to be needless.

        They are those of the first byte that it newly covers, with timestamps later than its echo:
        an earlier transmission arrived. Of the bytes behind it a delayed ACK tells nothing (RFC
        7323, 4.3).
        """
        retransmissions = []
        for resent in self.resent:
            covered = resent.first <= left < resent.end and not resent.needless
            if covered and resent.timestamp is not None and later(resent.timestamp, echo):
                resent.needless = True
                retransmissions.append(resent)
        return retransmissions

    def open(self, gap: SequenceGap) -> None:
        if len(self.gaps) == _REMEMBERED:
            del self.gaps[0]
        self.gaps.append(gap)

    def fill(
        self,
        first: int,
        end: int,
        now: int,
        timestamp: int | None,
        next: int,
        packets: int,
        rtt: int | None,
    ) -> None:
        """Takes a packet that fills bytes passed over before.

        It was overtaken, or retransmitted after a loss that was not seen.
        """
        gap = self._filled(first, end)
        if gap is None:
            return
        passed = max(now - gap.time, 0)
        if timestamp is not None and gap.timestamp is not None and timestamp != gap.timestamp:
            older = not later(timestamp, gap.timestamp)
        else:
            older = passed < (_OVERTAKEN if rtt is None else rtt - rtt // 4)
        if older:
            self.reordered += 1
            self.reordering_packets = max(self.reordering_packets, packets - gap.packets)
            self.reordering_bytes = max(self.reordering_bytes, next - first)
            self.reordering_time = max(self.reordering_time, passed)

    def _filled(self, first: int, end: int) -> SequenceGap | None:
        """The gap that these bytes touch, as it was; it becomes smaller, or goes."""
        at = next(
            (at for at, gap in enumerate(self.gaps) if first < gap.right and end > gap.left), None
        )
        if at is None:
            return None
        gap = self.gaps[at]
        if first <= gap.left and end >= gap.right:
            del self.gaps[at]
        elif first <= gap.left:
            self.gaps[at] = replace(gap, left=end)
        elif end >= gap.right:
            self.gaps[at] = replace(gap, right=first)
        return gap
