//! One connection: what each of its segments changes. The order of the steps is tcptrace's, on which its figures rest.

use crate::acks::{acknowledge, used};
use crate::counting::{count, options, outstanding, payload, windows};
use crate::direction::{kind, Direction};
use crate::rows::{Row, Rows};
use crate::scoreboard::Added;
use crate::segment::{Segment, ACK, RST, SYN};
use crate::sending::{advance, classify, transmit};

/// Where the capture was taken, as the handshake tells.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Vantage {
    #[default]
    Unknown,
    A,
    B,
    Middle,
}

/// One half of the handshake must take this many times the other for the capture to be at an end.
const NEARER: i64 = 5;

pub struct Connection {
    pub first_time: i64,
    pub last_time: i64,
    pub a: Direction,
    pub b: Direction,
    pub vantage: Vantage,
    /// When the last SYN and the last SYN-ACK passed, and the handshake's halves.
    pub syn_time: Option<i64>,
    pub syn_ack_time: Option<i64>,
    pub outer: Option<i64>,
    pub inner: Option<i64>,
}

/// What the caller knows of the run.
pub struct Place<'a> {
    pub number: u64,
    pub connection: u32,
    pub compatible: bool,
    pub rows: Option<&'a mut Rows>,
}

/// A segment's numbers made relative, and what the steps find out on the way.
pub struct Step {
    pub now: i64,
    pub first: i64,
    pub end: i64,
    pub ack: Option<i64>,
    pub window: u64,
    pub payload: i64,
    pub probe: bool,
    pub copy: bool,
    pub added: Added,
    pub repeated: bool,
    pub sacks: [(i64, i64); 4],
    pub dsack: bool,
    pub rtt: Option<i64>,
    pub kind: u8,
}

impl Connection {
    pub fn new(time: i64) -> Connection {
        let mut connection = Connection {
            first_time: time,
            last_time: time,
            a: Direction::default(),
            b: Direction::default(),
            vantage: Vantage::Unknown,
            syn_time: None,
            syn_ack_time: None,
            outer: None,
            inner: None,
        };
        connection.a.usage.since = time;
        connection.b.usage.since = time;
        connection
    }

    #[inline]
    pub fn segment(&mut self, segment: &Segment, forward: bool, place: &mut Place) {
        let now = segment.time;
        self.last_time = now;
        self.handshake(segment, forward);
        let receiver = self.vantage == if forward { Vantage::B } else { Vantage::A };
        let trip = self.outer.map(|outer| outer + self.inner.unwrap_or(0));
        let (this, other) = if forward { (&mut self.a, &mut self.b) } else { (&mut self.b, &mut self.a) };
        this.usage.advance(now);
        other.usage.advance(now);
        let mut step = numbers(segment, this, other);
        count(segment, this, other, &step);
        options(segment, this, other, &mut step);
        payload(segment, this, &mut step);
        transmit(segment, this, other, &mut step, place.compatible);
        step.kind = classify(segment, this, other, &step, receiver, trip, place);
        advance(segment, this, &step);
        if step.ack.is_some() {
            acknowledge(segment, this, other, &mut step, place);
        }
        if segment.flags & RST == 0 {
            windows(segment, this, other, &step);
            outstanding(segment, this, other, &step, place.compatible);
        } else if step.ack.is_some() {
            this.acks += 1;
        }
        used(this, other);
        used(other, this);
        if let Some(rows) = place.rows.as_deref_mut() {
            rows.push(segment, &row(segment, &step, forward, this.in_flight(), (place.number, place.connection)));
        }
    }

    /// tcptrace takes a direction for idle until the file's last packet, whosever it is.
    pub fn idle_until(&mut self, last: i64) {
        for direction in [&mut self.a, &mut self.b] {
            let since = direction.last_time.unwrap_or(last);
            direction.longest_pause = direction.longest_pause.max(last - last.rem_euclid(1000) - since);
        }
    }

    /// Where the capture was taken: the two halves of the handshake are its round trips to either end.
    #[inline(always)]
    fn handshake(&mut self, segment: &Segment, forward: bool) {
        if self.inner.is_some() {
            return;
        }
        match (segment.flags & (SYN | ACK), forward) {
            (SYN, true) => self.syn_time = Some(segment.time),
            (flags, false) if flags == SYN | ACK && self.syn_time.is_some() => {
                self.syn_ack_time = Some(segment.time);
                self.outer = self.syn_time.map(|time| (segment.time - time).max(0));
            }
            (ACK, true) => {
                self.inner = self.syn_ack_time.map(|time| (segment.time - time).max(0));
                if let (Some(outer), Some(inner)) = (self.outer, self.inner) {
                    self.vantage = vantage(outer, inner);
                    self.a.smoothed.add(outer + inner);
                    self.b.smoothed.add(outer + inner);
                }
            }
            _ => {}
        }
    }
}

fn row<'a>(segment: &Segment, step: &'a Step, forward: bool, in_flight: i64, place: (u64, u32)) -> Row<'a> {
    Row {
        number: place.0,
        connection: place.1,
        forward,
        sequence: step.first,
        acknowledgement: step.ack,
        window: if segment.flags & (ACK | SYN) != 0 { step.window } else { u64::from(segment.window) },
        sacks: &step.sacks[..usize::from(segment.options.block_count)],
        dsack: step.dsack,
        kind: step.kind,
        in_flight,
        rtt: step.rtt,
    }
}

fn vantage(outer: i64, inner: i64) -> Vantage {
    match (inner.saturating_mul(NEARER) <= outer, outer.saturating_mul(NEARER) <= inner) {
        (true, true) => Vantage::Unknown,
        (true, false) => Vantage::A,
        (false, true) => Vantage::B,
        (false, false) => Vantage::Middle,
    }
}

#[inline(always)]
fn numbers(segment: &Segment, this: &mut Direction, other: &mut Direction) -> Step {
    let flags = segment.flags;
    this.begin(if flags & SYN != 0 { segment.sequence } else { segment.sequence.wrapping_sub(1) });
    let ack = if flags & ACK != 0 {
        other.begin(segment.acknowledgement.wrapping_sub(1));
        Some(other.relative(segment.acknowledgement))
    } else {
        None
    };
    let first = this.relative(segment.sequence);
    let payload = i64::from(segment.payload);
    let scaled = this.scaled && other.scaled && flags & SYN == 0;
    let window = u64::from(segment.window) << if scaled { this.scale } else { 0 };
    Step {
        now: segment.time,
        first,
        end: first + payload,
        ack,
        window: if flags & (ACK | SYN) != 0 { window } else { 0 },
        payload,
        probe: false,
        copy: false,
        added: Added::default(),
        repeated: false,
        sacks: [(0, 0); 4],
        dsack: false,
        rtt: None,
        kind: kind::NONE,
    }
}
