//! What limits a sender that is far from the capture.
//!
//! The capture sees an ACK before the sender does, and data after it was sent. What it sees now
//! answers what passed it one round trip to the sender ago (Zhang, Breslau, Paxson and Shenker, On
//! the Characteristics and Origins of Internet Flow Rates, SIGCOMM 2002, section 4). So time is cut
//! into rounds of that length, and each is judged by the ACK with which it began.

use crate::direction::Direction;
use crate::rtt_samples::{bucket, Histogram};
use crate::usage::limit;

/// No round ends.
pub const NEVER: i64 = i64::MAX;
const MILLISECOND: i64 = 1_000_000;
/// A shorter way to the sender makes no difference.
const SHORTEST: i64 = MILLISECOND;
/// The way to the sender must be at least this part of the whole round trip.
const PART: i64 = 4;
/// Clocks of timestamps that are believed to tick each millisecond are ahead by less than a part of
/// the time, and behind by less than another, as a queue that grows delays packets, too. Clocks of
/// 10 or 4 ms, the others that are usual, are behind by 90 and 75 %.
const AHEAD: i64 = 10;
const BEHIND: i64 = 3;

/// Rounds of one direction.
#[derive(Clone, Default)]
pub struct Rounds {
    /// From the capture to the sender and back.
    trip: i64,
    mark: i64,
    /// The end of the window at the mark.
    edge: Option<i64>,
    packet: u32,
    stamps: SenderClock,
    /// How long the sender waited for a timer.
    pub timeouts: i64,
    pub queueing: Histogram,
}

/// Delays on the way from the sender by its timestamps, if those count milliseconds.
#[derive(Clone, Default)]
struct SenderClock {
    first: Option<(u32, i64)>,
    passed: i64,
    ticks: i64,
    least: i64,
}

impl SenderClock {
    /// Nanoseconds above the least delay so far.
    fn delay(&mut self, stamp: u32, now: i64) -> Option<i64> {
        let (stamp_then, then) = *self.first.get_or_insert((stamp, now));
        self.passed = now - then;
        self.ticks = i64::from(stamp.wrapping_sub(stamp_then) as i32) * MILLISECOND;
        let delay = self.passed - self.ticks;
        self.least = self.least.min(delay);
        self.is_believed().then_some(delay - self.least)
    }

    fn is_believed(&self) -> bool {
        let behind = self.passed - self.ticks;
        let is_slow = behind >= self.passed / BEHIND + 200 * MILLISECOND;
        !is_slow && -behind < self.passed / AHEAD + 200 * MILLISECOND
    }
}

impl Rounds {
    /// The delay of a packet that was not the last before a gap.
    pub fn delay(&mut self, stamp: u32, now: i64) -> Option<i64> {
        self.stamps.delay(stamp, now)
    }

    pub fn trip(&self) -> i64 {
        self.trip
    }
}

/// Begins rounds if the sender is far by its part of the whole round trip.
pub fn begin(this: &mut Direction, trip: i64, whole: i64, now: i64) {
    if trip >= SHORTEST && trip * PART > whole {
        this.rounds = Some(Box::new(Rounds { trip, mark: now, ..Rounds::default() }));
        this.usage.due = now + trip;
    }
}

/// Judges the round that ends with a packet that is still to be counted. `stamp` is the packet's,
/// if it carries data of this sender.
pub fn pass(this: &mut Direction, size: i64, now: i64, packet: u32, stamp: Option<u32>) {
    let mut rounds = match this.rounds.take() {
        Some(rounds) => rounds,
        None => return,
    };
    if let Some(delay) = stamp.and_then(|stamp| rounds.stamps.delay(stamp, now)) {
        rounds.queueing.add(bucket(delay), 1);
    }
    if this.largest > 0 {
        let packets = (rounds.packet, packet);
        let answered = (this.last_data + rounds.trip).max(rounds.mark).min(now);
        let is_pause = now - answered > rounds.trip / 2;
        let busy_end = if is_pause { answered } else { now };
        this.limited.add(busy(this, &rounds, size), (rounds.mark, busy_end), packets);
        if is_pause {
            let state = pause(this, size);
            this.limited.add(state, (answered, now), packets);
            rounds.timeouts += if state == limit::NETWORK { now - answered } else { 0 };
        }
    }
    (rounds.mark, rounds.edge, rounds.packet) = (now, this.offer.edge(), packet);
    this.usage.due = now + rounds.trip;
    this.rounds = Some(rounds);
}

/// The limit while data came.
fn busy(this: &Direction, rounds: &Rounds, size: i64) -> u8 {
    let least = (2 * size).max(this.offer.third() / 3);
    let is_reached = rounds.edge.map_or(false, |edge| edge - this.data_end < least);
    let is_full = is_reached && !this.offer.is_passed(this.acknowledged, this.data_end, least);
    if this.has_ended {
        limit::NONE
    } else if this.has_hole() || this.repairs() {
        limit::NETWORK
    } else if is_full {
        limit::RECEIVER
    } else if this.short {
        limit::APPLICATION
    } else {
        limit::NETWORK
    }
}

/// The limit while no data came for longer than the round trip. After a full segment there was
/// more to send: the sender waits for a timer.
fn pause(this: &Direction, size: i64) -> u8 {
    if this.has_ended {
        limit::NONE
    } else if this.has_hole() || this.repairs() {
        limit::NETWORK
    } else if this.offer.is_full(this.acknowledged, this.data_end, size) {
        limit::RECEIVER
    } else if !this.short {
        limit::NETWORK
    } else {
        limit::IDLE
    }
}
