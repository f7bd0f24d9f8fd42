//! The beginnings of new connections of the same ends, and late segments of the old ones.

use crate::connection::Connection;
use crate::direction::Direction;
use crate::segment::{Segment, ACK, RST, SYN};

/// tcptrace takes the ends for new after this pause.
const PAUSE: i64 = 240_000_000_000;
/// A number this far above a SYN's is of its connection, however much of that the capture lacks.
const NEAR: u32 = 1 << 20;

/// Of a connection only the SYNs of a were seen, with this number: b may still speak of an older
/// one.
#[derive(Clone, Copy)]
pub struct Opening {
    number: u32,
    /// The older connection's place, if one is known.
    pub before: Option<u32>,
}

impl Opening {
    pub fn new(segment: &Segment, before: Option<u32>) -> Option<Opening> {
        let opens = segment.flags & (SYN | ACK) == SYN;
        opens.then_some(Opening { number: segment.sequence, before })
    }

    /// Whether a segment without SYN is of the older connection: what a sends does not go on from
    /// its SYN, or b's ACK is not of it. A reset alone is no sign of an older one, and only b
    /// speaks of one that nobody saw.
    pub fn passes(&self, segment: &Segment, forward: bool) -> bool {
        let number = if forward { segment.sequence } else { segment.acknowledgement };
        let tells = forward || segment.flags & ACK != 0;
        let known = self.before.is_some() || (!forward && segment.flags & RST == 0);
        tells && known && number.wrapping_sub(self.number) >= NEAR
    }
}

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

/// Ours: a SYN with another number than this direction's begins a new connection, a SYN-ACK only
/// after a close.
fn begins(segment: &Segment, this: &Direction, other: &Direction) -> bool {
    let resets = this.believed_resets() + other.believed_resets();
    let closed = this.fins + other.fins + resets > 0;
    let another = this.known && segment.sequence != this.origin;
    another && (closed || segment.flags & ACK == 0)
}

/// tcptrace's three rules: a pause of four minutes; a SYN beyond the window after a close; a third
/// SYN that differs.
fn tcptrace_begins(
    connection: &Connection,
    segment: &Segment,
    this: &Direction,
    other: &Direction,
) -> bool {
    if segment.time - connection.last_time > PAUSE {
        return true;
    }
    if segment.flags & SYN == 0 {
        return false;
    }
    let closed = this.fins + other.fins + this.resets + other.resets > 0;
    let outside =
        u64::from(segment.sequence) > other.window_end || segment.sequence < this.syn_number;
    (closed && outside) || (this.syns > 1 && this.syn_number != segment.sequence)
}
