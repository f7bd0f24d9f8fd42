//! The newest window of the peer (RFC 9293, section 3.10.7.4, with SND.WL1 and SND.WL2; a window of
//! 0 counts at once, as in tcp_may_update_window of net/ipv4/tcp_input.c). Its edge may go back.

use crate::optional_number::OptionalNumber;

#[derive(Default)]
pub struct WindowOffer {
    /// The first byte that is not allowed, if a window was seen.
    edge: OptionalNumber,
    acknowledgement: i64,
    sequence: i64,
}

impl WindowOffer {
    /// Takes a segment of the peer with its numbers and window; false if it says nothing new, for
    /// example as it was overtaken.
    #[inline(always)]
    pub fn update(&mut self, sequence: i64, acknowledgement: i64, window: u64) -> bool {
        let edge = acknowledgement + window as i64;
        let order = (acknowledgement, sequence).cmp(&(self.acknowledgement, self.sequence));
        match self.edge.get() {
            Some(known) if order.is_lt() || (order.is_eq() && window > 0 && edge <= known) => false,
            _ => {
                (self.edge, self.acknowledgement, self.sequence) =
                    (edge.into(), acknowledgement, sequence);
                true
            }
        }
    }

    /// A third of the window. Linux waits until so much of it is free, to send more at once
    /// (tcp_tso_should_defer of net/ipv4/tcp_output.c).
    #[inline(always)]
    pub fn third(&self) -> i64 {
        self.edge.get().map_or(0, |edge| (edge - self.acknowledgement).div_euclid(3))
    }

    /// Whether less than `least` is left behind `end`.
    #[inline(always)]
    pub fn is_full(&self, acknowledged: i64, end: i64, least: i64) -> bool {
        self.room(end) < least && !self.is_passed(acknowledged, end, least)
    }

    /// Whether clearly more was sent than is allowed, and not because the window closed: the
    /// capture lacks ACKs.
    #[inline(always)]
    pub fn is_passed(&self, acknowledged: i64, end: i64, least: i64) -> bool {
        self.room(end) <= -least && self.room(acknowledged) > 0
    }

    /// The first byte that is not allowed, if a window was seen.
    pub fn edge(&self) -> Option<i64> {
        self.edge.get()
    }

    /// Bytes between `end` and the edge.
    #[inline(always)]
    pub fn room(&self, end: i64) -> i64 {
        self.edge.get().map_or(i64::MAX, |edge| edge - end)
    }
}
