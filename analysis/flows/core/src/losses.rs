//! Which kind a repeated segment is, and what gaps and reports say of losses and reordering.
//! docs/analysis.md has the rules in words; they use whole numbers only, so that every engine
//! decides alike.

use crate::kind;
use crate::rtt_samples::Samples;
use std::collections::VecDeque;

const MILLISECOND: i64 = 1_000_000;
/// No retransmission timer is taken to be shorter.
const SHORTEST_TIMER: i64 = 10 * MILLISECOND;
/// The same if no round trip was measured.
const TIMER_UNMEASURED: i64 = 200 * MILLISECOND;
/// What a tail loss probe waits beyond two round trips for a peer that delays its ACK (RFC 8985,
/// section 7.2), and slack.
const PROBE_DELAY: i64 = 210 * MILLISECOND;
/// How long an overtaken packet takes at most if no round trip is known.
const OVERTAKEN: i64 = 3 * MILLISECOND;
/// Retransmissions and gaps that are remembered.
const REMEMBERED: usize = 64;

/// One retransmission, until it is known whether it was needless.
#[derive(Clone, Copy, Debug)]
pub struct Retransmission {
    pub first: i64,
    pub end: i64,
    pub bytes: i64,
    pub kind: u8,
    pub row: usize,
    pub timestamp: Option<u32>,
    /// Known to be needless by an echo; named by a duplicate report.
    pub needless: bool,
    pub reported: bool,
    /// Acknowledged together with a repair before it.
    pub held: bool,
}

/// Bytes that were passed over: from `left` to `right`, by a packet with `timestamp` at `time`.
#[derive(Clone, Copy, Debug)]
pub struct SequenceGap {
    pub left: i64,
    pub right: i64,
    pub time: i64,
    pub timestamp: Option<u32>,
    /// Segments with payload before that packet.
    pub packets: u64,
    /// The delay of that packet above the least, if it is known.
    pub delay: Option<i64>,
}

#[derive(Default)]
pub struct LossRecovery {
    /// Repairs go on until this is acknowledged, and whether the timer began them.
    pub recover: i64,
    pub by_timer: bool,
    /// A tail loss probe stands for all up to here.
    pub probed: i64,
    pub episode_end: i64,
    pub episodes: u64,
    pub resent: VecDeque<Retransmission>,
    /// The highest end of a retransmission.
    resent_top: i64,
    pub gaps: Vec<SequenceGap>,
    pub reordered: u64,
    pub reordering_packets: u64,
    pub reordering_bytes: i64,
    pub reordering_time: i64,
    /// Gaps that were repaired: losses before the capture.
    pub repaired: u64,
    /// Losses that were not soon after others, and the delay above the least before each.
    pub events: u64,
    pub delays: Samples,
    last_event: i64,
    /// How long the sender waited for a timer.
    pub timeouts: i64,
    /// The first and the last packet that repaired a loss.
    pub packets: (u32, u32),
    /// Repairs of what the receiver held.
    pub held: u64,
}

/// What is known of the sender when it repeats a segment.
pub struct SenderSituation {
    pub now: i64,
    pub first: i64,
    pub end: i64,
    /// The end of all that was sent, and what is acknowledged since when.
    pub next: i64,
    pub acknowledged: i64,
    pub acknowledged_time: i64,
    pub last_received: i64,
    /// When this segment was sent last, and how often it was retransmitted before.
    pub sent: i64,
    pub again: u32,
    /// Whether both sides permit SACK, and the end of the highest block.
    pub sack: bool,
    pub sacked_top: i64,
    pub duplicates: u32,
    /// Bytes that one segment holds at most, and the smoothed round trip if one was measured.
    pub size: i64,
    pub rtt: Option<i64>,
    /// How much longer than the shortest round trip the last ones were.
    pub queueing: Option<i64>,
}

impl SenderSituation {
    fn timer(&self) -> i64 {
        match self.rtt {
            Some(mean) => (2 * mean).max(SHORTEST_TIMER),
            None => TIMER_UNMEASURED,
        }
    }

    fn passed(&self) -> i64 {
        self.now - self.sent.max(self.acknowledged_time)
    }

    fn sign(&self) -> bool {
        let few = (self.next - self.acknowledged) < 4 * self.size;
        self.sacked_top > self.first || self.duplicates >= 3 || (few && self.duplicates >= 1)
    }

    /// An ACK that just came explains a repetition better than a timer does. Without SACK none
    /// tells the sender that a retransmission was lost.
    fn prompted(&self) -> bool {
        let soon = self.rtt.map_or(MILLISECOND, |rtt| rtt >> 3);
        let acknowledged = self.sacked_top > self.first || (self.again == 0 && self.sign());
        acknowledged && self.now - self.last_received < soon
    }

    fn head(&self) -> bool {
        self.first <= self.acknowledged
    }

    fn by_tail_probe(&self, probed: i64) -> bool {
        let waited = self.rtt.map_or(TIMER_UNMEASURED, |rtt| 2 * rtt) + PROBE_DELAY;
        self.sack
            && self.end == self.next
            && self.again == 0
            && self.next > probed
            && !self.sign()
            && self.passed() > self.rtt.unwrap_or(0).max(MILLISECOND)
            && (!self.head() || self.passed() <= waited)
    }

    fn by_timer(&self) -> bool {
        self.head() && self.passed() >= self.timer() && !self.prompted()
    }
}

impl LossRecovery {
    /// The kind of a repetition by the sender, and what follows from it for the next ones.
    pub fn classify(&mut self, about: &SenderSituation) -> u8 {
        let repairing = about.acknowledged < self.recover;
        let waited = about.passed();
        let chosen = if about.by_tail_probe(self.probed) {
            self.probed = about.next;
            self.timeouts += waited;
            kind::TLP
        } else if about.by_timer() {
            (self.recover, self.by_timer) = (about.next, true);
            self.timeouts += waited;
            kind::RTO
        } else if repairing && self.by_timer {
            kind::RTO
        } else if about.sign() || repairing {
            if !repairing {
                (self.recover, self.by_timer) = (about.next, false);
            }
            if about.sack {
                kind::SACK
            } else {
                kind::FAST
            }
        } else {
            kind::OTHER
        };
        if about.acknowledged >= self.episode_end {
            self.episodes += 1;
            self.episode_end = about.next;
            self.event(about.queueing);
        }
        chosen
    }

    fn event(&mut self, delay: Option<i64>) {
        self.events += 1;
        delay.into_iter().for_each(|delay| self.delays.add(delay, false));
    }

    /// A packet repaired a loss.
    pub fn found_by(&mut self, packet: u32) {
        let first = if self.packets.0 == 0 { packet } else { self.packets.0 };
        self.packets = (first, packet);
    }

    pub fn remember(&mut self, resent: Retransmission) {
        if self.resent.len() == REMEMBERED {
            self.resent.pop_front();
        }
        self.resent_top = self.resent_top.max(resent.end);
        self.resent.push_back(resent);
    }

    /// The newest retransmission that a duplicate report names: the peer had these bytes before.
    /// Each is named once; None too if an echo showed the same before.
    pub fn reported(&mut self, left: i64, right: i64) -> Option<Retransmission> {
        let named = |resent: &&mut Retransmission| {
            !resent.reported && resent.first < right && resent.end > left
        };
        let resent = self.resent.iter_mut().rev().find(named)?;
        let before = *resent;
        (resent.reported, resent.needless) = (true, true);
        if before.needless {
            None
        } else {
            Some(before)
        }
    }

    /// The end of all that is repaired or was repeated.
    pub fn end(&self) -> i64 {
        self.recover.max(self.resent_top)
    }

    /// Whether an ACK that newly covers bytes from here on may tell of a retransmission.
    #[inline(always)]
    pub fn may_be_echoed(&self, from: i64) -> bool {
        from < self.resent_top
    }

    /// The retransmissions of the first byte that an ACK newly covers whose timestamps are later
    /// than the ACK's echo: an earlier transmission arrived. Of the bytes behind it a delayed ACK
    /// tells nothing (RFC 7323, section 4.3).
    pub fn echoed(&mut self, from: i64, echo: u32) -> Vec<Retransmission> {
        let mut found = Vec::new();
        for resent in &mut self.resent {
            let covered = resent.first <= from && resent.end > from && !resent.needless;
            if covered
                && matches!(resent.timestamp, Some(sent) if (sent.wrapping_sub(echo) as i32) > 0)
            {
                resent.needless = true;
                found.push(*resent);
            }
        }
        found
    }

    /// Without SACK, the repairs that an ACK from `from` to `to` covers behind its first.
    ///
    /// A receiver acknowledges the repair of a gap at once (RFC 5681, section 4.2), so it held the
    /// rest.
    pub fn hold(&mut self, from: i64, to: i64) {
        if !self.resent.iter().any(|resent| resent.first <= from && resent.end > from) {
            return;
        }
        for resent in &mut self.resent {
            let is_behind = resent.first > from && resent.end <= to;
            if is_behind && !resent.needless && !resent.held {
                resent.held = true;
                self.held += 1;
            }
        }
    }

    pub fn open(&mut self, gap: SequenceGap) {
        if self.gaps.len() == REMEMBERED {
            self.gaps.remove(0);
        }
        self.gaps.push(gap);
    }

    /// A packet fills bytes passed over before: was it overtaken, or retransmitted after a loss
    /// that was not seen?
    pub fn fill(
        &mut self,
        first: i64,
        end: i64,
        now: i64,
        timestamp: Option<u32>,
        about: (i64, u64, Option<i64>),
    ) {
        let (next, packets, rtt) = about;
        let at = match self.gaps.iter().position(|gap| first < gap.right && end > gap.left) {
            Some(at) => at,
            None => return,
        };
        let gap = self.gaps[at];
        if first <= gap.left && end >= gap.right {
            self.gaps.remove(at);
        } else if first <= gap.left {
            self.gaps[at].left = end;
        } else if end >= gap.right {
            self.gaps[at].right = first;
        }
        let passed = (now - gap.time).max(0);
        let quick = rtt.map_or(passed < OVERTAKEN, |rtt| passed < rtt - rtt / 4);
        let older = match (timestamp, gap.timestamp) {
            (Some(mine), Some(its)) if mine != its => (mine.wrapping_sub(its) as i32) < 0,
            _ => quick,
        };
        if !older {
            self.repaired += 1;
            if gap.time - self.last_event > rtt.unwrap_or(OVERTAKEN) {
                self.last_event = gap.time;
                self.event(gap.delay);
            }
        }
        if older {
            self.reordered += 1;
            self.reordering_packets = self.reordering_packets.max(packets - gap.packets);
            self.reordering_bytes = self.reordering_bytes.max(next - first);
            self.reordering_time = self.reordering_time.max(passed);
        }
    }
}
