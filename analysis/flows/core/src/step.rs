//! What is known of the segment that a connection takes: its numbers, and what the steps find.

use crate::packet_rows::Rows;
use crate::scoreboard::SegmentRepetition;
use crate::tcp_options::MOST_BLOCKS;

/// What the caller knows of the run.
pub struct Place<'a> {
    pub number: u64,
    pub connection: u32,
    pub compatible: bool,
    pub rows: Option<&'a mut Rows>,
}

/// Blocks of SACK, relative like the ACK.
#[derive(Default)]
pub struct Sacks {
    pub all: [(i64, i64); MOST_BLOCKS],
    pub count: usize,
}

impl Sacks {
    #[inline(always)]
    pub fn blocks(&self) -> &[(i64, i64)] {
        &self.all[..self.count.min(MOST_BLOCKS)]
    }
}

/// A segment's numbers made relative, and what the steps find out on the way.
#[derive(Clone, Copy)]
pub struct Step {
    pub now: i64,
    /// The segment's flags but for PSH: a constant in the steps of plain segments.
    pub flags: u16,
    pub first: i64,
    pub end: i64,
    pub ack: Option<i64>,
    pub window: u32,
    pub payload: i64,
    pub probe: bool,
    pub copy: bool,
    pub added: SegmentRepetition,
    pub repeated: bool,
    pub dsack: bool,
    pub rtt: Option<i64>,
    pub kind: u8,
}
