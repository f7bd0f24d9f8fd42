//! What is remembered of one direction of a connection. Counters have tcptrace's names if they are
//! tcptrace's.

use crate::kind;
use crate::losses::LossRecovery;
use crate::queue::Queue;
use crate::rtt_samples::{Histogram, Samples};
use crate::scoreboard::Scoreboard;
use crate::sequence_ranges::Ranges;
use crate::window_offer::WindowOffer;

/// What every host takes (RFC 9293, section 3.7.1), the most that options take of it, and
/// timestamps with their padding (RFC 7323, appendix A).
const SMALLEST_MSS: u32 = 536;
const OPTIONS: u32 = 40;
const STAMPS: u32 = 12;

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
}

/// RTT samples: tcptrace's, those of full-sized segments, and ours.
#[derive(Default)]
pub struct RoundTrips {
    pub all: Samples,
    pub full: Samples,
    pub full_size: i64,
    pub ours: Samples,
    pub histogram: Histogram,
    pub timestamps: Histogram,
}

/// The smoothed RTT of RFC 6298 in whole nanoseconds; the shift rounds down.
#[derive(Default)]
pub struct Smoothed {
    known: Option<i64>,
}

impl Smoothed {
    pub fn add(&mut self, time: i64) {
        self.known = Some(self.known.map_or(time, |mean| mean + ((time - mean) >> 3)));
    }

    pub fn mean(&self) -> Option<i64> {
        self.known
    }
}

/// What limits a sender (docs/analysis.md): nothing more to come, the receiver's window, the
/// network, or the application, that left nothing or something in flight.
pub mod limit {
    pub const NONE: u8 = 0;
    pub const RECEIVER: u8 = 1;
    pub const NETWORK: u8 = 2;
    pub const IDLE: u8 = 3;
    pub const APPLICATION: u8 = 4;
}

/// Bytes in flight over time, and what limited the sender meanwhile. Summed up only when one of
/// both changes.
#[derive(Default)]
pub struct Usage {
    pub since: i64,
    pub flight: i64,
    pub most: i64,
    pub weighted: u128,
    pub state: u8,
    /// By state, of which there are five.
    pub limited: [i64; 8],
}

impl Usage {
    /// Sums up until `clock`, which never goes back.
    #[inline(always)]
    pub fn advance(&mut self, clock: i64) {
        let passed = clock - self.since;
        self.weighted = self.weighted.saturating_add((self.flight as u128) * (passed as u128));
        self.limited[usize::from(self.state & 7)] += passed;
        self.since = clock;
    }

    #[inline(always)]
    pub fn change(&mut self, flight: i64, state: u8, clock: i64) {
        self.advance(clock);
        (self.flight, self.state) = (flight, state);
        self.most = self.most.max(flight);
    }
}

/// In the order in which packets need it: with many connections each line of it that a packet
/// touches has to be fetched from outside the processor's nearer caches.
#[derive(Default)]
#[repr(C)]
pub struct Direction {
    // What every packet of either direction needs.
    /// The highest number sent or acknowledged: what numbers on the wire are unwrapped near to.
    pub reference: i64,
    /// What the peer has acknowledged, and the end of the payload that was sent.
    pub acknowledged: i64,
    pub data_end: i64,
    pub last_window: u64,
    pub packets: u64,
    /// The last ACK this direction carried, relative to the peer's numbers, and whether there was
    /// one.
    pub last_ack: Option<i64>,
    /// The number before the first byte; `known` is whether anything is known of this direction.
    pub origin: u32,
    pub syns: u32,
    /// What the peer allows this direction to send.
    pub offer: WindowOffer,
    pub fins: u32,
    pub resets: u32,
    pub mss: u16,
    pub scale: u8,
    pub known: bool,
    pub short: bool,
    pub advertises_zero: bool,
    pub scaled: bool,
    /// Whether `scale` is for the windows after the SYNs. A SYN-ACK asks for it only if the SYN did
    /// (RFC 7323, section 2.2), though the capture may lack that.
    pub scales: bool,
    pub timestamped: bool,
    pub sack_permitted: bool,
    pub data_acked: bool,
    pub window_restarted: bool,

    // What every packet of this direction needs.
    pub duplicate_slot: u8,
    /// The end of all that was sent; SYN and FIN count.
    pub next: i64,
    /// As on the wire, for tcptrace's rules on new connections.
    pub latest_end: i64,
    pub window_end: u64,
    pub acks: u64,
    pub pure_acks: u64,
    pub last_time: Option<i64>,
    pub longest_pause: i64,
    pub window_max: u64,
    pub window_min: u64,
    pub window_sum: u64,
    pub window_count: u64,
    pub timestamps: Queue<(u32, i64)>,
    pub owin_max: i64,
    pub owin_min: i64,
    pub owin_count: u64,
    pub owin_last: i64,
    pub owin_since: i64,
    pub owin_sum: u128,
    pub owin_weighted: u128,
    pub duplicate_numbers: [u32; 8],
    pub duplicate_ids: [u16; 8],

    // What its data and the ACKs of them need.
    pub first_data: Option<i64>,
    pub last_received: i64,
    pub duplicates: u32,
    /// As on the wire, for tcptrace's rules on new connections.
    pub syn_number: u32,
    pub rare: Option<Box<RareCounters>>,
    pub board: Scoreboard,
    pub sacked: Ranges,
    pub unique_bytes: u64,
    pub data_packets: u64,
    pub data_bytes: u64,
    pub pushed: u64,
    pub largest: u32,
    pub smallest: u32,
    /// The largest payload without PSH: there the sender itself cut its stream.
    pub cut: u32,
    pub truncated_bytes: u64,
    pub truncated_packets: u64,
    pub last_data: i64,
    pub usage: Usage,
    pub smoothed: Smoothed,
    pub acknowledged_time: i64,
    pub data_acknowledged_time: i64,
    pub cumulatively: u64,
    pub last_sample: i64,
    pub rtts: Option<Box<RoundTrips>>,

    // What only the beginning and the end need.
    pub handshake_sample: i64,
    pub initial_bytes: u64,
    pub initial_packets: u64,
    /// As on the wire.
    pub fin_end: Option<i64>,
}

impl Direction {
    /// A number of this direction as on the wire, made relative and of 64 bit: the one nearest to
    /// what is known.
    #[inline(always)]
    pub fn relative(&self, number: u32) -> i64 {
        let near = self.origin.wrapping_add(self.reference as u32);
        self.reference + i64::from(number.wrapping_sub(near) as i32)
    }

    /// Fixes the origin at the first number that is seen.
    #[inline(always)]
    pub fn begin(&mut self, origin: u32) {
        if !self.known {
            self.known = true;
            self.origin = origin;
            (self.reference, self.next, self.data_end) = (0, 0, 1);
        }
    }

    pub fn rare(&mut self) -> &mut RareCounters {
        self.rare.get_or_insert_with(Default::default)
    }

    pub fn rtts(&mut self) -> &mut RoundTrips {
        self.rtts.get_or_insert_with(Default::default)
    }

    /// Payload sent and neither acknowledged nor SACKed.
    #[inline(always)]
    pub fn in_flight(&self) -> i64 {
        (self.data_end - self.acknowledged.max(1) - self.sacked.total).max(0)
    }

    /// Whether losses are being repaired.
    #[inline(always)]
    pub fn repairs(&self) -> bool {
        self.rare.as_deref().is_some_and(|rare| self.acknowledged < rare.losses.recover)
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
