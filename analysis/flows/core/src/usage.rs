//! Bytes in flight over time, and what limited the sender meanwhile.

use crate::limit_history::LimitHistory;
use crate::sender_view::NEVER;

/// What limits a sender (docs/analysis.md): nothing more to come, the receiver's window, the
/// network, or the application, that left nothing or something in flight.
pub mod limit {
    pub const NONE: u8 = 0;
    pub const RECEIVER: u8 = 1;
    pub const NETWORK: u8 = 2;
    pub const IDLE: u8 = 3;
    pub const APPLICATION: u8 = 4;
}

pub const STATES: usize = limit::APPLICATION as usize + 1;

/// How long each state lasted, and the first and the last packet of it.
#[derive(Clone, Default)]
pub struct Limited {
    pub times: [i64; STATES],
    pub packets: [(u32, u32); STATES],
    /// The intervals, where they are asked for.
    pub history: Option<Box<LimitHistory>>,
}

impl Limited {
    pub fn add(&mut self, state: u8, (since, until): (i64, i64), packets: (u32, u32)) {
        let (at, time) = (usize::from(state).min(STATES - 1), until - since);
        self.times[at] += time;
        if let Some(history) = &mut self.history {
            history.add(at, since, until);
        }
        if time > 0 {
            let first = if self.packets[at].0 == 0 { packets.0 } else { self.packets[at].0 };
            self.packets[at] = (first, packets.1);
        }
    }
}

/// Each of both is summed up only when it changes, until a clock that never goes back.
#[derive(Default)]
pub struct Usage {
    pub flight: i64,
    pub most: i64,
    flight_since: i64,
    state_since: i64,
    /// Bytes times nanoseconds.
    pub weighted: u128,
    /// When a round ends (see `sender_view`). There are none near the sender.
    pub due: i64,
    /// The packet with which the state began.
    state_packet: u32,
    pub state: u8,
}

/// Of two numbers that are not negative: one multiplication.
#[inline(always)]
pub fn product(left: i64, right: i64) -> u128 {
    u128::from(left as u64) * u128::from(right as u64)
}

impl Usage {
    pub fn since(time: i64) -> Usage {
        Usage { flight_since: time, state_since: time, due: NEVER, ..Usage::default() }
    }

    pub fn advance(&mut self, clock: i64, packet: u32, limited: &mut Limited) {
        self.set_flight(self.flight, clock);
        self.set_state(self.state, clock, packet, limited);
    }

    #[inline(always)]
    pub fn set_flight(&mut self, flight: i64, clock: i64) {
        let passed = clock - self.flight_since;
        self.weighted = self.weighted.wrapping_add(product(self.flight, passed));
        (self.flight, self.flight_since) = (flight, clock);
        self.most = self.most.max(flight);
    }

    pub fn set_state(&mut self, state: u8, clock: i64, packet: u32, limited: &mut Limited) {
        limited.add(self.state, (self.state_since, clock), (self.state_packet, packet));
        (self.state, self.state_since, self.state_packet) = (state, clock, packet);
    }
}
