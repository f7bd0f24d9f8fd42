//! Copies: packets that a mirror port or a second interface shows once more. Nothing but their
//! number is counted, so that a capture has the figures of one without them.

use crate::direction::Direction;
use crate::handshake::Handshake;
use crate::segment::{Segment, FIN, RST, SYN};
use crate::step::Step;
use crate::tcp_options::RareFields;

/// A sender repeats a segment after a round trip at the earliest. What comes sooner than this part
/// of it is a copy, however much round trips vary.
const PART: i64 = 8;
/// No round trip is shorter, in nanoseconds.
const SHORTEST: i64 = 10_000;
/// SYNs come before any round trip is known; no timer of theirs is shorter.
const SHORTEST_OF_SYN: i64 = 10_000_000;
/// ACKs of different segments are further apart: 1,500 bytes take so long at 120 Mbit/s, and faster
/// receivers report what arrived (SACK).
const SHORTEST_OF_ACKS: i64 = 100_000;
/// Whether the segment is a copy; if it is none, it is remembered.
#[inline(always)]
pub fn is_copy(
    segment: &Segment,
    rare: &RareFields,
    this: &mut Direction,
    other: &Direction,
    step: &Step,
    (handshake, forward): (&Handshake, bool),
) -> bool {
    let (mark, id) = (mark(segment, rare, step.flags), segment.ip_id.unwrap_or(0));
    let takes = i64::from(step.flags & SYN != 0) + i64::from(step.flags & FIN != 0);
    let has_length = step.end + takes > step.first;
    // Nearly all packets send or acknowledge something new.
    let is_new =
        if has_length { step.end + takes > this.next } else { step.ack > this.last_ack.get() };
    if !is_new {
        let is_recent = alike(&this.recent_ids, id) && this.has_recent(mark, id);
        let is_identified = is_recent && id != 0 && this.tells_apart(mark, id);
        let place = (handshake, forward);
        if is_identified
            || (is_recent || has_length)
                && is_too_soon(segment, this, other, *step, is_recent, place)
        {
            return true;
        }
    }
    this.remember_recent(mark, id);
    false
}

/// Of a packet whose identification tells nothing: whether no sender repeats it so soon. It takes a
/// copy of the step, for one that is lent is no set of registers and constants any more.
#[cold]
#[inline(never)]
fn is_too_soon(
    segment: &Segment,
    this: &Direction,
    other: &Direction,
    step: Step,
    is_recent: bool,
    (handshake, forward): (&Handshake, bool),
) -> bool {
    let takes = i64::from(step.flags & SYN != 0) + i64::from(step.flags & FIN != 0);
    let since_last = this.last_time.get().map_or(i64::MAX, |last| step.now - last);
    let shortest = shortest(this, handshake, forward);
    if step.flags & SYN != 0 {
        return is_recent && since_last < SHORTEST_OF_SYN;
    }
    if step.payload + takes == 0 {
        // With SACK, ACKs that answer different segments differ.
        let sack = this.sack_permitted && other.sack_permitted;
        let is_soon = since_last < shortest.min(SHORTEST_OF_ACKS);
        return is_recent && sack && step.flags & RST == 0 && is_soon;
    }
    match this.board.sent_at(step.first, step.end + takes) {
        Some(sent) => (is_recent || !is_stamped_anew(segment, this)) && step.now - sent < shortest,
        None => is_recent && since_last < shortest,
    }
}

/// What is sent again carries the clock of then.
fn is_stamped_anew(segment: &Segment, this: &Direction) -> bool {
    let stamp = segment.timestamps().map(|stamps| stamps.0);
    this.timestamped && stamp.map_or(false, |value| this.stamps.is_newer(value))
}

/// The shortest time after which a sender may repeat a segment. At the receiver an ACK follows its
/// data at once, so that only the handshake tells of the round trip.
fn shortest(this: &Direction, handshake: &Handshake, forward: bool) -> i64 {
    let smoothed = this.smoothed.mean().filter(|_| !handshake.at_receiver(forward));
    let trips = [handshake.trip(), smoothed];
    trips.iter().flatten().min().map_or(SHORTEST, |trip| (trip / PART).max(SHORTEST))
}

/// What tells a packet from others of its direction that send and acknowledge as much: few steps,
/// for each packet has one.
#[inline(always)]
fn mark(segment: &Segment, rare: &RareFields, flags: u16) -> u32 {
    let stamp = segment.timestamps().map_or(0, |stamps| stamps.0);
    let numbers = segment.sequence.wrapping_add(segment.acknowledgement);
    let rest = (u32::from(segment.window) ^ segment.payload) << 16 ^ u32::from(flags) ^ stamp << 8;
    let block = |mark: u32, block: &(u32, u32)| (mark ^ block.0).rotate_left(5) ^ block.1;
    rare.sacks().iter().fold(numbers.wrapping_add(rest), block)
}

/// Whether one of these is `id`. Compiles to a comparison of all at once.
#[inline(always)]
fn alike(known: &[u16; 8], id: u16) -> bool {
    let mut same = [0u16; 8];
    for (same, known) in same.iter_mut().zip(known) {
        *same = u16::from(*known == id);
    }
    same.iter().fold(0, |any, same| any | same) != 0
}

impl Direction {
    /// tcptrace's rule: same sequence number and identification as one of the eight remembered,
    /// neither being 0.
    pub fn is_hardware_duplicate(&mut self, number: u32, id: u16) -> bool {
        let is_known = number != 0 && id != 0 && self.has_recent(number, id);
        if !is_known {
            self.remember_recent(number, id);
        }
        is_known
    }

    #[inline(always)]
    fn has_recent(&self, mark: u32, id: u16) -> bool {
        self.recent_marks.iter().zip(&self.recent_ids).any(|known| known == (&mark, &id))
    }

    /// Whether identifications differ: those of packets that must not be fragmented may all be the
    /// same (RFC 6864, section 4.1).
    #[cold]
    fn tells_apart(&self, mark: u32, id: u16) -> bool {
        let mut others = self.recent_marks.iter().zip(&self.recent_ids);
        let mut known = others.clone().filter(|(_, known)| **known != 0);
        !others.any(|(its, known)| *known == id && *its != mark) && known.any(|(_, its)| *its != id)
    }

    #[inline(always)]
    fn remember_recent(&mut self, mark: u32, id: u16) {
        self.recent_marks[usize::from(self.recent_slot)] = mark;
        self.recent_ids[usize::from(self.recent_slot)] = id;
        self.recent_slot = (self.recent_slot + 1) & 7;
    }
}
