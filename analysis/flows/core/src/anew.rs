//! When the same ends begin another connection.

use crate::connection::Connection;
use crate::direction::Direction;
use crate::segment::{Segment, ACK, SYN};

/// tcptrace takes the ends for new after this pause.
const PAUSE: i64 = 240_000_000_000;

impl Connection {
    /// Whether `segment` belongs to another connection of the same ends.
    pub fn ended_before(&self, segment: &Segment, forward: bool, compatible: bool) -> bool {
        let (this, other) = if forward { (&self.a, &self.b) } else { (&self.b, &self.a) };
        if compatible {
            tcptrace_begins(self, segment, this, other)
        } else {
            segment.flags & SYN != 0 && begins(segment, this, other)
        }
    }
}

/// Ours: a SYN with another number than this direction's begins a new connection, a SYN-ACK only after a close.
fn begins(segment: &Segment, this: &Direction, other: &Direction) -> bool {
    let closed = this.fins + other.fins + this.resets + other.resets > 0;
    let another = this.known && segment.sequence != this.origin;
    another && (closed || segment.flags & ACK == 0)
}

/// tcptrace's three rules: a pause of four minutes; a SYN beyond the window after a close; a third SYN that differs.
fn tcptrace_begins(connection: &Connection, segment: &Segment, this: &Direction, other: &Direction) -> bool {
    if segment.time - connection.last_time > PAUSE {
        return true;
    }
    if segment.flags & SYN == 0 {
        return false;
    }
    let closed = this.fins + other.fins + this.resets + other.resets > 0;
    let outside = u64::from(segment.sequence) > other.window_end || segment.sequence < this.syn_number;
    (closed && outside) || (this.syns > 1 && this.syn_number != segment.sequence)
}
