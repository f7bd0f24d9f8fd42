//! What is remembered of one direction of a connection. Counters have tcptrace's names if they are
//! tcptrace's.

use crate::kind;
use crate::losses::LossRecovery;
use crate::optional_number::OptionalNumber;
use crate::round_trips::RoundTrips;
use crate::rtt_samples::Samples;
use crate::scoreboard::Scoreboard;
use crate::sender_view::{self, Rounds};
use crate::sequence_ranges::Ranges;
use crate::tcp_options::{FastOpen, Multipath};
use crate::turns::{Answers, DelayedAckWaits};
use crate::unanswered_stamps::UnansweredStamps;
use crate::usage::{Limited, Usage};
use crate::window_offer::WindowOffer;
use std::ops::Range;

/// What every host takes (RFC 9293, section 3.7.1), the most that options take of it, and
/// timestamps with their padding (RFC 7323, appendix A).
const SMALLEST_MSS: u32 = 536;
const OPTIONS: u32 = 40;
const STAMPS: u32 = 12;

/// The lines of the processor's cache that packets of either direction need of this one, those of
/// its own packets, and those of its data and of the ACKs of them.
pub const OF_BOTH: Range<usize> = 0..2;
pub const OF_ITS_PACKETS: Range<usize> = 0..5;
pub const OF_DATA: Range<usize> = 4..9;

/// What a plain connection without faults does not need.
#[derive(Default)]
pub struct RareCounters {
    pub urgent_packets: u64,
    pub urgent_bytes: u64,
    pub probe_packets: u64,
    pub probe_bytes: u64,
    pub out_of_order: u64,
    pub repeated_packets: u64,
    pub repeated_bytes: u64,
    pub hardware_duplicates: u64,
    pub mirrored: u64,
    pub resets_ignored: u32,
    /// The end of the data that a SYN carried.
    pub syn_data: i64,
    /// What the answer to the SYN acknowledged, if it was seen.
    pub syn_answered: Option<i64>,
    pub fast_open: FastOpen,
    pub multipath: Option<Multipath>,
    pub multipath_key: Option<u64>,
    pub ecn_options: u64,
    pub sack_packets: u64,
    pub sacks_sent: u64,
    pub dsacks: u64,
    pub most_blocks: u8,
    pub zero_windows: u64,
    pub zero_window_since: Option<i64>,
    pub zero_window_time: i64,
    pub ect0: u64,
    pub ect1: u64,
    pub ce: u64,
    pub ece: u64,
    pub cwr: u64,
    /// By its counter (AccECN): marks that it reported, and the counter of three bits.
    pub reported_marks: u64,
    pub last_ace: u16,
    /// The ECN flags of its SYN.
    pub syn_ecn: u16,
    pub retransmission_times: Samples,
    pub last_times: Samples,
    pub most_again: u32,
    pub duplicate_acks: u64,
    pub triple_duplicates: u64,
    pub after_loss: u64,
    pub ambiguous: u64,
    pub kinds: [u64; kind::COUNT],
    pub kind_bytes: [u64; kind::COUNT],
    pub losses: LossRecovery,
    pub answers: Answers,
    pub delayed_acks: DelayedAckWaits,
    /// From the handshake to the first data of the connection, if these are of this end.
    pub first_wait: Option<i64>,
    /// Segments that stand behind their ACK in the file, and the longest time of one.
    pub late_segments: u64,
    pub late_by: i64,
    /// Whether data were repeated at the time of their ACK.
    pub has_ties: bool,
}

impl RareCounters {
    pub fn come_late(&mut self, by: i64) {
        self.late_segments += 1;
        self.late_by = self.late_by.max(by);
    }
}

/// Is not compiled into the steps, which it would make long.
#[cold]
#[inline(never)]
pub fn new_counters() -> Box<RareCounters> {
    Box::default()
}

/// The smoothed RTT of RFC 6298 in whole nanoseconds; the shift rounds down.
#[derive(Default)]
pub struct Smoothed {
    known: OptionalNumber,
}

impl Smoothed {
    pub fn add(&mut self, time: i64) {
        let mean = self.known.get().map_or(time, |mean| mean + ((time - mean) >> 3));
        self.known = mean.into();
    }

    pub fn mean(&self) -> Option<i64> {
        self.known.get()
    }
}

/// Rounds of a direction, its limits, and when the round ends.
pub type RoundsSoFar = (Box<Rounds>, Limited, i64);

/// In the order in which packets need it, and what few need at the end: with many connections each
/// line of it that a packet touches has to be fetched from outside the processor's nearer caches.
/// For the same reason it has nothing that follows from the rest: what nearly all packets would add
/// to is counted by those that do not.
#[derive(Default)]
#[repr(C, align(64))]
pub struct Direction {
    // What every packet of either direction needs: two lines.
    /// The end of all that was sent; SYN and FIN count.
    pub next: i64,
    /// What the peer has acknowledged, and the end of the payload that was sent.
    pub acknowledged: i64,
    pub data_end: i64,
    /// The last ACK this direction carried, relative to the peer's numbers.
    pub last_ack: OptionalNumber,
    /// What the peer allows this direction to send.
    pub offer: WindowOffer,
    /// The number before the first byte; `known` is whether anything is known of this direction.
    pub origin: u32,
    pub last_window: u32,
    pub stamps: UnansweredStamps,
    pub last_received: i64,
    pub mss: u16,
    pub scale: u8,
    pub known: bool,
    /// Whether `scale` is for the windows after the SYNs. A SYN-ACK asks for it only if the SYN did
    /// (RFC 7323, section 2.2), though the capture may lack that.
    pub scales: bool,
    pub advertises_zero: bool,
    pub timestamped: bool,
    pub data_acked: bool,
    pub window_restarted: bool,
    pub short: bool,
    /// Whether a FIN or RST of this side or an RST of the other ended what is sent.
    pub has_ended: bool,
    /// Whether its flags count marks (AccECN), as both SYNs agreed.
    pub counts_marks: bool,
    /// The largest payload.
    pub largest: u32,

    // What every packet of this direction needs: three lines; the last half is for data.
    pub packets: u64,
    pub last_time: OptionalNumber,
    pub longest_pause: i64,
    pub window_sum: u64,
    pub window_max: u32,
    pub window_min: u32,
    /// What tells the latest packets from others, and their identifications.
    pub recent_marks: [u32; 8],
    pub recent_ids: [u16; 8],
    pub recent_slot: u8,
    /// The interface of its packets, and whether some are of another.
    pub has_places: bool,
    pub place: u16,
    pub owin_last: i64,
    pub owin_since: i64,
    pub owin_max: i64,
    pub owin_min: i64,
    /// Bytes times nanoseconds.
    pub owin_weighted: u128,
    /// Without 2^64 for each of `owin_sums_over`.
    pub owin_sum: u64,
    pub duplicates: u32,
    /// As on the wire, for tcptrace's rules on new connections.
    pub syn_number: u32,
    pub rare: Option<Box<RareCounters>>,
    /// From here on nothing was repeated: no need to ask `rare`.
    pub repeated_end: i64,
    pub board: Scoreboard,

    // What its data and the ACKs of them need: four lines.
    pub smoothed: Smoothed,
    pub acknowledged_time: i64,
    pub data_acknowledged_time: i64,
    pub data_packets: u64,
    pub data_bytes: u64,
    pub pushed: u64,
    pub truncated_bytes: u64,
    pub truncated_packets: u64,
    pub last_data: i64,
    pub cumulatively: u64,
    pub smallest: u32,
    /// The largest payload without PSH: there the sender itself cut its stream.
    pub cut: u32,
    pub last_sample: i64,
    pub usage: Usage,
    pub rtts: RoundTrips,
    pub sacked: Ranges,

    // What few packets need, and the end.
    pub syns: u32,
    /// Those with ACK.
    pub syn_acks: u32,
    pub fins: u32,
    pub resets: u32,
    /// Whether its SYN was seen whole, perhaps before the period, and with it what it asks for.
    pub is_told: bool,
    pub scaled: bool,
    pub sack_permitted: bool,
    /// Of the packets: those without ACK, those without payload that are no mere ACKs, those that
    /// tell no window (and those before windows were scaled), and those that say nothing of what
    /// is outstanding.
    pub without_ack: u64,
    pub without_payload: u64,
    pub without_window: u64,
    pub without_owin: u64,
    pub owin_sums_over: u64,
    /// Payload that was sent before.
    pub known_bytes: i64,
    pub first_data: OptionalNumber,
    /// Of a sender that is far from the capture.
    pub rounds: Option<Box<Rounds>>,
    pub limited: Limited,
    /// As on the wire, for tcptrace's rules on new connections.
    pub window_end: u64,
    /// The end of the latest segment, once what is sent has ended.
    pub latest_end: i64,
    pub handshake_sample: i64,
    pub initial_bytes: u64,
    pub initial_packets: u64,
    pub fin_end: OptionalNumber,
}

impl Direction {
    /// A number of this direction as on the wire, made relative and of 64 bit: the one nearest to
    /// what is known.
    #[inline(always)]
    pub fn relative(&self, number: u32) -> i64 {
        let reference = self.reference();
        let near = self.origin.wrapping_add(reference as u32);
        reference + i64::from(number.wrapping_sub(near) as i32)
    }

    /// The highest number sent or acknowledged: what numbers on the wire are unwrapped near to.
    #[inline(always)]
    pub fn reference(&self) -> i64 {
        self.next.max(self.acknowledged).max(0)
    }

    /// Fixes the origin at the first number that is seen.
    #[inline(always)]
    pub fn begin(&mut self, origin: u32) {
        if !self.known {
            self.known = true;
            self.origin = origin;
            self.data_end = 1;
        }
    }

    #[inline(always)]
    pub fn rare(&mut self) -> &mut RareCounters {
        self.rare.get_or_insert_with(new_counters)
    }

    /// Lets all sums reach until `clock`; the direction may go on.
    pub fn sum_up(&mut self, clock: i64, packet: u32, size: i64) {
        if self.rounds.is_some() {
            sender_view::pass(self, size, clock, packet, None);
        } else {
            self.usage.advance(clock, packet, &mut self.limited);
        }
        self.rtts.sum_up();
    }

    /// What `sum_up` changes of a sender that is judged in rounds: a look must not end a round.
    pub fn rounds_so_far(&self) -> Option<RoundsSoFar> {
        let rounds = self.rounds.clone()?;
        Some((rounds, self.limited.clone(), self.usage.due))
    }

    /// Goes on from there.
    pub fn go_on(&mut self, kept: Option<RoundsSoFar>) {
        if let Some((rounds, limited, due)) = kept {
            self.rounds = Some(rounds);
            self.limited = limited;
            self.usage.due = due;
        }
    }

    /// Resets that end the connection.
    pub fn believed_resets(&self) -> u32 {
        self.resets - self.rare.as_deref().map_or(0, |rare| rare.resets_ignored)
    }

    pub fn acks(&self) -> u64 {
        self.packets - self.without_ack
    }

    pub fn pure_acks(&self) -> u64 {
        self.packets - self.data_packets - self.without_payload
    }

    pub fn window_count(&self) -> u64 {
        self.packets - self.without_window
    }

    pub fn owin_count(&self) -> u64 {
        self.packets - self.without_owin
    }

    pub fn owin_sum(&self) -> u128 {
        u128::from(self.owin_sums_over) << 64 | u128::from(self.owin_sum)
    }

    /// Bytes of payload that were not sent before.
    pub fn unique_bytes(&self) -> u64 {
        self.data_bytes.wrapping_sub(self.known_bytes as u64)
    }

    /// Payload sent and neither acknowledged nor SACKed.
    #[inline(always)]
    pub fn in_flight(&self) -> i64 {
        (self.data_end - self.acknowledged.max(1) - self.sacked.total).max(0)
    }

    /// Whether what happens to bytes from here on may tell something of repetitions.
    #[inline(always)]
    pub fn may_tell(&self, from: i64) -> bool {
        from < self.repeated_end
    }

    /// Whether bytes below others did not pass.
    pub fn has_hole(&self) -> bool {
        let is_open = |rare: &RareCounters| {
            rare.losses.gaps.last().map_or(false, |gap| gap.right > self.acknowledged)
        };
        self.rare.as_deref().map_or(false, is_open)
    }

    /// Whether losses are being repaired.
    #[inline(always)]
    pub fn repairs(&self) -> bool {
        self.may_tell(self.acknowledged)
            && self.rare.as_deref().map_or(false, |rare| self.acknowledged < rare.losses.recover)
    }

    /// Whether the sender had no more than this payload: it is not full. A full one has what both
    /// SYNs allow, less options, of which there are 40 bytes at most, or as much as this sender
    /// sends without PSH. Of a larger one, that the sender's card is to cut, the rest counts.
    #[inline(always)]
    pub fn is_short(&self, payload: u32, is_pushed: bool, peer: &Direction) -> bool {
        let agreed = match (self.mss, peer.mss) {
            (0, 0) => SMALLEST_MSS,
            (0, mss) | (mss, 0) => u32::from(mss),
            (ours, theirs) => u32::from(ours.min(theirs)),
        };
        if payload > agreed {
            let stamps = if self.timestamped { STAMPS } else { 0 };
            let is_known = self.mss > 0 || peer.mss > 0;
            return is_known && is_pushed && payload % agreed.saturating_sub(stamps).max(1) != 0;
        }
        let least = agreed.saturating_sub(OPTIONS);
        payload < if self.cut > 0 { least.min(self.cut) } else { least }
    }

    /// The largest payload, at most what the peer's SYN allows.
    pub fn segment_size(&self, peer: &Direction) -> u32 {
        match peer.mss {
            0 => self.largest,
            mss => self.largest.min(u32::from(mss)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::mem::offset_of;

    #[test]
    fn what_packets_need_stands_in_as_many_lines_as_is_said() {
        assert_eq!(offset_of!(Direction, packets), OF_BOTH.end * 64);
        assert!(offset_of!(Direction, owin_sum) < OF_ITS_PACKETS.end * 64);
        assert!(offset_of!(Direction, board) >= OF_DATA.start * 64);
        assert_eq!(offset_of!(Direction, sacked) + 8, OF_DATA.end * 64);
    }
}
