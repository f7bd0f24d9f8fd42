"""The steps for what a segment acknowledges.

Samples of the round trip, SACK, needless retransmissions, and bytes in flight.
"""

from __future__ import annotations

from analysis.flows.plain.direction import (
    APPLICATION,
    IDLE,
    NETWORK,
    NOTHING,
    RECEIVER,
    SenderState,
)
from analysis.flows.plain.losses import SPURIOUS, Retransmission
from analysis.flows.plain.segment import FIN, RST, SYN
from analysis.flows.plain.step import SegmentStep

_FARTHEST = 1 << 30
"""An ACK is not believed that is further above all that was sent."""
_TURN = 1 << 32


def acknowledge(step: SegmentStep, this: SenderState, other: SenderState) -> None:
    """What the ACK that this segment carries means for what `other` has sent."""
    ack = step.ack or 0
    duplicate = (
        this.last_ack == ack
        and not step.payload
        and step.window == this.last_window
        and other.owin_sum > 0
    )
    sample = other.board.acknowledge(ack, step.now, duplicate, other)
    if step.acknowledgement == (other.syn_number + 1) % _TURN and other.syns == 1:
        _handshake(ack, other)
    if step.flags & RST:
        return
    if sample is not None:
        _sample(step, sample, this, other)
    _proceed(step, ack, this, other)


def _handshake(ack: int, other: SenderState) -> None:
    if ack == other.relative(other.syn_number) + 1:
        other.handshake_sample = other.last_sample


def _sample(step: SegmentStep, time: int, this: SenderState, other: SenderState) -> None:
    step.rtt = time
    # Timestamps tell more: they time retransmissions too.
    if not (this.timestamped and other.timestamped):
        other.smooth(time)
    other.rtts.ours.add(time)
    other.rtts.histogram.add(time)


def _proceed(step: SegmentStep, ack: int, this: SenderState, other: SenderState) -> None:
    """The peer's ACK and SACK move what `other` knows to have arrived."""
    before = other.acknowledged
    other.last_received = step.now
    if ack > before and ack - other.reference < _FARTHEST:
        other.acknowledged, other.acknowledged_time, other.duplicates = ack, step.now, 0
        if ack > other.reference:
            other.reference = ack
        if before < other.data_end:
            other.data_acknowledged_time = step.now
        if other.sacked.list:
            other.sacked.acknowledge(ack)
        if other.some_rare is not None and step.value >= 0:
            for resent in other.rare.losses.echoed(max(before, 1), step.echo):
                _spurious(step, other, resent)
    elif (
        ack == before and not step.payload and not step.flags & (SYN | FIN) and other.data_end > ack
    ):
        other.duplicates += step.window == this.last_window or bool(step.blocks)
    if step.sacks:
        _selectively(step, other)


def _selectively(step: SegmentStep, other: SenderState) -> None:
    for index, (left, right) in enumerate(step.sacks):
        if index == 0 and step.dsack:
            resent = other.rare.losses.reported(left, right)
            if resent is not None:
                _spurious(step, other, resent)
            continue
        left, right = max(left, other.acknowledged), min(right, other.data_end)
        if left < right:
            other.sacked.add(left, right)


def _spurious(step: SegmentStep, other: SenderState, resent: Retransmission) -> None:
    rare = other.rare
    for slot, change in ((resent.kind, -1), (SPURIOUS, 1)):
        rare.kinds[slot] += change
        rare.kind_bytes[slot] += change * resent.bytes
    if step.kinds is not None:
        step.kinds[resent.row] = SPURIOUS


def used(this: SenderState, other: SenderState, sends: bool) -> None:
    """Sets what is in flight and what limits the sender from now on."""
    if this.first_data is None:
        return
    flight, usage = this.in_flight(), this.usage
    usage.flight = flight
    if flight > usage.most:
        usage.most = flight
    if usage.began is None:
        usage.began = this.first_data
    usage.state = _limit(this, other, flight, sends)


def _limit(this: SenderState, other: SenderState, flight: int, sends: bool) -> int:
    if this.fins or this.resets or other.resets:
        return NOTHING
    is_closed = this.offer.room(this.acknowledged) <= 0
    if flight > 0 and not is_closed and this.repairs():
        return NETWORK
    least, was_held = this.segment_size(other), this.usage.state == RECEIVER
    if was_held and not sends:
        least = max(least, this.offer.third())
    waits = flight > 0 or was_held or is_closed
    if waits and this.offer.room(this.data_end) < least:
        return RECEIVER
    if flight == 0:
        return IDLE
    return APPLICATION if this.short else NETWORK
