//! Bytes in flight over time, and what limited the sender meanwhile.

/// What limits a sender (docs/analysis.md): nothing more to come, the receiver's window, the
/// network, or the application, that left nothing or something in flight.
pub mod limit {
    pub const NONE: u8 = 0;
    pub const RECEIVER: u8 = 1;
    pub const NETWORK: u8 = 2;
    pub const IDLE: u8 = 3;
    pub const APPLICATION: u8 = 4;
}

/// How long each state lasted; there are five.
pub type Limited = [i64; 8];

/// Each of both is summed up only when it changes, until a clock that never goes back.
#[derive(Default)]
pub struct Usage {
    pub flight: i64,
    pub most: i64,
    flight_since: i64,
    state_since: i64,
    /// Bytes times nanoseconds.
    pub weighted: u128,
    pub state: u8,
}

impl Usage {
    pub fn since(time: i64) -> Usage {
        Usage { flight_since: time, state_since: time, ..Usage::default() }
    }

    pub fn advance(&mut self, clock: i64, limited: &mut Limited) {
        self.set_flight(self.flight, clock);
        self.set_state(self.state, clock, limited);
    }

    #[inline(always)]
    pub fn set_flight(&mut self, flight: i64, clock: i64) {
        let passed = clock - self.flight_since;
        self.weighted = self.weighted.saturating_add((self.flight as u128) * (passed as u128));
        (self.flight, self.flight_since) = (flight, clock);
        self.most = self.most.max(flight);
    }

    pub fn set_state(&mut self, state: u8, clock: i64, limited: &mut Limited) {
        limited[usize::from(self.state & 7)] += clock - self.state_since;
        (self.state, self.state_since) = (state, clock);
    }
}
