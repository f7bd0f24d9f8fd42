//! The steps for what a segment acknowledges: samples of the round trip, SACK, needless
//! retransmissions, bytes in flight.

use crate::direction::{limit, Direction};
use crate::kind;
use crate::losses::Retransmission;
use crate::packet_rows::Rows;
use crate::scoreboard::{Exact, Worth};
use crate::segment::{Segment, FIN, RST, SYN};
use crate::step::{Place, Sacks, Step};

/// What the ACK that this segment carries means for what `other` has sent.
#[inline(always)]
pub fn acknowledge(
    segment: &Segment,
    this: &mut Direction,
    other: &mut Direction,
    step: &mut Step,
    sacks: &Sacks,
    place: &mut Place,
) {
    let ack = step.ack.unwrap_or(0);
    let duplicate = this.last_ack == Some(ack)
        && step.payload == 0
        && step.window == this.last_window
        && other.owin_sum > 0;
    let acked = other.board.acknowledge(ack, step.now, duplicate);
    other.cumulatively += acked.cumulatively;
    if let Some(exact) = acked.exact {
        ends(other, exact, place.compatible);
    }
    if other.syns == 1 && ack == other.relative(other.syn_number) + 1 {
        other.handshake_sample = other.last_sample;
    }
    if step.flags & RST != 0 {
        return;
    }
    if let Some(time) = acked.sample {
        step.rtt = Some(time);
        // Timestamps tell more: they time retransmissions too.
        if !(this.timestamped && other.timestamped) {
            other.smoothed.add(time);
        }
        let rtts = other.rtts();
        rtts.ours.add(time, false);
        rtts.histogram.add(time);
    }
    proceed(segment, this, other, step, sacks, place);
}

/// A segment ends where the ACK points to: tcptrace's samples.
#[inline(always)]
fn ends(other: &mut Direction, exact: Exact, compatible: bool) {
    match exact {
        Exact::Newly { time, size, worth: Worth::Sample } => {
            other.last_sample = time;
            let rtts = other.rtts();
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
        Exact::Newly { time, worth, .. } => {
            other.last_sample = 0;
            let rare = other.rare();
            if worth == Worth::AfterLoss {
                rare.after_loss += 1;
            } else {
                rare.ambiguous += 1;
                rare.last_times.add(time, compatible);
            }
        }
        Exact::Again(times) => {
            let rare = other.rare();
            rare.duplicate_acks += 1;
            rare.triple_duplicates += u64::from(times == 4);
        }
    }
}

/// The peer's ACK and SACK move what `other` knows to have arrived.
#[inline(always)]
fn proceed(
    segment: &Segment,
    this: &Direction,
    other: &mut Direction,
    step: &Step,
    sacks: &Sacks,
    place: &mut Place,
) {
    let ack = step.ack.unwrap_or(0);
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
        let from = before.max(1);
        if other.rare.as_deref().is_some_and(|rare| rare.losses.may_be_echoed(from)) {
            echoed(segment, other, from, &mut place.rows);
        }
    } else if ack == before
        && step.payload == 0
        && step.flags & (SYN | FIN) == 0
        && other.data_end > ack
    {
        let same = step.window == this.last_window || sacks.count > 0;
        other.duplicates += u32::from(same);
    }
    for (index, (left, right)) in sacks.blocks().iter().copied().enumerate() {
        if index == 0 && step.dsack {
            let needless = other.rare().losses.reported(left, right);
            needless.into_iter().for_each(|resent| spurious(other, resent, &mut place.rows));
            continue;
        }
        let (left, right) = (left.max(other.acknowledged), right.min(other.data_end));
        if left < right {
            other.sacked.add(left, right);
        }
    }
}

fn echoed(segment: &Segment, other: &mut Direction, from: i64, rows: &mut Option<&mut Rows>) {
    if let Some((_, echo)) = segment.timestamps() {
        for resent in other.rare().losses.echoed(from, echo) {
            spurious(other, resent, rows);
        }
    }
}

#[cold]
fn spurious(other: &mut Direction, resent: Retransmission, rows: &mut Option<&mut Rows>) {
    let rare = other.rare();
    for (slot, one) in [(usize::from(resent.kind), u64::MAX), (usize::from(kind::SPURIOUS), 1)] {
        rare.kinds[slot] = rare.kinds[slot].wrapping_add(one);
        rare.kind_bytes[slot] =
            rare.kind_bytes[slot].wrapping_add(one.wrapping_mul(resent.bytes as u64));
    }
    if let Some(rows) = rows.as_deref_mut() {
        rows.change_kind(resent.row, kind::SPURIOUS);
    }
}

/// Sets what is in flight and what limits the sender from now on.
#[inline(always)]
pub fn used(this: &mut Direction, other: &Direction, clock: i64, sends: bool) {
    if this.first_data.is_none() {
        return;
    }
    let flight = this.in_flight();
    let is_closed = this.offer.room(this.acknowledged) <= 0;
    let was_held = this.usage.state == limit::RECEIVER;
    let mut least = i64::from(this.segment_size(other));
    if was_held && !sends {
        least = least.max(this.offer.third());
    }
    let waits = flight > 0 || was_held || is_closed;
    let state = if this.fins > 0 || this.resets > 0 || other.resets > 0 {
        limit::NONE
    } else if flight > 0 && !is_closed && this.repairs() {
        limit::NETWORK
    } else if waits && this.offer.room(this.data_end) < least {
        limit::RECEIVER
    } else if flight == 0 {
        limit::IDLE
    } else if this.short {
        limit::APPLICATION
    } else {
        limit::NETWORK
    };
    if flight != this.usage.flight || state != this.usage.state {
        this.usage.change(flight, state, clock);
    }
}
