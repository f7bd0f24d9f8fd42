//! What one direction has sent: a list of segments ordered by sequence, each with when it was last
//! sent, how often it was retransmitted, and whether it was acknowledged. Acknowledged neighbours
//! at the front become one. The rules of counting are tcptrace's (its manual, and its behaviour);
//! numbers are relative and of 64 bit.

use crate::queue::Queue;
use crate::sent_segment::{Exact, Sent};

/// Longest list; beyond it the two oldest entries become one, as if both were acknowledged.
const LONGEST: usize = 65536;
/// Longest list while the peer is not seen, so that nothing is ever acknowledged.
const LONGEST_ALONE: usize = 1024;
/// Most acknowledged pieces with gaps between them; beyond it the oldest gap counts as filled.
const MOST_PIECES: usize = 64;

/// What `add` found: bytes seen before, and how the first of them was sent.
#[derive(Clone, Copy, Default, Debug)]
pub struct SegmentRepetition {
    pub again: i64,
    pub out_of_order: bool,
    /// When the first repeated piece was sent last, and how often it was retransmitted before.
    pub earlier: Option<(i64, u32)>,
}

/// What an ACK meant.
#[derive(Clone, Copy, Default, Debug)]
pub struct Acked {
    pub exact: Option<Exact>,
    /// How many segments are acknowledged only by this one of a later segment.
    pub cumulatively: u64,
    /// The time of the newest data that it covers, if that is a sample.
    pub sample: Option<i64>,
}

/// First what packets ask for that acknowledge nothing new.
#[derive(Debug)]
#[repr(C)]
pub struct Scoreboard {
    /// The latest ACK, if the same once more changes nothing.
    settled: i64,
    /// The end of the list's last segment, if there is one: to look there takes long.
    end: i64,
    pub list: Queue<Sent>,
}

impl Default for Scoreboard {
    fn default() -> Scoreboard {
        Scoreboard { settled: i64::MIN, end: i64::MIN, list: Queue::default() }
    }
}

impl Scoreboard {
    /// `resent` takes the time since the last transmission and the count of each retransmitted
    /// unacknowledged segment. What is sent comes in parts, so that it is made where it stays: what
    /// was just written word by word stalls the processor when it is copied in larger pieces.
    #[inline(always)]
    pub fn add(
        &mut self,
        (first, end, now): (i64, i64, i64),
        alone: bool,
        resent: impl FnMut(i64, u32),
    ) -> SegmentRepetition {
        let mut added = SegmentRepetition::default();
        if first < self.end {
            added = self.insert(Sent::new(first, end, now), resent);
        } else {
            self.list.push(Sent::new(first, end, now));
        }
        self.end = self.end.max(end);
        if first < self.settled {
            self.settled = i64::MIN;
        }
        if self.list.len() > LONGEST_ALONE && (alone || self.list.len() > LONGEST) {
            self.merge_oldest();
        }
        added
    }

    fn merge_oldest(&mut self) {
        self.settled = i64::MIN;
        if let [oldest, next, ..] = self.list.all_mut() {
            next.reach(oldest.first(), next.end);
            next.time = next.time.max(oldest.time);
            next.set_acks(next.acks().max(1));
            self.list.forget(1);
        }
    }

    #[cold]
    fn insert(&mut self, sent: Sent, mut resent: impl FnMut(i64, u32)) -> SegmentRepetition {
        let mut added = SegmentRepetition::default();
        let (mut first, end) = (sent.first(), sent.end);
        let mut at = self.list.all().partition_point(|known| known.end <= first);
        while at < self.list.len() {
            let found = self.list.all()[at];
            if first < found.first() {
                added.out_of_order |= end < found.end;
                self.list.insert(at, Sent::new(first, end.min(found.first()), sent.time));
                at += 1;
                if end <= found.first() {
                    return added;
                }
                first = found.first();
            }
            self.repeat(at, sent.time, &mut added, &mut resent);
            added.again += end.min(found.end) - first;
            if end <= found.end {
                return added;
            }
            first = found.end;
            at += 1;
        }
        self.list.push(Sent::new(first, end, sent.time));
        added
    }

    fn repeat(
        &mut self,
        at: usize,
        now: i64,
        added: &mut SegmentRepetition,
        resent: &mut impl FnMut(i64, u32),
    ) {
        let sent = &mut self.list.all_mut()[at];
        sent.count_again();
        if added.earlier.is_some() {
            return;
        }
        added.earlier = Some((sent.time, sent.again() - 1));
        if sent.acks() == 0 {
            resent((now - sent.time).max(0), sent.again());
        }
        sent.time = now;
    }

    /// When just these numbers were sent last, if they await their ACK.
    pub fn sent_at(&self, first: i64, end: i64) -> Option<i64> {
        let list = self.list.all();
        let sent = list.get(list.partition_point(|known| known.end <= first))?;
        let is_same = sent.first() == first && sent.end == end && sent.acks() == 0;
        is_same.then_some(sent.time)
    }

    /// Whether an ACK changes nothing, unless it is a duplicate.
    #[inline(always)]
    pub fn is_settled(&self, ack: i64) -> bool {
        ack == self.settled
    }

    /// Takes an ACK; `duplicate` says whether it is one.
    #[inline(always)]
    pub fn acknowledge(&mut self, ack: i64, now: i64, duplicate: bool) -> Acked {
        let mut acked = Acked::default();
        let (mut covered, mut newly, mut joined) = (0, 0, true);
        let (mut latest, mut latest_new, mut end) = (i64::MIN, i64::MIN, i64::MIN);
        for sent in self.list.all_mut() {
            if ack <= sent.first() {
                break;
            }
            joined &= covered == 0 || end == sent.first();
            (covered, end) = (covered + 1, sent.end);
            latest = latest.max(sent.time);
            if sent.acks() > 0 {
                acked.exact = sent.acknowledge_again(ack, duplicate);
                continue;
            }
            sent.set_acks(1);
            newly += 1;
            latest_new = latest_new.max(sent.time);
            let time = (now - sent.time).max(0);
            acked.sample =
                if sent.again() == 0 && latest_new <= sent.time { Some(time) } else { None };
            if ack == sent.end {
                acked.exact =
                    Some(Exact::Newly { time, size: sent.size(), worth: sent.worth(latest) });
            }
        }
        self.settled = if duplicate { i64::MIN } else { ack };
        acked.cumulatively = newly - u64::from(matches!(acked.exact, Some(Exact::Newly { .. })));
        if newly > 0 && covered > 1 {
            if joined {
                self.join(covered, latest);
            } else {
                self.collapse(covered);
            }
        }
        acked
    }

    /// Makes one of the first `covered` segments, between which there are no gaps.
    #[inline(always)]
    fn join(&mut self, covered: usize, latest: i64) {
        let list = self.list.all_mut();
        let oldest = list[0];
        let last = &mut list[covered - 1];
        last.begin_with(&oldest);
        last.time = latest;
        self.list.forget(covered - 1);
    }

    /// Makes one of acknowledged neighbours among the first `covered` segments.
    #[cold]
    fn collapse(&mut self, covered: usize) {
        let list = self.list.all_mut();
        let mut kept = 0;
        for at in 1..covered {
            let next = list[at];
            let last = &mut list[kept];
            if last.end == next.first() {
                last.reach(last.first(), next.end);
                last.time = last.time.max(next.time);
                last.set_acks(next.acks());
            } else {
                kept += 1;
                list[kept] = next;
            }
            if kept > MOST_PIECES {
                fill_oldest_gap(&mut list[..=kept]);
                kept -= 1;
            }
        }
        let gone = covered - 1 - kept;
        list.copy_within(..=kept, gone);
        self.list.forget(gone);
    }
}

fn fill_oldest_gap(list: &mut [Sent]) {
    let (oldest, next) = (list[0], list[1]);
    list[1].reach(oldest.first(), next.end);
    list[1].time = oldest.time.max(next.time);
    list.copy_within(1.., 0);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn add(board: &mut Scoreboard, first: i64, end: i64, now: i64) -> SegmentRepetition {
        board.add((first, end, now), false, |_, _| {})
    }

    #[test]
    fn what_was_seen_before_is_counted_once() {
        let mut board = Scoreboard::default();
        assert_eq!(add(&mut board, 0, 100, 1).again, 0);
        assert_eq!(add(&mut board, 200, 300, 2).again, 0);
        let across = add(&mut board, 50, 350, 3);
        assert_eq!((across.again, across.out_of_order, across.earlier), (150, false, Some((1, 0))));
        let inside = add(&mut board, 120, 130, 4);
        assert_eq!((inside.again, inside.earlier), (10, Some((3, 0))));
    }

    #[test]
    fn a_gap_that_is_filled_is_out_of_order_and_not_sent_again() {
        let mut board = Scoreboard::default();
        add(&mut board, 0, 100, 1);
        add(&mut board, 200, 300, 2);
        let filled = add(&mut board, 100, 200, 3);
        assert_eq!((filled.again, filled.out_of_order), (0, true));
    }

    #[test]
    fn only_segments_sent_once_and_last_give_samples() {
        let mut board = Scoreboard::default();
        add(&mut board, 0, 100, 10);
        add(&mut board, 100, 200, 20);
        assert_eq!(board.acknowledge(100, 50, false).sample, Some(40));
        add(&mut board, 100, 200, 60);
        assert_eq!(board.acknowledge(200, 70, false).sample, None);
    }

    #[test]
    fn the_list_stays_short() {
        let mut board = Scoreboard::default();
        for at in 0..200_000 {
            add(&mut board, at * 20, at * 20 + 10, at);
        }
        assert!(board.list.len() <= LONGEST);
        board.acknowledge(4_000_000, 1, false);
        assert!(board.list.len() <= MOST_PIECES + 2);
        assert_eq!(board.list.all()[0].first(), 0);
    }
}
