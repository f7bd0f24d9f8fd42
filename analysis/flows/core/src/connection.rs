//! One connection: what each of its segments changes. The order of the steps is tcptrace's, on which its figures rest.

use crate::direction::{kind, Direction, Usage};
use crate::losses::{Gap, Resent, Situation};
use crate::rows::{Row, Rows};
use crate::scoreboard::{Acked, Added, Worth};
use crate::segment::{Ends, Segment, ACK, CWR, ECE, FIN, PSH, RST, SYN, URG};

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
const TIMESTAMPS: usize = 512;

pub struct Connection {
    pub ends: Ends,
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
struct Step {
    now: i64,
    first: i64,
    end: i64,
    ack: Option<i64>,
    window: u64,
    payload: i64,
    probe: bool,
    copy: bool,
    added: Added,
    repeated: bool,
    sacks: [(i64, i64); 4],
    dsack: bool,
    rtt: Option<i64>,
    kind: u8,
}

impl Connection {
    pub fn new(ends: Ends, time: i64) -> Connection {
        let mut connection = Connection {
            ends,
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
            let count = usize::from(segment.options.block_count);
            rows.push(
                segment,
                &Row {
                    number: place.number,
                    connection: place.connection,
                    forward,
                    sequence: step.first,
                    acknowledgement: step.ack,
                    window: if segment.flags & (ACK | SYN) != 0 { step.window } else { u64::from(segment.window) },
                    sacks: &step.sacks[..count],
                    dsack: step.dsack,
                    kind: step.kind,
                    in_flight: this.in_flight(),
                    rtt: step.rtt,
                },
            );
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

#[inline(always)]
fn count(segment: &Segment, this: &mut Direction, other: &mut Direction, step: &Step) {
    let flags = segment.flags;
    this.packets += 1;
    if let Some(last) = this.last_time {
        this.longest_pause = this.longest_pause.max(step.now - last);
    }
    this.last_time = Some(step.now);
    if flags & (SYN | FIN | RST) != 0 {
        this.syns += u32::from(flags & SYN != 0);
        this.fins += u32::from(flags & FIN != 0);
        this.resets += u32::from(flags & RST != 0);
        if flags & SYN != 0 {
            this.syn_number = segment.sequence;
            other.last_ack = Some(step.first);
        }
        if flags & FIN != 0 {
            this.fin_end = Some(step.end);
        }
    }
    if flags & ACK != 0 {
        this.window_end = u64::from(segment.acknowledgement) + step.window;
    }
    this.latest_end = step.end;
    if segment.ecn != 0 || flags & (ECE | CWR) != 0 {
        let established = flags & SYN == 0;
        let rare = this.rare();
        rare.ect1 += u64::from(segment.ecn == 1);
        rare.ect0 += u64::from(segment.ecn == 2);
        rare.ce += u64::from(segment.ecn == 3);
        rare.ece += u64::from(established && flags & ECE != 0);
        rare.cwr += u64::from(established && flags & CWR != 0);
    }
}

#[inline(always)]
fn options(segment: &Segment, this: &mut Direction, other: &mut Direction, step: &mut Step) {
    let options = &segment.options;
    if segment.flags & SYN != 0 {
        this.mss = options.mss.unwrap_or(this.mss);
        this.sack_permitted |= options.sack_permitted;
        if let Some(scale) = options.scale {
            (this.scale, this.scaled) = (scale, true);
        }
    } else if !this.scaled || !other.scaled {
        (this.scale, other.scale) = (0, 0);
    }
    if let Some((value, echo)) = options.timestamps {
        this.timestamped = true;
        timestamps(segment, this, other, value, echo);
    }
    if options.block_count > 0 {
        this.rare().sacks_sent += 1;
        for (relative, block) in step.sacks.iter_mut().zip(options.sacks()) {
            *relative = (other.relative(block.0), other.relative(block.1));
        }
        let ((left, right), second) = (step.sacks[0], step.sacks[1]);
        let inside = options.block_count > 1 && left >= second.0 && right <= second.1;
        step.dsack = step.ack.map_or(false, |ack| right <= ack) || inside;
    }
}

/// The first echo of a value is matched with its first packet that needs an answer.
#[inline(always)]
fn timestamps(segment: &Segment, this: &mut Direction, other: &mut Direction, value: u32, echo: u32) {
    let later = this.timestamps.back().map_or(true, |last| (value.wrapping_sub(last.0) as i32) > 0);
    if later && (segment.payload > 0 || segment.flags & SYN != 0) {
        if this.timestamps.len() == TIMESTAMPS {
            this.timestamps.pop_front();
        }
        this.timestamps.push_back((value, segment.time));
    }
    if segment.flags & ACK == 0 {
        return;
    }
    while let Some((sent, time)) = other.timestamps.front().copied() {
        let ahead = sent.wrapping_sub(echo) as i32;
        if ahead > 0 {
            return;
        }
        other.timestamps.pop_front();
        if ahead == 0 {
            other.rtts().timestamps.add((segment.time - time).max(0));
        }
    }
}

#[inline(always)]
fn payload(segment: &Segment, this: &mut Direction, step: &mut Step) {
    if let Some(id) = segment.ip_id {
        step.copy = duplicate(this, u64::from(segment.sequence) << 16 | u64::from(id));
    }
    if segment.payload == 0 {
        return;
    }
    this.data_packets += 1;
    this.pushed += u64::from(segment.flags & PSH != 0);
    this.data_bytes += u64::from(segment.payload);
    if segment.flags & URG != 0 {
        let rare = this.rare();
        rare.urgent_packets += 1;
        rare.urgent_bytes += u64::from(segment.urgent);
    }
    this.largest = this.largest.max(segment.payload);
    if this.smallest == 0 || segment.payload < this.smallest {
        this.smallest = segment.payload;
    }
    this.first_data.get_or_insert(step.now);
    this.last_data = step.now;
    if segment.missing > 0 {
        this.truncated_bytes += u64::from(segment.missing);
        this.truncated_packets += 1;
    }
}

/// Same sequence number and identification as one of the eight remembered, neither being 0.
#[inline(always)]
fn duplicate(this: &mut Direction, key: u64) -> bool {
    if this.duplicate_keys.contains(&key) && key >> 16 != 0 && key & 0xffff != 0 {
        this.rare().hardware_duplicates += 1;
        return true;
    }
    this.duplicate_keys[usize::from(this.duplicate_slot)] = key;
    this.duplicate_slot = (this.duplicate_slot + 1) & 7;
    false
}

/// The segment enters the scoreboard; what it repeats is counted as tcptrace does.
#[inline(always)]
fn transmit(segment: &Segment, this: &mut Direction, other: &Direction, step: &mut Step, compatible: bool) {
    let (syn, fin) = (i64::from(segment.flags & SYN != 0), i64::from(segment.flags & FIN != 0));
    let length = step.payload + syn + fin;
    if length == 0 {
        return;
    }
    if other.last_window == 0 && other.packets > 0 && syn == 0 {
        step.probe = true;
        let rare = this.rare();
        rare.probe_packets += 1;
        rare.probe_bytes += step.payload as u64;
        return;
    }
    let rare = &mut this.rare;
    step.added = this.board.add(step.first, step.first + length, step.now, other.packets == 0, &mut |time, again| {
        let rare = rare.get_or_insert_with(Default::default);
        rare.most_again = rare.most_again.max(again);
        rare.retransmission_times.add(time, compatible);
    });
    let mut again = step.added.again;
    if again > 0 || step.added.out_of_order {
        let rare = this.rare();
        rare.out_of_order += u64::from(step.added.out_of_order);
        if again > 0 {
            rare.repeated_packets += 1;
            rare.repeated_bytes += again as u64;
            step.repeated = true;
        }
    }
    again -= i64::from(syn == 1 && this.syns > 1) + i64::from(fin == 1 && this.fins > 1);
    this.unique_bytes += (step.payload - again).max(0) as u64;
}

#[inline(always)]
fn classify(
    segment: &Segment,
    this: &mut Direction,
    other: &Direction,
    step: &Step,
    receiver: bool,
    trip: Option<i64>,
    place: &Place,
) -> u8 {
    let flags = segment.flags;
    if step.payload == 0 && flags & (SYN | FIN) == 0 {
        return if flags & RST != 0 { kind::NONE } else { empty(this, other, step) };
    }
    if flags & SYN != 0 {
        let first = if step.payload > 0 { kind::NEW } else { kind::NONE };
        return again_or(this, this.syns > 1, kind::SYN, first);
    }
    if step.payload == 0 {
        return again_or(this, this.fins > 1, kind::FIN, kind::NONE);
    }
    if step.first >= this.next && !(other.advertises_zero && step.end > this.acknowledged) {
        if step.first > this.next && this.next > 0 {
            let (left, right) = (this.next, step.first);
            let timestamp = segment.options.timestamps.map(|pair| pair.0);
            let packets = this.data_packets - 1;
            this.rare().losses.open(Gap { left, right, time: step.now, timestamp, packets });
        }
        return kind::NEW;
    }
    repetition(segment, this, other, step, receiver, trip, place)
}

fn again_or(this: &mut Direction, again: bool, repeated: u8, first: u8) -> u8 {
    if again {
        this.rare().kinds[usize::from(repeated)] += 1;
    }
    if again {
        repeated
    } else {
        first
    }
}

/// A segment without payload: does it ask for an answer?
#[inline(always)]
fn empty(this: &mut Direction, other: &Direction, step: &Step) -> u8 {
    if step.first >= this.next || step.first < 1 {
        return kind::NONE;
    }
    let chosen = if other.advertises_zero && step.first == this.acknowledged - 1 {
        kind::PROBE
    } else if step.first == this.next - 1 && this.acknowledged >= this.next && this.fins == 0 {
        kind::KEEPALIVE
    } else {
        return kind::NONE;
    };
    this.rare().kinds[usize::from(chosen)] += 1;
    chosen
}

/// A segment with payload that does not simply go on where the last one ended.
fn repetition(
    segment: &Segment,
    this: &mut Direction,
    other: &Direction,
    step: &Step,
    receiver: bool,
    trip: Option<i64>,
    place: &Place,
) -> u8 {
    let again = step.added.again.min(step.payload);
    let keepalive = step.payload == 1 && step.end == this.next && this.acknowledged >= this.next;
    let timestamp = segment.options.timestamps.map(|pair| pair.0);
    let chosen = if keepalive {
        kind::KEEPALIVE
    } else if step.probe || (other.advertises_zero && step.end > this.acknowledged) {
        kind::PROBE
    } else if again == 0 {
        let (next, packets) = (this.next, this.data_packets - 1);
        this.rare().losses.fill(step.first, step.end, step.now, timestamp, (next, packets, trip));
        kind::LATE
    } else if receiver || step.copy {
        kind::COPY
    } else {
        let about = situation(this, other, step);
        this.rare().losses.classify(&about)
    };
    let rare = this.rare();
    rare.kinds[usize::from(chosen)] += 1;
    rare.kind_bytes[usize::from(chosen)] += again as u64;
    if matches!(chosen, kind::FAST | kind::SACK | kind::RTO | kind::TLP | kind::OTHER) {
        let row = place.rows.as_deref().map_or(0, |rows| rows.count);
        rare.losses.remember(Resent { first: step.first, end: step.end, bytes: again, kind: chosen, row, timestamp });
    }
    chosen
}

fn situation(this: &Direction, other: &Direction, step: &Step) -> Situation {
    let (sent, again, _) = step.added.earlier.unwrap_or((step.now, 0, false));
    Situation {
        now: step.now,
        first: step.first,
        end: step.end,
        next: this.next,
        acknowledged: this.acknowledged.max(1),
        acknowledged_time: this.acknowledged_time,
        last_received: this.last_received,
        sent,
        again,
        sack: this.sack_permitted && other.sack_permitted,
        sacked_top: this.sacked.top(),
        duplicates: this.duplicates,
        size: i64::from(this.segment_size(other)).max(1),
        rtt: if this.smoothed.known { Some((this.smoothed.mean, this.smoothed.variation)) } else { None },
    }
}

/// The end of what was sent moves on; a probe into a closed window does not move it.
#[inline(always)]
fn advance(segment: &Segment, this: &mut Direction, step: &Step) {
    if step.payload == 0 && segment.flags & (SYN | FIN) == 0 {
        if this.next == 0 {
            this.next = step.first;
            this.data_end = step.first.max(1);
            this.reference = this.reference.max(step.first);
        }
        return;
    }
    if step.kind == kind::PROBE {
        return;
    }
    let flags = i64::from(segment.flags & SYN != 0) + i64::from(segment.flags & FIN != 0);
    this.next = this.next.max(step.end + flags);
    this.reference = this.reference.max(this.next);
    if step.payload > 0 {
        let end = step.end + i64::from(segment.flags & SYN != 0);
        if end > this.data_end {
            this.data_end = end;
            this.short = i64::from(this.largest) > step.payload;
        }
    }
}

/// What the ACK that this segment carries means for what `other` has sent.
#[inline(always)]
fn acknowledge(segment: &Segment, this: &mut Direction, other: &mut Direction, step: &mut Step, place: &mut Place) {
    let ack = step.ack.unwrap_or(0);
    let compatible = place.compatible;
    let duplicate =
        this.last_ack == Some(ack) && step.payload == 0 && step.window == this.last_window && other.owin_sum > 0;
    let Direction { board, rtts, rare, cumulatively, last_sample, .. } = other;
    let sample = board.acknowledge(ack, step.now, duplicate, &mut |told| match told {
        Acked::Exactly { time, size, worth: Worth::Sample } => {
            *last_sample = time;
            let rtts = rtts.get_or_insert_with(Default::default);
            rtts.all.add(time, compatible);
            // tcptrace computes 2^32 for the size of a segment of one, such as a SYN.
            let size = if compatible && size == 1 { 1 << 32 } else { size };
            if size > rtts.full_size {
                (rtts.full_size, rtts.full) = (size, Default::default());
            }
            if size == rtts.full_size {
                rtts.full.add(time, compatible);
            }
        }
        Acked::Exactly { time, worth, .. } => {
            *last_sample = 0;
            let rare = rare.get_or_insert_with(Default::default);
            if worth == Worth::AfterLoss {
                rare.after_loss += 1;
            } else {
                rare.ambiguous += 1;
                rare.last_times.add(time, compatible);
            }
        }
        Acked::Cumulatively => *cumulatively += 1,
        Acked::Again(times) => {
            let rare = rare.get_or_insert_with(Default::default);
            rare.duplicate_acks += 1;
            rare.triple_duplicates += u64::from(times == 4);
        }
    });
    if other.syns == 1 && ack == other.relative(other.syn_number) + 1 {
        other.handshake_sample = other.last_sample;
    }
    if segment.flags & RST != 0 {
        return;
    }
    if let Some(time) = sample {
        step.rtt = Some(time);
        other.smoothed.add(time);
        let rtts = other.rtts();
        rtts.ours.add(time, false);
        rtts.histogram.add(time);
    }
    proceed(segment, this, other, step, ack, place);
}

/// The peer's ACK and SACK move what `other` knows to have arrived.
#[inline(always)]
fn proceed(segment: &Segment, this: &Direction, other: &mut Direction, step: &Step, ack: i64, place: &mut Place) {
    let before = other.acknowledged;
    other.last_received = step.now;
    if ack > before && ack - other.reference < 1 << 30 {
        other.acknowledged = ack;
        other.acknowledged_time = step.now;
        other.duplicates = 0;
        other.reference = other.reference.max(ack);
        if before < other.data_end {
            other.data_acknowledged_time = step.now;
        }
        if !other.sacked.is_empty() {
            other.sacked.acknowledge(ack);
        }
        if other.rare.is_some() {
            echoed(segment, other, before, ack, place);
        }
    } else if ack == before && step.payload == 0 && segment.flags & (SYN | FIN) == 0 && other.data_end > ack {
        let same = step.window == this.last_window || segment.options.block_count > 0;
        other.duplicates += u32::from(same);
    }
    let count = usize::from(segment.options.block_count);
    for (index, (left, right)) in step.sacks[..count].iter().copied().enumerate() {
        if index == 0 && step.dsack {
            let needless = other.rare().losses.reported(left, right);
            needless.into_iter().for_each(|resent| spurious(other, resent, place));
            continue;
        }
        let (left, right) = (left.max(other.acknowledged), right.min(other.data_end));
        if left < right {
            other.sacked.add(left, right);
        }
    }
}

fn echoed(segment: &Segment, other: &mut Direction, before: i64, ack: i64, place: &mut Place) {
    if let Some((_, echo)) = segment.options.timestamps {
        for resent in other.rare().losses.echoed(before, ack, echo) {
            spurious(other, resent, place);
        }
    }
}

fn spurious(other: &mut Direction, resent: Resent, place: &mut Place) {
    let rare = other.rare();
    for (slot, one) in [(usize::from(resent.kind), u64::MAX), (usize::from(kind::SPURIOUS), 1)] {
        rare.kinds[slot] = rare.kinds[slot].wrapping_add(one);
        rare.kind_bytes[slot] = rare.kind_bytes[slot].wrapping_add(one.wrapping_mul(resent.bytes as u64));
    }
    if let Some(rows) = place.rows.as_deref_mut() {
        rows.change_kind(resent.row, kind::SPURIOUS);
    }
}

/// Windows, ACK counts and SACK counts of a segment without RST.
#[inline(always)]
fn windows(segment: &Segment, this: &mut Direction, other: &mut Direction, step: &Step) {
    let flags = segment.flags;
    let window = step.window;
    this.last_window = window;
    if flags & (ACK | SYN) != 0 {
        let scaled = this.scaled && other.scaled && flags & SYN == 0;
        if window > 0 && scaled && !this.window_restarted {
            this.window_restarted = true;
            (this.window_min, this.window_max) = (window, window);
            (this.window_sum, this.window_count) = (0, 0);
        } else if window > 0 && (this.window_min == 0 || window < this.window_min) {
            this.window_min = window;
        }
        this.window_max = this.window_max.max(window);
        this.window_sum += window;
        this.window_count += 1;
    }
    if let Some(ack) = step.ack {
        this.acks += 1;
        this.pure_acks += u64::from(step.payload == 0 && flags & (SYN | FIN) == 0);
        this.last_ack = Some(ack);
        other.edge = Some(other.edge.unwrap_or(0).max(ack + window as i64));
        zero_window(this, step.now, window == 0);
        if segment.options.block_count > 0 {
            let rare = this.rare();
            rare.sack_packets += 1;
            rare.dsacks += u64::from(step.dsack);
            rare.most_blocks = rare.most_blocks.max(segment.options.block_count);
        }
    }
}

#[inline(always)]
fn zero_window(this: &mut Direction, now: i64, zero: bool) {
    if !zero && !this.advertises_zero {
        return;
    }
    this.advertises_zero = zero;
    let rare = this.rare();
    rare.zero_windows += u64::from(zero);
    match (rare.zero_window_since, zero) {
        (None, true) => rare.zero_window_since = Some(now),
        (Some(since), false) => {
            rare.zero_window_time += (now - since).max(0);
            rare.zero_window_since = None;
        }
        _ => {}
    }
}

/// The initial window and tcptrace's outstanding window.
#[inline(always)]
fn outstanding(segment: &Segment, this: &mut Direction, other: &mut Direction, step: &Step, compatible: bool) {
    let syn = segment.flags & SYN != 0;
    if let Some(ack) = step.ack {
        if !other.data_acked && (other.syns == 0 || ack != 1) {
            other.data_acked = true;
        }
    }
    if step.payload > 0 && !this.data_acked && !step.repeated {
        this.initial_bytes += step.payload as u64;
        this.initial_packets += 1;
    }
    if syn || step.added.out_of_order || step.repeated {
        return;
    }
    let owin = match other.last_ack {
        None => step.payload,
        Some(ack) => (step.end - (ack - 1)).max(0),
    };
    this.owin_max = this.owin_max.max(owin);
    if owin > 0 && (this.owin_min == 0 || owin < this.owin_min) {
        this.owin_min = owin;
    }
    this.owin_sum += owin as u128;
    this.owin_count += 1;
    if this.owin_count > 1 {
        let passed = (step.now - this.owin_since).max(0);
        this.owin_weighted += weight(this.owin_last, passed, compatible);
    }
    (this.owin_since, this.owin_last) = (step.now, owin);
}

/// Bytes times nanoseconds; tcptrace sums whole bytes times seconds.
#[inline(always)]
fn weight(owin: i64, passed: i64, compatible: bool) -> u128 {
    if compatible {
        (owin as f64 * ((passed / 1000) as f64 / 1_000_000.0)) as u128
    } else {
        owin as u128 * passed as u128
    }
}

/// Sets what is in flight and what limits the sender from now on.
#[inline(always)]
fn used(this: &mut Direction, other: &Direction) {
    if this.first_data.is_none() {
        return;
    }
    let flight = this.in_flight();
    let open = this.edge.map_or(i64::MAX, |edge| edge - this.data_end);
    let usage: &mut Usage = &mut this.usage;
    usage.flight = flight;
    usage.most = usage.most.max(flight);
    if usage.began.is_none() {
        usage.began = this.first_data;
    }
    usage.state = if this.fins > 0 || this.resets > 0 || other.resets > 0 {
        0
    } else if open < i64::from(this.largest) && (flight > 0 || other.advertises_zero) {
        1
    } else if flight == 0 || this.short {
        3
    } else {
        2
    };
}
