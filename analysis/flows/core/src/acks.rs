//! The steps for what a segment acknowledges: samples of the round trip, SACK, needless
//! retransmissions, bytes in flight.

use crate::direction::Direction;
use crate::kind;
use crate::losses::Retransmission;
use crate::packet_rows::Rows;
use crate::segment::{Segment, FIN, RST, SYN};
use crate::sender_view::NEVER;
use crate::sent_segment::{Exact, Worth};
use crate::step::{Place, Sacks, Step};
use crate::usage::limit;

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
    let duplicate = step.payload == 0
        && this.last_ack.get() == Some(ack)
        && step.window == this.last_window
        && other.owin_max > 0;
    if duplicate || !other.board.is_settled(ack) {
        cover(this, other, step, ack, duplicate, place.compatible);
    }
    if step.flags & RST == 0 {
        // No pointer to `place` goes further: the steps of plain segments would have to look
        // whether there are rows now.
        proceed(segment, this, other, step, sacks, place.rows.as_deref_mut());
    }
}

/// The ACK covers what was sent below it.
#[inline(always)]
fn cover(
    this: &Direction,
    other: &mut Direction,
    step: &mut Step,
    ack: i64,
    duplicate: bool,
    compatible: bool,
) {
    let acked = other.board.acknowledge(ack, step.now, duplicate);
    other.cumulatively += acked.cumulatively;
    let sample = acked.sample.filter(|_| step.flags & RST == 0);
    match acked.exact {
        Some(Exact::Newly { time, size, worth: Worth::Sample }) => {
            other.last_sample = time;
            // tcptrace computes 2^32 for the size of a segment of one, such as a SYN.
            let size = if compatible && size == 1 { 1 << 32 } else { size };
            other.rtts.exact(time, size, sample.is_some(), compatible);
        }
        exact => {
            exact.into_iter().for_each(|exact| doubtful(other, exact, compatible));
            sample.into_iter().for_each(|time| other.rtts.ours(time));
        }
    }
    if ack == other.relative(other.syn_number) + 1 && other.syns == 1 {
        other.handshake_sample = other.last_sample;
    }
    if let Some(time) = sample {
        step.rtt = Some(time);
        // Timestamps tell more: they time retransmissions too.
        if !(this.timestamped && other.timestamped) {
            other.smoothed.add(time);
        }
    }
}

/// A segment ends where the ACK points to, but the time since it was sent is no sample.
#[cold]
fn doubtful(other: &mut Direction, exact: Exact, compatible: bool) {
    match exact {
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
    mut rows: Option<&mut Rows>,
) {
    let ack = step.ack.unwrap_or(0);
    let before = other.acknowledged;
    other.last_received = step.now;
    if ack > before && ack - other.reference() < 1 << 30 {
        other.acknowledged = ack;
        other.acknowledged_time = step.now;
        other.duplicates = 0;
        if before < other.data_end {
            other.data_acknowledged_time = step.now;
        }
        if !other.sacked.is_empty() {
            other.sacked.acknowledge(ack);
        }
        let from = before.max(1);
        if other.may_tell(from)
            && other.rare.as_deref().map_or(false, |rare| rare.losses.may_be_echoed(from))
        {
            echoed(segment, other, from, rows.as_deref_mut());
            let has_sack = this.rare.as_deref().map_or(false, |rare| rare.sacks_sent > 0);
            let sack_agreed = this.sack_permitted && other.sack_permitted;
            if !has_sack && !sack_agreed {
                other.rare().losses.hold(from, ack);
            }
        }
    } else if ack == before
        && step.payload == 0
        && step.flags & (SYN | FIN) == 0
        && other.data_end > ack
    {
        let same = step.window == this.last_window || sacks.count > 0;
        other.duplicates += u32::from(same);
    }
    if sacks.count > 0 {
        reported(other, step.dsack, sacks, rows);
    }
}

/// SACK blocks tell what has arrived, and of needless retransmissions. Is not compiled into the
/// steps of plain segments, which have none.
#[inline(never)]
fn reported(other: &mut Direction, is_dsack: bool, sacks: &Sacks, mut rows: Option<&mut Rows>) {
    for (index, (left, right)) in sacks.blocks().iter().copied().enumerate() {
        if index == 0 && is_dsack {
            let needless = other.rare().losses.reported(left, right);
            needless.into_iter().for_each(|resent| spurious(other, resent, rows.as_deref_mut()));
            continue;
        }
        let (left, right) = (left.max(other.acknowledged), right.min(other.data_end));
        if left < right {
            other.sacked.add(left, right);
        }
    }
}

#[cold]
fn echoed(segment: &Segment, other: &mut Direction, from: i64, mut rows: Option<&mut Rows>) {
    if let Some((_, echo)) = segment.timestamps() {
        for resent in other.rare().losses.echoed(from, echo) {
            spurious(other, resent, rows.as_deref_mut());
        }
    }
}

#[cold]
fn spurious(other: &mut Direction, resent: Retransmission, rows: Option<&mut Rows>) {
    let rare = other.rare();
    for (slot, one) in [(usize::from(resent.kind), u64::MAX), (usize::from(kind::SPURIOUS), 1)] {
        rare.kinds[slot] = rare.kinds[slot].wrapping_add(one);
        rare.kind_bytes[slot] =
            rare.kind_bytes[slot].wrapping_add(one.wrapping_mul(resent.bytes as u64));
    }
    if let Some(rows) = rows {
        rows.change_kind(resent.row, kind::SPURIOUS);
    }
}

/// Sets what is in flight and what limits the sender from now on.
#[inline(always)]
pub fn used(this: &mut Direction, other: &Direction, clock: i64, sends: bool, packet: u32) {
    if this.largest == 0 {
        return;
    }
    let flight = this.in_flight();
    if flight != this.usage.flight {
        this.usage.set_flight(flight, clock);
    }
    if this.usage.due != NEVER {
        return;
    }
    let is_closed = this.offer.room(this.acknowledged) <= 0;
    let was_held = this.usage.state == limit::RECEIVER;
    let mut least = i64::from(this.segment_size(other));
    if was_held && !sends {
        least = least.max(this.offer.third());
    }
    let waits = flight > 0 || was_held || is_closed;
    let state = if this.has_ended {
        limit::NONE
    } else if flight > 0 && !is_closed && this.repairs() {
        limit::NETWORK
    } else if waits && this.offer.is_full(this.acknowledged, this.data_end, least) {
        limit::RECEIVER
    } else if flight == 0 {
        limit::IDLE
    } else if this.short {
        limit::APPLICATION
    } else {
        limit::NETWORK
    };
    if state != this.usage.state {
        this.usage.set_state(state, clock, packet, &mut this.limited);
    }
}
