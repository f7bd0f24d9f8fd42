//! Turns of a conversation: how long an end takes to answer, and waits for delayed ACKs.

use crate::direction::Direction;
use crate::rtt_samples::{bucket, Histogram, Samples};

const MILLISECOND: i64 = 1_000_000;
/// An ACK that waits longer was delayed by its receiver (RFC 9293, section 3.8.6.3).
const DELAYED: i64 = 30 * MILLISECOND;
/// A sender that waited for it goes on within this time.
const AT_ONCE: i64 = 5 * MILLISECOND;

/// Times from the last data of the other end to the answer, both at this end.
#[derive(Default)]
pub struct Answers {
    pub times: Samples,
    pub histogram: Histogram,
    /// The packet that began the slowest one.
    pub slowest: u32,
}

/// Waits of a segment for the delayed ACK of a short one before (RFC 896, and RFC 1122, section
/// 4.2.3.2).
#[derive(Default)]
pub struct DelayedAckWaits {
    pub count: u64,
    pub time: i64,
    pub first: u32,
    pub last: u32,
}

/// The round trips from the capture to a sender and to its receiver.
#[derive(Clone, Copy)]
pub struct Trips {
    pub to_sender: i64,
    pub to_receiver: i64,
}

/// Counts the first data after the other end's.
#[cold]
#[inline(never)]
pub fn answer(this: &mut Direction, other: &Direction, now: i64, trips: Trips, packet: u32) {
    let wait = (now - other.last_data - trips.to_sender).max(0);
    let answers = &mut this.rare().answers;
    if wait > answers.times.max {
        answers.slowest = packet;
    }
    answers.times.add(wait, false);
    answers.histogram.add(bucket(wait), 1);
}

/// Counts data behind a short segment, if it waited for that one's ACK, and this was delayed.
#[inline(never)]
pub fn after_short(this: &mut Direction, other: &Direction, now: i64, trips: Trips, packet: u32) {
    let acknowledged = this.data_acknowledged_time;
    let delay = acknowledged - this.last_data - trips.to_receiver;
    let after = now - acknowledged - trips.to_sender;
    let is_delayed = delay >= DELAYED && this.acknowledged >= this.data_end;
    if is_delayed && other.last_data < this.last_data && after.abs() < AT_ONCE {
        let waits = &mut this.rare().delayed_acks;
        waits.count += 1;
        waits.time += delay;
        waits.first = if waits.first == 0 { packet } else { waits.first };
        waits.last = packet;
    }
}
