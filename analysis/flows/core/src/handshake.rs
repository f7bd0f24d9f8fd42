//! The handshake of a connection, and the place of the capture that its times show.

/// Where the capture was taken, as the handshake tells.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Vantage {
    #[default]
    Unknown,
    A,
    B,
    Middle,
}

/// One half of the handshake must take this many times the other for the capture to be at an end.
const NEARER: i64 = 5;

/// When the first SYN, the last SYN and the last SYN-ACK passed, the handshake's halves, and what
/// follows from them. The later half, which ends it, stands first: every packet asks for it.
#[derive(Default)]
#[repr(C)]
pub struct Handshake {
    pub inner: Option<i64>,
    pub first_syn: Option<i64>,
    pub syn_time: Option<i64>,
    pub syn_ack_time: Option<i64>,
    pub outer: Option<i64>,
    /// From the first SYN to the ACK of the SYN-ACK.
    pub whole: Option<i64>,
    pub vantage: Vantage,
    /// When that ACK passed.
    pub done: Option<i64>,
    /// Both ends sent a SYN before they saw the other's: its halves are no round trips.
    pub crossed: bool,
}

impl Handshake {
    /// Whether the capture was taken at the receiver of what this end sends.
    pub fn at_receiver(&self, forward: bool) -> bool {
        self.vantage == if forward { Vantage::B } else { Vantage::A }
    }

    /// The round trip, as far as it is known.
    pub fn trip(&self) -> Option<i64> {
        self.outer.map(|outer| outer + self.inner.unwrap_or(0))
    }
}

pub fn vantage(outer: i64, inner: i64) -> Vantage {
    match (inner.saturating_mul(NEARER) <= outer, outer.saturating_mul(NEARER) <= inner) {
        (true, true) => Vantage::Unknown,
        (true, false) => Vantage::A,
        (false, true) => Vantage::B,
        (false, false) => Vantage::Middle,
    }
}
