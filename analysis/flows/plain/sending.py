"""The steps for what a segment sends: its place in the scoreboard, and its kind."""

from __future__ import annotations

from typing import Protocol

from analysis.flows.plain.direction import SenderState
from analysis.flows.plain.losses import (
    COPY,
    FAST,
    FIN_AGAIN,
    KEEPALIVE,
    LATE,
    NEW,
    NONE,
    OTHER,
    PROBE,
    RTO,
    SACK,
    SYN_AGAIN,
    TLP,
    Retransmission,
    SenderSituation,
    SequenceGap,
)
from analysis.flows.plain.segment import FIN, PSH, RST, SYN
from analysis.flows.plain.step import SegmentStep

_RETRANSMITTED = (FAST, SACK, RTO, TLP, OTHER)


class Vantage(Protocol):
    """The place of the capture."""

    def at_receiver(self, forward: bool) -> bool:
        """Whether the capture was taken at the segment's receiver."""

    def trip(self) -> int | None:
        """The handshake's round trip."""


def transmit(step: SegmentStep, this: SenderState, other: SenderState) -> None:
    """The segment enters the scoreboard; what it repeats is counted as tcptrace does."""
    syn, fin = step.flags & SYN != 0, step.flags & FIN != 0
    length = step.payload + syn + fin
    if not length:
        return
    if not other.last_window and other.packets and not syn:
        step.probe = True
        this.rare.probe_packets += 1
        this.rare.probe_bytes += step.payload
        return
    added = step.added = this.board.add(
        step.first, step.first + length, step.now, other.packets == 0, this
    )
    again = added.again
    if again or added.out_of_order:
        _repeats(step, this)
    again -= (syn and this.syns > 1) + (fin and this.fins > 1)
    if step.payload > again:
        this.unique_bytes += step.payload - again


def _repeats(step: SegmentStep, this: SenderState) -> None:
    rare = this.rare
    rare.out_of_order += step.added.out_of_order
    if step.added.again:
        rare.repeated_packets += 1
        rare.repeated_bytes += step.added.again
        step.repeated = True


def classify(
    step: SegmentStep, this: SenderState, other: SenderState, vantage: Vantage, forward: bool
) -> int:
    """The kind of the segment."""
    flags = step.flags
    if not step.payload and not flags & (SYN | FIN):
        return NONE if flags & RST else _empty(step, this, other)
    if flags & SYN:
        return _again_or(step, this, this.syns > 1, SYN_AGAIN, NEW if step.payload else NONE)
    if not step.payload:
        _gap(step, this)
        return _again_or(step, this, this.fins > 1, FIN_AGAIN, NONE)
    if step.first >= this.next and not (other.advertises_zero and step.end > this.acknowledged):
        _gap(step, this)
        return NEW
    return _repetition(step, this, other, vantage, forward)


def _gap(step: SegmentStep, this: SenderState) -> None:
    """Remembers the gap that a segment leaves, if it leaves one."""
    if step.first > this.next > 0:
        packets = max(this.data_packets - 1, 0)
        gap = SequenceGap(this.next, step.first, step.now, step.timestamp(), packets)
        this.rare.losses.open(gap)


def _again_or(step: SegmentStep, this: SenderState, again: bool, repeated: int, first: int) -> int:
    """Of a SYN or FIN."""
    if not again:
        return first
    chosen = COPY if step.copy else repeated
    this.rare.kinds[chosen] += 1
    return chosen


def _empty(step: SegmentStep, this: SenderState, other: SenderState) -> int:
    """A segment without payload: does it ask for an answer?"""
    # What is acknowledged was sent, though the capture may lack it.
    end = max(this.next, this.acknowledged)
    if not 0 <= step.first < end:
        return NONE
    if other.advertises_zero and step.first == this.acknowledged - 1:
        chosen = PROBE
    elif step.first == end - 1 and this.acknowledged >= end and this.fins == 0:
        chosen = KEEPALIVE
    else:
        return NONE
    this.rare.kinds[chosen] += 1
    return chosen


def _repetition(
    step: SegmentStep, this: SenderState, other: SenderState, vantage: Vantage, forward: bool
) -> int:
    """A segment with payload that does not simply continue the last one."""
    again, rare = min(step.added.again, step.payload), this.rare
    if step.payload == 1 and step.end == this.next and this.acknowledged >= this.next:
        chosen = KEEPALIVE
    elif step.probe or (other.advertises_zero and step.end > this.acknowledged):
        chosen = PROBE
    elif again == 0:
        packets, trip = this.data_packets - 1, vantage.trip()
        rare.losses.fill(step.first, step.end, step.now, step.timestamp(), this.next, packets, trip)
        chosen = LATE
    elif step.copy or vantage.at_receiver(forward):
        chosen = COPY
    else:
        chosen = rare.losses.classify(_situation(step, this, other))
    rare.kinds[chosen] += 1
    rare.kind_bytes[chosen] += again
    if chosen in _RETRANSMITTED:
        row = 0 if step.kinds is None else len(step.kinds)
        rare.losses.remember(
            Retransmission(step.first, step.end, again, chosen, row, step.timestamp())
        )
    return chosen


def _situation(step: SegmentStep, this: SenderState, other: SenderState) -> SenderSituation:
    sent, again = step.added.earlier or (step.now, 0)
    return SenderSituation(
        now=step.now,
        first=step.first,
        end=step.end,
        next=this.next,
        acknowledged=max(this.acknowledged, 1),
        acknowledged_time=this.acknowledged_time,
        last_received=this.last_received,
        sent=sent,
        again=again,
        sack=this.sack_permitted and other.sack_permitted,
        sacked_top=this.sacked.top(),
        duplicates=this.duplicates,
        size=max(this.segment_size(other), 1),
        rtt=this.smoothed,
    )


def advance(step: SegmentStep, this: SenderState, other: SenderState) -> None:
    """The end of what was sent moves on; a probe into a closed window does not move it."""
    marks = step.flags & (SYN | FIN)
    if not step.payload and not marks:
        if this.next == 0:
            this.next, this.data_end = step.first, max(step.first, 1)
            this.reference = max(this.reference, step.first)
        return
    if step.kind == PROBE:
        return
    data_end = step.end + (marks & SYN != 0)
    end = data_end + (marks & FIN)
    if end > this.next:
        this.next = end
    if this.next > this.reference:
        this.reference = this.next
    if step.payload and data_end > this.data_end:
        this.data_end = data_end
        this.short = this.is_short(step.payload, step.flags & PSH != 0, other)
