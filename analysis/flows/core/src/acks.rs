//! The steps for what a segment acknowledges: samples of the round trip, SACK, needless retransmissions, bytes in flight.

use crate::connection::{Place, Step};
use crate::direction::{kind, Direction, Usage};
use crate::losses::Resent;
use crate::scoreboard::{Acked, Worth};
use crate::segment::{Segment, FIN, RST, SYN};

/// What the ACK that this segment carries means for what `other` has sent.
#[inline(always)]
pub fn acknowledge(segment: &Segment, this: &mut Direction, other: &mut Direction, step: &mut Step, place: &mut Place) {
    let ack = step.ack.unwrap_or(0);
    let compatible = place.compatible;
    let duplicate =
        this.last_ack == Some(ack) && step.payload == 0 && step.window == this.last_window && other.owin_sum > 0;
    let Direction { board, rtts, rare, cumulatively, last_sample, .. } = other;
    let sample = board.acknowledge(ack, step.now, duplicate, |told| match told {
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
        // Timestamps tell more: they time retransmissions too.
        if !(this.timestamped && other.timestamped) {
            other.smoothed.add(time);
        }
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
            echoed(segment, other, before, place);
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

fn echoed(segment: &Segment, other: &mut Direction, before: i64, place: &mut Place) {
    if let Some((_, echo)) = segment.options.timestamps {
        for resent in other.rare().losses.echoed(before.max(1), echo) {
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

/// Sets what is in flight and what limits the sender from now on.
#[inline(always)]
pub fn used(this: &mut Direction, other: &Direction) {
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
