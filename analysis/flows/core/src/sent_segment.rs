//! A segment that was sent. It takes few bytes: an ACK reads the first ones of a list of them, and
//! with many connections these have to be fetched from outside the processor's nearer caches.

/// More ACKs of a segment than this are not told apart.
const MOST_ACKS: u32 = 7;
/// What a retransmission adds to `counts`; what is less is the number of ACKs.
const ONCE: u32 = MOST_ACKS + 1;

#[derive(Clone, Copy, Debug)]
pub struct Sent {
    pub end: i64,
    /// When it was sent last.
    pub time: i64,
    /// Of a longer one, that others were joined to, only so much is remembered: no sequence number
    /// on the wire, of 32 bits, means what lies before.
    length: u32,
    counts: u32,
}

/// What an ACK meant for the segment that ends where it points to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Exact {
    /// It is acknowledged: the time since it was sent, its size, and what the time is worth.
    Newly { time: i64, size: i64, worth: Worth },
    /// It is acknowledged again; how often by now.
    Again(u32),
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Worth {
    Sample,
    Ambiguous,
    AfterLoss,
}

impl Sent {
    #[inline(always)]
    pub fn new(first: i64, end: i64, time: i64) -> Sent {
        Sent { end, time, length: length(first, end), counts: 0 }
    }

    #[inline(always)]
    pub fn first(&self) -> i64 {
        self.end - self.size()
    }

    #[inline(always)]
    pub fn size(&self) -> i64 {
        self.length.into()
    }

    /// How often it was retransmitted.
    #[inline(always)]
    pub fn again(&self) -> u32 {
        self.counts / ONCE
    }

    /// How often it was acknowledged, duplicates included.
    #[inline(always)]
    pub fn acks(&self) -> u32 {
        self.counts % ONCE
    }

    #[inline(always)]
    pub fn set_acks(&mut self, acks: u32) {
        self.counts = self.counts - self.acks() + acks.min(MOST_ACKS);
    }

    pub fn count_again(&mut self) {
        self.counts = self.counts.checked_add(ONCE).unwrap_or(self.counts);
    }

    /// Counts as retransmitted as often as an older one that it is joined to, and begins with it.
    #[inline(always)]
    pub fn begin_with(&mut self, older: &Sent) {
        self.length = length(older.first(), self.end);
        self.counts = older.counts - older.acks() + self.acks();
    }

    /// Makes it longer at either end.
    pub fn reach(&mut self, first: i64, end: i64) {
        (self.length, self.end) = (length(first, end), end);
    }

    /// Takes another ACK of an acknowledged segment; an ACK of just this segment is reported.
    #[inline(always)]
    pub fn acknowledge_again(&mut self, ack: i64, duplicate: bool) -> Option<Exact> {
        if duplicate && ack == self.end {
            self.set_acks(self.acks() + 1);
            return Some(Exact::Again(self.acks()));
        }
        self.set_acks(1);
        None
    }

    /// What the time until its ACK is worth; `latest` is when the newest that is covered with it
    /// was sent.
    #[inline(always)]
    pub fn worth(&self, latest: i64) -> Worth {
        if latest > self.time {
            Worth::AfterLoss
        } else if self.again() > 0 {
            Worth::Ambiguous
        } else {
            Worth::Sample
        }
    }
}

#[inline(always)]
fn length(first: i64, end: i64) -> u32 {
    u32::try_from(end - first).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn retransmissions_and_acks_are_counted_apart() {
        let mut sent = Sent::new(10, 30, 1);
        assert_eq!((sent.first(), sent.size(), sent.again(), sent.acks()), (10, 20, 0, 0));
        sent.set_acks(1);
        sent.count_again();
        let exact = (2..20).map(|_| sent.acknowledge_again(30, true)).collect::<Vec<_>>();
        assert_eq!(exact[..3], [2, 3, 4].map(|times| Some(Exact::Again(times))));
        assert_eq!((sent.again(), sent.acks()), (1, MOST_ACKS));
        sent.count_again();
        assert_eq!(sent.acknowledge_again(29, true), None);
        assert_eq!((sent.again(), sent.acks()), (2, 1));
    }

    #[test]
    fn what_is_longer_than_sequence_numbers_reach_keeps_its_end() {
        let mut sent = Sent::new(0, 10, 1);
        sent.reach(0, 1 << 33);
        assert_eq!((sent.end, sent.size()), (1 << 33, i64::from(u32::MAX)));
        let mut next = Sent::new(1 << 33, (1 << 33) + 10, 2);
        next.begin_with(&sent);
        assert_eq!((next.end, next.size()), ((1 << 33) + 10, i64::from(u32::MAX)));
    }
}
