//! The timestamps that one direction sent and the other has not echoed yet, with their times.

use crate::queue::Queue;

const MOST: usize = 512;

#[derive(Default)]
pub struct UnansweredStamps {
    pub list: Queue<(u32, i64)>,
    /// The last value of the list, if there is one: to look there takes long.
    latest: u32,
}

impl UnansweredStamps {
    /// A segment that needs an answer carries `value`: the first with a value is remembered.
    #[inline(always)]
    pub fn sent(&mut self, value: u32, now: i64) {
        if !self.list.is_empty() && value.wrapping_sub(self.latest) as i32 <= 0 {
            return;
        }
        if self.list.len() == MOST {
            self.list.forget(1);
        }
        self.list.push((value, now));
        self.latest = value;
    }

    /// Whether a value is later than all that were sent, of which there must be one.
    pub fn is_newer(&self, value: u32) -> bool {
        value.wrapping_sub(self.latest) as i32 > 0
    }

    /// Whether a value is older than the latest that was sent.
    pub fn is_older(&self, value: u32) -> bool {
        (value.wrapping_sub(self.latest) as i32) < 0
    }

    /// The first echo of a value: when it was sent. Older ones will not be echoed any more.
    #[inline(always)]
    pub fn echoed(&mut self, echo: u32) -> Option<i64> {
        while let Some((sent, time)) = self.list.all().first().copied() {
            let ahead = sent.wrapping_sub(echo) as i32;
            if ahead > 0 {
                return None;
            }
            self.list.forget(1);
            if ahead == 0 {
                return Some(time);
            }
        }
        None
    }
}
