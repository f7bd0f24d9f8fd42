//! One connection: what each of its segments changes. The order of the steps is tcptrace's, on
//! which its figures rest.

use crate::acks::{acknowledge, used};
use crate::copies::is_copy;
use crate::counting::{agree, count, options, outstanding, payload, windows};
use crate::direction::{self, Direction};
use crate::handshake::{vantage, Handshake};
use crate::kind;
use crate::packet_rows::Row;
use crate::prefetch::fetch_lines;
use crate::scoreboard::SegmentRepetition;
use crate::segment::{Segment, ACK, EARLIER, ELSEWHERE, PSH, RST, SEEN_TWICE, SYN};
use crate::sender_view::{self, NEVER};
use crate::sending::{advance, classify, transmit};
use crate::step::{Place, Sacks, Step};
use crate::tcp_options::{RareFields, NO_RARE_FIELDS};
use crate::turns::{after_short, answer, Trips};
use crate::usage::Usage;

/// What all packets need first, so that they find it in one place.
#[repr(C)]
pub struct Connection {
    pub first_time: i64,
    pub last_time: i64,
    /// The latest time so far: bytes in flight are weighed by a clock that never goes back.
    pub clock: i64,
    /// When the next round of either direction ends (see `sender_view`).
    due: i64,
    /// The number of the latest packet.
    pub last_packet: u64,
    /// Who sent the latest data: 1 for a, 2 for b.
    speaker: u8,
    /// Whether the latest segment had SYN: scales may still be agreed on.
    is_opening: bool,
    /// Whether an ACK stands behind data that it released, with the same time.
    pub ties: bool,
    pub handshake: Handshake,
    pub a: Direction,
    pub b: Direction,
}

impl Connection {
    /// With `keeps_limits` the intervals of each limit are kept.
    pub fn new(time: i64, keeps_limits: bool) -> Connection {
        let mut connection = Connection {
            first_time: time,
            last_time: time,
            clock: time,
            due: NEVER,
            last_packet: 0,
            speaker: 0,
            is_opening: false,
            ties: false,
            handshake: Handshake::default(),
            a: Direction::default(),
            b: Direction::default(),
        };
        for direction in [&mut connection.a, &mut connection.b] {
            direction.usage = Usage::since(time);
            direction.limited.history = keeps_limits.then(Box::default);
        }
        connection
    }

    /// Fetches what a segment needs, with or without data, but for lists.
    #[inline(always)]
    pub fn fetch(&self, forward: bool, has_data: bool) {
        let (this, other) = if forward { (&self.a, &self.b) } else { (&self.b, &self.a) };
        fetch_lines(self, 0..1);
        fetch_lines(this, direction::OF_ITS_PACKETS);
        fetch_lines(other, direction::OF_BOTH);
        fetch_lines(if has_data { this } else { other }, direction::OF_DATA);
    }

    /// Fetches what it needs of lists: data goes to their end, an ACK takes from their front.
    #[inline(always)]
    pub fn fetch_lists(&self, forward: bool, has_data: bool) {
        let (this, other) = if forward { (&self.a, &self.b) } else { (&self.b, &self.a) };
        if has_data {
            this.board.list.fetch_end();
            this.stamps.list.fetch_end();
        } else {
            other.board.list.fetch_front();
            other.stamps.list.fetch_front();
        }
    }

    #[inline(always)]
    pub fn segment(&mut self, segment: &Segment, rare: &RareFields, forward: bool, place: Place) {
        let is_plain = segment.flags & !PSH == ACK && !segment.is_rare;
        if is_plain && !place.compatible && place.rows.is_none() {
            self.plain(segment, forward, place.number);
        } else {
            self.any(segment, rare, forward, place);
        }
    }

    /// Nearly all segments are plain: ACK and perhaps PSH, and no options but timestamps. What only
    /// others, rows and tcptrace's definitions need is not compiled into their copy of the steps.
    #[inline(never)]
    fn plain(&mut self, segment: &Segment, forward: bool, number: u64) {
        let place = Place { number, connection: 0, compatible: false, rows: None };
        self.steps(segment, &NO_RARE_FIELDS, ACK, forward, place);
    }

    #[inline(never)]
    fn any(&mut self, segment: &Segment, rare: &RareFields, forward: bool, place: Place) {
        if segment.flags & EARLIER != 0 {
            return self.agree_earlier(segment, rare, forward);
        }
        if segment.flags & (SEEN_TWICE | ELSEWHERE) != 0 {
            return self.not_here(segment, forward, place);
        }
        self.steps(segment, rare, segment.flags & !PSH, forward, place);
    }

    #[inline(always)]
    fn steps(
        &mut self,
        segment: &Segment,
        rare: &RareFields,
        flags: u16,
        forward: bool,
        mut place: Place,
    ) {
        let (this, other) =
            if forward { (&mut self.a, &mut self.b) } else { (&mut self.b, &mut self.a) };
        let mut step = numbers(segment, flags, this, other);
        let handshake = (&self.handshake, forward);
        if !place.compatible && is_copy(segment, rare, this, other, &step, handshake) {
            self.copy(segment, step, forward, place);
            return;
        }
        let now = segment.time;
        if now >= self.due {
            self.pass_rounds(segment, forward, place.number as u32);
        }
        if step.payload > 0 {
            self.take_turn(forward, now, place.number as u32);
        }
        self.last_packet = place.number;
        self.last_time = now;
        self.clock = self.clock.max(now);
        self.shake(segment, flags, forward);
        if flags & SYN != 0 {
            self.is_opening = true;
        } else if self.is_opening {
            self.agreed();
        }
        let (this, other) =
            if forward { (&mut self.a, &mut self.b) } else { (&mut self.b, &mut self.a) };
        if step.payload == 0 && other.last_data == now {
            self.ties |= is_tied(other, &step);
        }
        if flags & (SYN | ACK) == SYN && other.syn_acks > 0 && this.syns == 0 {
            // Its answer stands before it.
            let by = other.last_time.get().map_or(0, |last| now - last);
            this.rare().come_late(by.max(0));
        } else if flags & SYN != 0 && this.syns == 0 && this.acknowledged > step.first {
            let by = now - this.acknowledged_time;
            this.rare().come_late(by.max(0));
        }
        count(segment, this, other, &step, place.compatible);
        let sacks = options(segment, rare, this, other, &mut step, place.compatible);
        payload(segment, rare, this, &mut step, place.compatible);
        transmit(this, other, &mut step, place.compatible);
        step.kind = classify(segment, this, other, &step, (&self.handshake, forward), &place);
        advance(this, other, &step, segment.flags & PSH != 0);
        if step.ack.is_some() {
            acknowledge(segment, this, other, &mut step, &sacks, &mut place);
        }
        if flags & RST == 0 {
            windows(rare, this, other, &step);
            outstanding(this, other, &step, place.compatible);
        } else {
            this.without_window += 1;
            this.without_owin += 1;
        }
        used(this, other, self.clock, step.payload > 0, place.number as u32);
        used(other, this, self.clock, false, place.number as u32);
        if let Some(rows) = place.rows {
            let place = (place.number, place.connection, forward);
            let in_flight = (this.in_flight(), other.in_flight());
            rows.push(segment, &row(segment, &step, &sacks, place, in_flight));
        }
    }

    /// Ends the rounds of far senders that are over with this segment.
    #[cold]
    fn pass_rounds(&mut self, segment: &Segment, forward: bool, packet: u32) {
        let now = segment.time;
        let (a, b) = (self.a.segment_size(&self.b), self.b.segment_size(&self.a));
        let has_data = segment.payload > 0;
        for (direction, size, sends) in [(&mut self.a, a, forward), (&mut self.b, b, !forward)] {
            if now >= direction.usage.due {
                let stamp = segment.timestamps().filter(|_| sends && has_data);
                let stamp = stamp.map(|stamps| stamps.0);
                sender_view::pass(direction, size.into(), now, packet, stamp);
            }
        }
        self.due = self.a.usage.due.min(self.b.usage.due);
    }

    /// Data: does it answer the other end, or did it wait for an ACK?
    #[inline(always)]
    fn take_turn(&mut self, forward: bool, now: i64, packet: u32) {
        if self.speaker == 0 {
            self.begin_talk(forward, now);
        }
        let speaker = if forward { 1 } else { 2 };
        let is_answer = self.speaker == 3 - speaker;
        let is_behind_short = if forward { self.a.short } else { self.b.short };
        self.speaker = speaker;
        if is_answer || is_behind_short {
            self.judge_turn(forward, now, packet, is_answer);
        }
    }

    /// The first data: how long did their sender wait, that knew the connection open?
    #[cold]
    fn begin_talk(&mut self, forward: bool, now: i64) {
        let back = if forward { Some(0) } else { self.handshake.outer };
        if let (Some(done), Some(back)) = (self.handshake.done, back) {
            let this = if forward { &mut self.a } else { &mut self.b };
            this.rare().first_wait = Some((now - done - back).max(0));
        }
    }

    #[inline(never)]
    fn judge_turn(&mut self, forward: bool, now: i64, packet: u32, is_answer: bool) {
        let trips = self.trips(forward);
        let (this, other) =
            if forward { (&mut self.a, &mut self.b) } else { (&mut self.b, &mut self.a) };
        if is_answer {
            answer(this, other, now, trips, packet);
        } else {
            after_short(this, other, now, trips, packet);
        }
    }

    fn trips(&self, forward: bool) -> Trips {
        let (inner, outer) = (self.handshake.inner.unwrap_or(0), self.handshake.outer.unwrap_or(0));
        if forward {
            Trips { to_sender: inner, to_receiver: outer }
        } else {
            Trips { to_sender: outer, to_receiver: inner }
        }
    }

    /// A packet that was seen elsewhere: if it was seen where the connection is judged, it is a
    /// copy.
    #[cold]
    fn not_here(&mut self, segment: &Segment, forward: bool, place: Place) {
        let mut segment = *segment;
        let is_copy = segment.flags & SEEN_TWICE != 0;
        segment.flags &= !(SEEN_TWICE | ELSEWHERE);
        let (this, other) =
            if forward { (&mut self.a, &mut self.b) } else { (&mut self.b, &mut self.a) };
        let step = numbers(&segment, segment.flags & !PSH, this, other);
        if is_copy {
            self.copy(&segment, step, forward, place);
        }
    }

    /// A copy of a packet changes nothing but the number of copies.
    #[cold]
    fn copy(&mut self, segment: &Segment, mut step: Step, forward: bool, place: Place) {
        let (this, other) = if forward { (&mut self.a, &self.b) } else { (&mut self.b, &self.a) };
        step.kind = kind::COPY;
        let counters = this.rare();
        counters.kinds[usize::from(kind::COPY)] += 1;
        counters.kind_bytes[usize::from(kind::COPY)] += step.payload as u64;
        counters.mirrored += 1;
        counters.hardware_duplicates += u64::from(segment.ip_id.unwrap_or(0) != 0);
        if let Some(rows) = place.rows {
            let place = (place.number, place.connection, forward);
            rows.add_copy(place.0);
            let in_flight = (this.in_flight(), other.in_flight());
            rows.push(segment, &row(segment, &step, &Sacks::default(), place, in_flight));
        }
    }

    /// Of a SYN before the period only what it asks for counts.
    #[cold]
    fn agree_earlier(&mut self, segment: &Segment, rare: &RareFields, forward: bool) {
        let (this, other) =
            if forward { (&mut self.a, &mut self.b) } else { (&mut self.b, &mut self.a) };
        this.timestamped = segment.is_stamped;
        agree(rare, segment.flags, this, other, false);
        self.is_opening = true;
    }

    /// What was agreed on holds; a scale that only one side asked for does not.
    #[cold]
    fn agreed(&mut self) {
        self.is_opening = false;
        for direction in [&mut self.a, &mut self.b] {
            direction.scale = if direction.scales { direction.scale } else { 0 };
        }
    }

    /// tcptrace takes a direction for idle until the file's last packet, whosever it is.
    pub fn idle_until(&mut self, last: i64) {
        for direction in [&mut self.a, &mut self.b] {
            let since = direction.last_time.get().unwrap_or(last);
            direction.longest_pause =
                direction.longest_pause.max(last - last.rem_euclid(1000) - since);
        }
    }

    /// Where the capture was taken: the two halves of the handshake are its round trips to either
    /// end.
    #[inline(always)]
    fn shake(&mut self, segment: &Segment, flags: u16, forward: bool) {
        let handshake = &mut self.handshake;
        if handshake.inner.is_some() {
            return;
        }
        handshake.crossed |= !forward && flags & (SYN | ACK) == SYN;
        if handshake.crossed {
            return;
        }
        match (flags & (SYN | ACK), forward) {
            (SYN, true) => {
                handshake.first_syn.get_or_insert(segment.time);
                handshake.syn_time = Some(segment.time);
            }
            (flags, false) if flags == SYN | ACK && handshake.syn_time.is_some() => {
                handshake.syn_ack_time = Some(segment.time);
                handshake.outer = handshake.syn_time.map(|time| (segment.time - time).max(0));
            }
            (ACK, true) => {
                handshake.inner = handshake.syn_ack_time.map(|time| (segment.time - time).max(0));
                if let (Some(outer), Some(inner)) = (handshake.outer, handshake.inner) {
                    handshake.done = Some(segment.time);
                    handshake.whole = handshake.first_syn.map(|time| (segment.time - time).max(0));
                    handshake.vantage = vantage(outer, inner);
                    self.a.smoothed.add(outer + inner);
                    self.b.smoothed.add(outer + inner);
                    sender_view::begin(&mut self.a, inner, outer + inner, segment.time);
                    sender_view::begin(&mut self.b, outer, outer + inner, segment.time);
                    self.due = self.a.usage.due.min(self.b.usage.due);
                }
            }
            _ => {}
        }
    }
}

/// Whether an ACK covers all before the data that were sent at the same time.
fn is_tied(other: &Direction, step: &Step) -> bool {
    let rest = other.data_end - step.ack.unwrap_or(other.data_end);
    other.last_data == step.now && rest > 0 && rest <= i64::from(other.largest)
}

fn row<'a>(
    segment: &Segment,
    step: &Step,
    sacks: &'a Sacks,
    place: (u64, u32, bool),
    in_flight: (i64, i64),
) -> Row<'a> {
    Row {
        number: place.0,
        connection: place.1,
        forward: place.2,
        sequence: step.first,
        acknowledgement: step.ack,
        window: u64::from(if step.flags & (ACK | SYN) != 0 {
            step.window
        } else {
            segment.window.into()
        }),
        sacks: sacks.blocks(),
        dsack: step.dsack,
        kind: step.kind,
        in_flight,
        rtt: step.rtt,
    }
}

#[inline(always)]
fn numbers(segment: &Segment, flags: u16, this: &mut Direction, other: &mut Direction) -> Step {
    this.begin(if flags & SYN != 0 { segment.sequence } else { segment.sequence.wrapping_sub(1) });
    let ack = if flags & ACK != 0 {
        other.begin(segment.acknowledgement.wrapping_sub(1));
        Some(other.relative(segment.acknowledgement))
    } else {
        None
    };
    let first = this.relative(segment.sequence);
    let payload = i64::from(segment.payload);
    let scaled = this.scales && flags & SYN == 0;
    let window = u32::from(segment.window) << if scaled { this.scale } else { 0 };
    Step {
        now: segment.time,
        flags,
        first,
        end: first + payload,
        ack,
        window: if flags & (ACK | SYN) != 0 { window } else { 0 },
        payload,
        probe: false,
        copy: false,
        added: SegmentRepetition::default(),
        repeated: false,
        dsack: false,
        rtt: None,
        kind: kind::NONE,
    }
}
