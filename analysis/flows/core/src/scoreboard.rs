//! What one direction has sent: a list of segments ordered by sequence, each with when it was last sent, how often it
//! was sent again, and whether it was acknowledged. Acknowledged neighbours at the front become one.
//! The rules of counting are tcptrace's (its manual, and its behaviour); numbers are relative and of 64 bit.

use std::collections::VecDeque;

/// Longest list; beyond it the two oldest entries become one, as if both were acknowledged.
const LONGEST: usize = 65536;
/// Longest list while the peer is not seen, so that nothing is ever acknowledged.
const LONGEST_ALONE: usize = 1024;
/// Most acknowledged pieces with gaps between them; beyond it the oldest gap counts as filled.
const MOST_PIECES: usize = 64;

#[derive(Clone, Copy, Debug)]
pub struct Sent {
    pub first: i64,
    pub end: i64,
    /// When it was sent last.
    pub time: i64,
    pub again: u32,
    /// How often it was acknowledged, duplicates included.
    pub acknowledged: u32,
}

/// What `add` found: bytes seen before, and how the first of them was sent.
#[derive(Clone, Copy, Default, Debug)]
pub struct Added {
    pub again: i64,
    pub out_of_order: bool,
    /// When the first repeated piece was sent last, and how often it was sent again before.
    pub earlier: Option<(i64, u32)>,
}

/// What an ACK meant for one segment.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Acked {
    /// Its end is acknowledged: the time since it was sent, its size, and what the time is worth.
    Exactly { time: i64, size: i64, worth: Worth },
    /// A later one's ACK covers it.
    Cumulatively,
    /// Its end is acknowledged again; how often by now.
    Again(u32),
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Worth {
    Sample,
    Ambiguous,
    AfterLoss,
}

#[derive(Default, Debug)]
pub struct Scoreboard {
    list: VecDeque<Sent>,
}

impl Sent {
    #[inline(always)]
    pub fn new(first: i64, end: i64, time: i64) -> Sent {
        Sent { first, end, time, again: 0, acknowledged: 0 }
    }
}

impl Scoreboard {
    /// `resent` takes the time since the last transmission and the count of each unacknowledged segment sent again.
    /// `added` stays as it is where nothing is repeated.
    #[inline(always)]
    pub fn add(&mut self, sent: Sent, alone: bool, added: &mut Added, resent: impl FnMut(i64, u32)) {
        match self.list.back() {
            Some(last) if sent.first < last.end => self.insert(sent, added, resent),
            _ => self.list.push_back(sent),
        }
        if self.list.len() > LONGEST_ALONE && (alone || self.list.len() > LONGEST) {
            self.merge_oldest();
        }
    }

    fn merge_oldest(&mut self) {
        if let Some(oldest) = self.list.pop_front() {
            let next = &mut self.list[0];
            next.first = oldest.first;
            next.time = next.time.max(oldest.time);
            next.acknowledged = next.acknowledged.max(1);
        }
    }

    fn insert(&mut self, sent: Sent, added: &mut Added, mut resent: impl FnMut(i64, u32)) {
        let Sent { mut first, end, .. } = sent;
        let mut at = self.list.partition_point(|known| known.end <= first);
        while at < self.list.len() {
            let found = self.list[at];
            if first < found.first {
                added.out_of_order |= end < found.end;
                self.list.insert(at, Sent { first, end: end.min(found.first), ..sent });
                at += 1;
                if end <= found.first {
                    return;
                }
                first = found.first;
            }
            self.repeat(at, sent.time, added, &mut resent);
            added.again += end.min(found.end) - first;
            if end <= found.end {
                return;
            }
            first = found.end;
            at += 1;
        }
        self.list.push_back(Sent { first, ..sent });
    }

    fn repeat(&mut self, at: usize, now: i64, added: &mut Added, resent: &mut impl FnMut(i64, u32)) {
        let sent = &mut self.list[at];
        sent.again = sent.again.saturating_add(1);
        if added.earlier.is_some() {
            return;
        }
        added.earlier = Some((sent.time, sent.again - 1));
        if sent.acknowledged == 0 {
            resent((now - sent.time).max(0), sent.again);
        }
        sent.time = now;
    }

    /// Takes an ACK; `duplicate` says whether it is one. The time of the newest data it covers, if that is a sample.
    #[inline(always)]
    pub fn acknowledge(&mut self, ack: i64, now: i64, duplicate: bool, mut told: impl FnMut(Acked)) -> Option<i64> {
        let (mut covered, mut changed) = (0, false);
        let (mut latest, mut latest_new, mut sample) = (i64::MIN, i64::MIN, None);
        for sent in self.list.iter_mut() {
            if ack <= sent.first {
                break;
            }
            covered += 1;
            latest = latest.max(sent.time);
            let exact = ack == sent.end;
            if sent.acknowledged > 0 {
                sent.acknowledged = if exact && duplicate { sent.acknowledged.saturating_add(1) } else { 1 };
                if exact && duplicate {
                    told(Acked::Again(sent.acknowledged));
                }
                continue;
            }
            sent.acknowledged = 1;
            changed = true;
            latest_new = latest_new.max(sent.time);
            let time = (now - sent.time).max(0);
            sample = if sent.again == 0 && latest_new <= sent.time { Some(time) } else { None };
            told(if exact {
                let worth = if latest > sent.time {
                    Worth::AfterLoss
                } else if sent.again > 0 {
                    Worth::Ambiguous
                } else {
                    Worth::Sample
                };
                Acked::Exactly { time, size: sent.end - sent.first, worth }
            } else {
                Acked::Cumulatively
            });
        }
        if changed && covered > 1 {
            self.collapse(covered);
        }
        sample
    }

    /// Makes one of acknowledged neighbours among the first `covered` segments.
    fn collapse(&mut self, covered: usize) {
        let mut kept = 0;
        for at in 1..covered {
            let next = self.list[at];
            let last = &mut self.list[kept];
            if last.end == next.first {
                last.end = next.end;
                last.time = last.time.max(next.time);
                last.acknowledged = next.acknowledged;
            } else {
                kept += 1;
                self.list[kept] = next;
            }
            if kept > MOST_PIECES {
                self.fill_oldest_gap(kept);
                kept -= 1;
            }
        }
        let gone = covered - 1 - kept;
        for at in (0..=kept).rev() {
            self.list[at + gone] = self.list[at];
        }
        self.list.drain(..gone);
    }

    fn fill_oldest_gap(&mut self, kept: usize) {
        let (oldest, next) = (self.list[0], self.list[1]);
        self.list[1] = Sent { first: oldest.first, time: oldest.time.max(next.time), ..next };
        for at in 0..kept {
            self.list[at] = self.list[at + 1];
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn add(board: &mut Scoreboard, first: i64, end: i64, now: i64) -> Added {
        let mut added = Added::default();
        board.add(Sent::new(first, end, now), false, &mut added, |_, _| {});
        added
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
        assert_eq!(board.acknowledge(100, 50, false, |_| {}), Some(40));
        add(&mut board, 100, 200, 60);
        assert_eq!(board.acknowledge(200, 70, false, |_| {}), None);
    }

    #[test]
    fn the_list_stays_short() {
        let mut board = Scoreboard::default();
        for at in 0..200_000 {
            add(&mut board, at * 20, at * 20 + 10, at);
        }
        assert!(board.list.len() <= LONGEST);
        board.acknowledge(4_000_000, 1, false, |_| {});
        assert!(board.list.len() <= MOST_PIECES + 2);
        assert_eq!(board.list[0].first, 0);
    }
}
