//! The steps for what a segment sends: its place in the scoreboard, and its kind.

use crate::direction::{new_counters, Direction};
use crate::handshake::Handshake;
use crate::kind;
use crate::losses::{Retransmission, SenderSituation, SequenceGap};
use crate::segment::{Segment, ACK, FIN, RST, SYN};
use crate::step::{Place, Step};

const MILLISECOND: i64 = 1_000_000;
/// Keep-alives come after seconds without data; a host that is asked for it sends them each second
/// (TCP_KEEPIDLE of Linux).
const SOONEST_KEEPALIVE: i64 = 10 * MILLISECOND;
/// An ACK is delayed by less than half a second (RFC 9293, section 3.8.6.3).
const LONGEST_DELAY: i64 = 500 * MILLISECOND;

/// The segment enters the scoreboard; what it repeats is counted as tcptrace does.
#[inline(always)]
pub fn transmit(this: &mut Direction, other: &Direction, step: &mut Step, compatible: bool) {
    let (syn, fin) = (i64::from(step.flags & SYN != 0), i64::from(step.flags & FIN != 0));
    let length = step.payload + syn + fin;
    if length == 0 {
        return;
    }
    let is_probe = if compatible {
        other.last_window == 0 && other.packets > 0 && syn == 0
    } else {
        // More than a byte was in flight when the window closed.
        other.advertises_zero && length == 1 && step.payload == 1 && step.end > this.acknowledged
    };
    if is_probe {
        step.probe = true;
        let rare = this.rare();
        rare.probe_packets += 1;
        rare.probe_bytes += step.payload as u64;
        this.known_bytes += step.payload;
        return;
    }
    let rare = &mut this.rare;
    let sent = (step.first, step.first + length, step.now);
    step.added = this.board.add(sent, other.packets == 0, |time, again| {
        let rare = rare.get_or_insert_with(new_counters);
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
    if again != 0 {
        this.known_bytes += again.min(step.payload);
    }
}

#[inline(always)]
pub fn classify(
    segment: &Segment,
    this: &mut Direction,
    other: &Direction,
    step: &Step,
    handshake: (&Handshake, bool),
    place: &Place,
) -> u8 {
    let flags = step.flags;
    if step.payload == 0 && flags & (SYN | FIN) == 0 {
        return if flags & RST != 0 { kind::NONE } else { empty(segment, this, other, step) };
    }
    if flags & SYN != 0 {
        let first = if step.payload > 0 { kind::NEW } else { kind::NONE };
        // With crossing SYNs the answer has the number of the SYN.
        let is_answer = flags & ACK != 0;
        let alike = if is_answer { this.syn_acks } else { this.syns - this.syn_acks };
        return again_or(this, step, alike > 1, kind::SYN, first);
    }
    if step.payload == 0 {
        gap(segment, this, step);
        return again_or(this, step, this.fins > 1, kind::FIN, kind::NONE);
    }
    if step.first >= this.next && !step.probe {
        if step.first < this.acknowledged && this.next > 0 {
            behind_ack(this, step);
        }
        gap(segment, this, step);
        return kind::NEW;
    }
    let row = place.rows.as_deref().map_or(0, |rows| rows.count);
    repetition(segment, this, other, *step, handshake, (row, place.number))
}

/// New data whose ACK stands before them in the file.
#[cold]
fn behind_ack(this: &mut Direction, step: &Step) {
    let by = step.now - this.acknowledged_time;
    this.rare().come_late(by);
}

/// Remembers the gap that a segment leaves, if it leaves one.
#[inline(always)]
fn gap(segment: &Segment, this: &mut Direction, step: &Step) {
    if step.first > this.next && this.next > 0 {
        open_gap(segment, this, step.first, step.now);
    }
}

#[cold]
#[inline(never)]
fn open_gap(segment: &Segment, this: &mut Direction, right: i64, time: i64) {
    let left = this.next;
    let timestamp = segment.timestamps().map(|pair| pair.0);
    let packets = this.data_packets.saturating_sub(1);
    let rounds = this.rounds.as_deref_mut();
    let delay = rounds.and_then(|rounds| rounds.delay(timestamp?, time));
    this.rare().losses.open(SequenceGap { left, right, time, timestamp, packets, delay });
}

/// Of a SYN or FIN.
fn again_or(this: &mut Direction, step: &Step, again: bool, repeated: u8, first: u8) -> u8 {
    if !again {
        return first;
    }
    let chosen = if step.copy { kind::COPY } else { repeated };
    this.rare().kinds[usize::from(chosen)] += 1;
    chosen
}

/// A segment without payload: does it ask for an answer?
#[inline(always)]
fn empty(segment: &Segment, this: &mut Direction, other: &Direction, step: &Step) -> u8 {
    // What is acknowledged was sent, though the capture may lack it.
    let next = this.next.max(this.acknowledged);
    if step.first >= next || step.first < 0 || is_overtaken(segment, this, other, step) {
        return kind::NONE;
    }
    let chosen = if other.advertises_zero && step.first == this.acknowledged - 1 {
        kind::PROBE
    } else if step.first == next - 1 && this.acknowledged >= next && this.fins == 0 {
        kind::KEEPALIVE
    } else {
        return kind::NONE;
    };
    this.rare().kinds[usize::from(chosen)] += 1;
    chosen
}

/// Whether later packets of its sender passed an ACK: it acknowledges less than they did, or its
/// clock is older; without a clock, whether it comes sooner than any keep-alive.
#[cold]
fn is_overtaken(segment: &Segment, this: &Direction, other: &Direction, step: &Step) -> bool {
    let soon = this.last_data + SOONEST_KEEPALIVE > step.now && this.data_packets > 0;
    let is_older = match segment.timestamps() {
        Some((stamp, _)) => this.stamps.is_older(stamp),
        None => soon,
    };
    is_older || step.ack.map_or(false, |ack| ack < other.acknowledged)
}

/// A segment with payload that does not simply continue the last one.
#[cold]
fn repetition(
    segment: &Segment,
    this: &mut Direction,
    other: &Direction,
    step: Step,
    (handshake, forward): (&Handshake, bool),
    (row, number): (usize, u64),
) -> u8 {
    let again = step.added.again.min(step.payload);
    if step.now == this.acknowledged_time && step.first < this.acknowledged {
        this.rare().has_ties = true;
    }
    let keepalive = step.payload == 1 && step.end == this.next && this.acknowledged >= this.next;
    let timestamp = segment.timestamps().map(|pair| pair.0);
    let chosen = if keepalive {
        kind::KEEPALIVE
    } else if step.probe {
        kind::PROBE
    } else if again == 0 {
        let (next, packets) = (this.next, this.data_packets - 1);
        this.rare().losses.fill(
            step.first,
            step.end,
            step.now,
            timestamp,
            (next, packets, handshake.trip()),
        );
        kind::LATE
    } else if step.copy || (handshake.at_receiver(forward) && has_arrived(this, &step)) {
        kind::COPY
    } else if is_refused(this, other, &step) {
        kind::FASTOPEN
    } else {
        let mut about = situation(this, other, &step);
        if handshake.at_receiver(forward) {
            // The host there answers at once; the round trip is the handshake's.
            about.rtt = handshake.trip();
        }
        this.rare().losses.classify(&about)
    };
    let rare = this.rare();
    rare.kinds[usize::from(chosen)] += 1;
    rare.kind_bytes[usize::from(chosen)] += again as u64;
    if !matches!(chosen, kind::KEEPALIVE | kind::PROBE | kind::COPY) {
        rare.losses.found_by(number as u32);
    }
    if matches!(
        chosen,
        kind::FAST | kind::SACK | kind::RTO | kind::TLP | kind::OTHER | kind::FASTOPEN
    ) {
        rare.losses.remember(Retransmission {
            first: step.first,
            end: step.end,
            bytes: again,
            kind: chosen,
            row,
            timestamp,
            needless: false,
            reported: false,
            held: false,
        });
    }
    let end = rare.losses.end();
    this.repeated_end = this.repeated_end.max(end);
    chosen
}

/// At the receiver: whether the host took the bytes when they came first. It acknowledges at once
/// what it repeats or lacks (RFC 5681, section 4.2), and the rest within half a second (RFC 9293,
/// section 3.8.6.3): what it drops behind the capture is missing from its ACKs and SACKs.
fn has_arrived(this: &Direction, step: &Step) -> bool {
    let sent = step.added.earlier.map_or(step.now, |(time, _)| time);
    let is_taken = step.first < this.acknowledged || this.sacked.holds(step.first);
    let is_late = this.duplicates > 0 || step.now - sent > LONGEST_DELAY;
    let is_missing = step.first <= this.acknowledged && is_late;
    is_taken || !(this.sacked.top() > step.first || is_missing)
}

/// Whether the SYN carried the segment's data, and its answer left them out (RFC 7413).
fn is_refused(this: &Direction, other: &Direction, step: &Step) -> bool {
    let syn_data = this.rare.as_deref().map_or(0, |rare| rare.syn_data);
    let is_first_repeat = matches!(step.added.earlier, Some((_, 0)));
    step.first < syn_data && is_first_repeat && other.syn_acks > 0 && this.acknowledged < syn_data
}

fn situation(this: &Direction, other: &Direction, step: &Step) -> SenderSituation {
    let (sent, again) = step.added.earlier.unwrap_or((step.now, 0));
    SenderSituation {
        now: step.now,
        first: step.first,
        end: step.end,
        next: this.next,
        acknowledged: this.acknowledged.max(1),
        acknowledged_time: this.acknowledged_time,
        last_received: this.last_received,
        sent,
        again,
        // Blocks prove it where the capture lacks the SYNs.
        sack: (this.sack_permitted && other.sack_permitted)
            || other.rare.as_deref().map_or(false, |rare| rare.sacks_sent > 0),
        sacked_top: this.sacked.top(),
        duplicates: this.duplicates,
        size: i64::from(this.segment_size(other)).max(1),
        rtt: this.smoothed.mean(),
        queueing: this.rtts.least().and_then(|least| Some(this.smoothed.mean()? - least)),
    }
}

/// The end of what was sent moves on; a probe into a closed window does not move it.
#[inline(always)]
pub fn advance(this: &mut Direction, other: &Direction, step: &Step, is_pushed: bool) {
    if step.payload == 0 && step.flags & (SYN | FIN) == 0 {
        if this.next == 0 {
            this.next = step.first;
            this.data_end = step.first.max(1);
        }
        return;
    }
    if step.kind == kind::PROBE {
        return;
    }
    let flags = i64::from(step.flags & SYN != 0) + i64::from(step.flags & FIN != 0);
    this.next = this.next.max(step.end + flags);
    if step.payload > 0 {
        let end = step.end + i64::from(step.flags & SYN != 0);
        if end > this.data_end {
            this.data_end = end;
            this.short = this.is_short(step.payload as u32, is_pushed, other);
        }
    }
}
