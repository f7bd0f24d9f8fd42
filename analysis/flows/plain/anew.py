"""When the same ends begin another connection."""

from __future__ import annotations

from analysis.flows.plain.connection import Connection
from analysis.flows.plain.direction import Direction
from analysis.flows.plain.segment import ACK, SYN
from analysis.flows.plain.step import Step

_PAUSE = 240_000_000_000
"""tcptrace takes the ends for new after this pause, in ns."""


def ended_before(step: Step, connection: Connection, forward: bool, compatible: bool) -> bool:
    """Whether the segment belongs to another connection of the same ends."""
    this, other = (connection.a, connection.b) if forward else (connection.b, connection.a)
    if compatible:
        return _tcptrace_begins(step, connection.last_time, this, other)
    return step.flags & SYN != 0 and _begins(step, this, other)


def _closed(this: Direction, other: Direction) -> bool:
    return this.fins + other.fins + this.resets + other.resets > 0


def _begins(step: Step, this: Direction, other: Direction) -> bool:
    """Ours: a SYN with another number than this direction's begins a new connection, a SYN-ACK only after a close."""
    another = this.known and step.sequence != this.origin
    return another and (_closed(this, other) or not step.flags & ACK)


def _tcptrace_begins(step: Step, last_time: int, this: Direction, other: Direction) -> bool:
    """tcptrace's rules: a pause of four minutes; a SYN beyond the window after a close; a third SYN that differs."""
    if step.now - last_time > _PAUSE:
        return True
    if not step.flags & SYN:
        return False
    outside = step.sequence > other.window_end or step.sequence < this.syn_number
    return (_closed(this, other) and outside) or (this.syns > 1 and this.syn_number != step.sequence)
