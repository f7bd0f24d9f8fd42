//! When each cause limited a sender. Of many intervals neighbours become one, so that memory is
//! bounded; no time is lost.

use crate::usage::{limit, STATES};

/// Intervals of a direction that are remembered.
const MOST: usize = 2048;
/// The causes by their names in the table.
const CAUSES: [(u8, &str); 4] = [
    (limit::RECEIVER, "receiver"),
    (limit::NETWORK, "network"),
    (limit::APPLICATION, "waiting"),
    (limit::IDLE, "idle"),
];

/// From one moment to another, and how much of it each cause has: all, if it was not joined.
#[derive(Clone, Copy)]
struct LimitSpan {
    since: i64,
    until: i64,
    times: [i64; STATES],
}

impl LimitSpan {
    fn join(&mut self, later: &LimitSpan) {
        self.until = later.until;
        self.times.iter_mut().zip(later.times).for_each(|(time, more)| *time += more);
    }

    /// Whether the later one goes on with the only cause of this.
    fn goes_on(&self, later: &LimitSpan) -> bool {
        let is_used = |span: &LimitSpan| span.times.map(|time| time > 0);
        let is_one = self.times.iter().filter(|time| **time > 0).count() == 1;
        is_one && self.until == later.since && is_used(self) == is_used(later)
    }
}

#[derive(Clone, Default)]
pub struct LimitHistory {
    spans: Vec<LimitSpan>,
    /// Neighbours that together are no longer than this become one.
    grain: i64,
}

impl LimitHistory {
    pub fn add(&mut self, state: usize, since: i64, until: i64) {
        if state == usize::from(limit::NONE) || until <= since {
            return;
        }
        let mut times = [0; STATES];
        times[state] = until - since;
        self.push(LimitSpan { since, until, times });
        if self.spans.len() > MOST {
            self.coarsen();
        }
    }

    fn push(&mut self, span: LimitSpan) {
        match self.spans.last_mut() {
            Some(last) if span.until - last.since <= self.grain || last.goes_on(&span) => {
                last.join(&span);
            }
            _ => self.spans.push(span),
        }
    }

    /// Leaves about half of the spans: any two neighbours are longer than the grain.
    fn coarsen(&mut self) {
        let spans = std::mem::take(&mut self.spans);
        if let (Some(first), Some(last)) = (spans.first(), spans.last()) {
            self.grain = (last.until - first.since) / (MOST as i64 / 4);
        }
        spans.into_iter().for_each(|span| self.push(span));
    }
}

/// Rows of the table of limits: one for each cause of each span.
#[derive(Default)]
pub struct LimitRows {
    pub connection: Vec<u32>,
    pub forward: Vec<bool>,
    pub cause: Vec<&'static str>,
    pub since: Vec<i64>,
    pub until: Vec<i64>,
    pub time: Vec<i64>,
}

impl LimitRows {
    pub fn add(&mut self, connection: u32, forward: bool, history: &LimitHistory) {
        for span in &history.spans {
            for (state, cause) in CAUSES {
                let time = span.times[usize::from(state)];
                if time > 0 {
                    self.connection.push(connection);
                    self.forward.push(forward);
                    self.cause.push(cause);
                    self.since.push(span.since);
                    self.until.push(span.until);
                    self.time.push(time);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NETWORK: usize = limit::NETWORK as usize;
    const RECEIVER: usize = limit::RECEIVER as usize;

    #[test]
    fn a_cause_that_goes_on_is_one_interval_and_no_cause_is_none() {
        let mut history = LimitHistory::default();
        for (state, since, until) in
            [(NETWORK, 0, 5), (NETWORK, 5, 9), (0, 9, 12), (NETWORK, 12, 13), (RECEIVER, 13, 13)]
        {
            history.add(state, since, until);
        }
        let ends = history.spans.iter().map(|span| (span.since, span.until, span.times[NETWORK]));
        assert!(ends.eq([(0, 9, 9), (12, 13, 1)]));
    }

    #[test]
    fn many_intervals_are_joined_and_lose_no_time() {
        let (mut history, mut sums) = (LimitHistory::default(), [0; STATES]);
        for at in 0..50_000 {
            let (state, length) = (1 + at % 4, 1 + (at * 7919 % 1000) as i64);
            let since = history.spans.last().map_or(0, |span| span.until);
            history.add(state, since, since + length);
            sums[state] += length;
            assert!(history.spans.len() <= MOST);
        }
        let mut found = [0; STATES];
        for span in &history.spans {
            found.iter_mut().zip(span.times).for_each(|(sum, time)| *sum += time);
            assert_eq!(span.times.iter().sum::<i64>(), span.until - span.since);
        }
        assert_eq!(found, sums);
        assert!(history.spans.len() > MOST / 8);
        let mut rows = LimitRows::default();
        rows.add(1, true, &history);
        assert_eq!(rows.time.iter().sum::<i64>(), sums.iter().sum::<i64>());
    }
}
