"""The beginnings of new connections of the same ends, and late segments of the old ones."""

from __future__ import annotations

from dataclasses import dataclass

from analysis.flows.plain.connection import Connection
from analysis.flows.plain.direction import SenderState
from analysis.flows.plain.segment import ACK, RST, SYN
from analysis.flows.plain.step import SegmentStep

_PAUSE = 240_000_000_000
"""tcptrace takes the ends for new after this pause, in ns."""
_NEAR = 1 << 20
"""A number this far above a SYN's is of its connection, however much of that the capture lacks."""
_TURN = 1 << 32


@dataclass(slots=True)
class UnansweredOpening:
    """A connection of which only the SYNs of a were seen, with this number.

    b may still speak of an older connection.
    """

    number: int
    before: Connection | None
    """The older connection, if one is known."""

    def passes(self, step: SegmentStep, forward: bool) -> bool:
        """Whether a segment without SYN is of the older connection.

        What a sends does not go on from its SYN, or b's ACK is not of it. A reset alone is no sign
        of an older one, and only b speaks of one that nobody saw.
        """
        number = step.sequence if forward else step.acknowledgement
        tells = forward or step.flags & ACK != 0
        is_older_known = self.before is not None or not (forward or step.flags & RST)
        return tells and is_older_known and (number - self.number) % _TURN >= _NEAR


def opening(step: SegmentStep, before: Connection | None) -> UnansweredOpening | None:
    return UnansweredOpening(step.sequence, before) if step.flags & (SYN | ACK) == SYN else None


def ended_before(
    step: SegmentStep, connection: Connection, forward: bool, compatible: bool
) -> bool:
    """Whether the segment belongs to another connection of the same ends."""
    this, other = (connection.a, connection.b) if forward else (connection.b, connection.a)
    if compatible:
        return _tcptrace_begins(step, connection.last_time, this, other)
    return step.flags & SYN != 0 and _begins(step, this, other)


def _closed(this: SenderState, other: SenderState) -> bool:
    return this.fins + other.fins + this.resets + other.resets > 0


def _begins(step: SegmentStep, this: SenderState, other: SenderState) -> bool:
    """Our rules for the SYN of a new connection.

    A SYN with another number than this direction's begins one, a SYN-ACK only after a close.
    """
    another = this.has_begun and step.sequence != this.origin
    return another and (_closed(this, other) or not step.flags & ACK)


def _tcptrace_begins(
    step: SegmentStep, last_time: int, this: SenderState, other: SenderState
) -> bool:
    """tcptrace's rules for a new connection.

    A pause of four minutes; a SYN beyond the window after a close; a third SYN that differs.
    """
    if step.now - last_time > _PAUSE:
        return True
    if not step.flags & SYN:
        return False
    outside = step.sequence > other.window_end or step.sequence < this.syn_number
    return (_closed(this, other) and outside) or (
        this.syns > 1 and this.syn_number != step.sequence
    )
