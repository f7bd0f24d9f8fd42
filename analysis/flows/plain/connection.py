"""One connection: what each of its segments changes.

The order of the steps is tcptrace's, on which its figures rest.
"""

from __future__ import annotations

from typing import Literal

from analysis.flows.plain.acks import acknowledge, used
from analysis.flows.plain.counting import count, options, outstanding, payload, windows
from analysis.flows.plain.direction import SenderState, WindowUsage
from analysis.flows.plain.losses import NONE
from analysis.flows.plain.scoreboard import NO_REPETITION
from analysis.flows.plain.segment import ACK, RST, SYN
from analysis.flows.plain.sending import advance, classify, transmit
from analysis.flows.plain.step import SegmentStep

Vantage = Literal["a", "b", "middle", "unknown"]
"""The place of the capture, as the handshake shows it."""
_NEARER = 5
"""One half of the handshake must take this many times the other for the capture to be at an end."""
_MOST = 2**63 - 1


class Connection:
    """A connection, numbered from 1; `ends` are addresses and ports as in its first packet."""

    __slots__ = (
        "a",
        "b",
        "connect_time",
        "ends",
        "first_syn",
        "first_time",
        "inner",
        "last_time",
        "number",
        "outer",
        "syn_ack_time",
        "syn_time",
        "vantage",
    )

    def __init__(self, number: int, ends: bytes, time: int, compatible: bool) -> None:
        self.number, self.ends = number, ends
        self.first_time = self.last_time = time
        self.a, self.b = (SenderState(compatible, WindowUsage(time)) for _ in range(2))
        self.vantage: Vantage = "unknown"
        self.first_syn: int | None = None
        self.syn_time: int | None = None
        """When the last SYN and the last SYN-ACK passed, and the handshake's halves."""
        self.syn_ack_time: int | None = None
        self.outer: int | None = None
        self.inner: int | None = None
        self.connect_time: int | None = None
        """From the first SYN to the ACK of the SYN-ACK."""

    def segment(self, step: SegmentStep, forward: bool) -> None:
        """Takes the next segment; `forward` says that a sent it."""
        now = self.last_time = step.now
        if self.inner is None:
            self._handshake(step, forward)
        this, other = (self.a, self.b) if forward else (self.b, self.a)
        this.usage.advance(now)
        other.usage.advance(now)
        _numbers(step, this, other)
        count(step, this, other)
        options(step, this, other)
        payload(step, this)
        transmit(step, this, other)
        step.kind = classify(step, this, other, self, forward)
        advance(step, this, other)
        if step.ack is not None:
            acknowledge(step, this, other)
        if not step.flags & RST:
            windows(step, this, other)
            outstanding(step, this, other)
        elif step.ack is not None:
            this.acks += 1
        used(this, other, step.payload > 0)
        used(other, this, False)

    def at_receiver(self, forward: bool) -> bool:
        """Whether the capture was taken at the segment's receiver."""
        return self.vantage == ("b" if forward else "a")

    def trip(self) -> int | None:
        """The handshake's round trip."""
        return None if self.outer is None else self.outer + (self.inner or 0)

    def idle_until(self, last: int) -> None:
        """tcptrace takes a direction for idle until the file's last packet, whosever it is."""
        for direction in (self.a, self.b):
            since = last if direction.last_time is None else direction.last_time
            direction.longest_pause = max(direction.longest_pause, last - last % 1000 - since)

    def _handshake(self, step: SegmentStep, forward: bool) -> None:
        """The place of the capture.

        The two halves of the handshake are its round trips to either end.
        """
        flags = step.flags & (SYN | ACK)
        if forward and flags == SYN:
            self.syn_time = step.now
            if self.first_syn is None:
                self.first_syn = step.now
        elif not forward and flags == SYN | ACK and self.syn_time is not None:
            self.syn_ack_time, self.outer = step.now, max(step.now - self.syn_time, 0)
        elif forward and flags == ACK and self.syn_ack_time is not None:
            self.inner = max(step.now - self.syn_ack_time, 0)
            if self.outer is not None and self.first_syn is not None:
                self.connect_time = max(step.now - self.first_syn, 0)
                self.vantage = _vantage(self.outer, self.inner)
                self.a.smooth(self.outer + self.inner)
                self.b.smooth(self.outer + self.inner)


def _vantage(outer: int, inner: int) -> Vantage:
    at_a, at_b = min(inner * _NEARER, _MOST) <= outer, min(outer * _NEARER, _MOST) <= inner
    if at_a == at_b:
        return "unknown" if at_a else "middle"
    return "a" if at_a else "b"


def _numbers(step: SegmentStep, this: SenderState, other: SenderState) -> None:
    """Makes the segment's numbers relative."""
    flags = step.flags
    if not this.has_begun:
        this.begin(step.sequence if flags & SYN else step.sequence - 1)
    if flags & ACK:
        if not other.has_begun:
            other.begin(step.acknowledgement - 1)
        step.ack = other.relative(step.acknowledgement)
    else:
        step.ack = None
    step.first = this.relative(step.sequence)
    step.end = step.first + step.payload
    scaled = this.scales and not flags & SYN
    step.window = (
        (step.window_field << this.scale if scaled else step.window_field)
        if flags & (ACK | SYN)
        else 0
    )
    step.probe = step.copy = step.repeated = step.dsack = False
    step.added, step.sacks, step.rtt, step.kind = NO_REPETITION, (), None, NONE
