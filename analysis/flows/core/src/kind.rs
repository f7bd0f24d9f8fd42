//! The kinds of packets; kinds.csv has their meaning.

pub const NONE: u8 = 0;
pub const NEW: u8 = 1;
pub const FAST: u8 = 2;
pub const SACK: u8 = 3;
pub const RTO: u8 = 4;
pub const TLP: u8 = 5;
pub const SPURIOUS: u8 = 6;
pub const KEEPALIVE: u8 = 7;
pub const PROBE: u8 = 8;
pub const SYN: u8 = 9;
pub const OTHER: u8 = 10;
pub const LATE: u8 = 11;
pub const COPY: u8 = 12;
pub const FIN: u8 = 13;
pub const FASTOPEN: u8 = 14;
pub const COUNT: usize = 15;
