//! The packets' frame: one vector per column, in pieces, so that growing copies nothing.

use crate::drawn_rows::DrawnRows;
use crate::segment::Segment;

pub const PIECE: usize = 1 << 18;

/// What the analysis adds to what the packet itself says.
pub struct Row<'a> {
    pub number: u64,
    pub connection: u32,
    pub forward: bool,
    pub sequence: i64,
    pub acknowledgement: Option<i64>,
    pub window: u64,
    pub sacks: &'a [(i64, i64)],
    pub dsack: bool,
    pub kind: u8,
    /// Of this direction, and of the other.
    pub in_flight: (i64, i64),
    pub rtt: Option<i64>,
}

/// Columns of up to PIECE rows. A column that may lack values has its `has_` beside it.
#[derive(Default)]
pub struct Piece {
    pub number: Vec<u64>,
    pub time: Vec<i64>,
    pub connection: Vec<u32>,
    pub forward: Vec<u8>,
    pub sequence: Vec<u64>,
    pub acknowledgement: Vec<u64>,
    pub has_acknowledgement: Vec<u8>,
    pub payload: Vec<u32>,
    pub window: Vec<u64>,
    pub flags: Vec<u16>,
    /// Row in this piece and value, for each edge of each block.
    pub sack_row: Vec<u32>,
    pub sack_value: Vec<u64>,
    pub dsack: Vec<u8>,
    pub timestamp: Vec<u32>,
    pub echo: Vec<u32>,
    pub has_timestamp: Vec<u8>,
    pub ip_id: Vec<u16>,
    pub has_ip_id: Vec<u8>,
    pub ecn: Vec<u8>,
    pub ttl: Vec<u8>,
    pub kind: Vec<u8>,
    pub in_flight: Vec<u64>,
    pub peer_in_flight: Vec<u64>,
    pub rtt: Vec<i64>,
    pub has_rtt: Vec<u8>,
}

#[derive(Default)]
pub struct Rows {
    pub pieces: Vec<Piece>,
    pub count: usize,
    /// The numbers of the records that are copies, unless rows are only drawn.
    pub copies: Vec<u64>,
    /// Instead of pieces.
    pub drawn: Option<DrawnRows>,
}

impl Rows {
    pub fn drawn(drawn: DrawnRows) -> Rows {
        Rows { drawn: Some(drawn), ..Rows::default() }
    }

    /// No rows yet, of the same packets.
    pub fn emptied(&self) -> Rows {
        Rows { drawn: self.drawn.as_ref().map(DrawnRows::emptied), ..Rows::default() }
    }

    /// Whether the packets of the connection with this number get rows.
    #[inline(always)]
    pub fn takes(&self, connection: u32) -> bool {
        self.drawn.as_ref().map_or(true, |drawn| drawn.takes(connection))
    }

    #[inline(always)]
    pub fn are_too_many(&self) -> bool {
        self.drawn.as_ref().map_or(false, |drawn| drawn.is_given_up)
    }

    pub fn push(&mut self, segment: &Segment, row: &Row) {
        let at = self.count % PIECE;
        self.count += 1;
        if let Some(drawn) = &mut self.drawn {
            return drawn.push(segment, row, self.count - 1);
        }
        if at == 0 {
            self.pieces.push(Piece::default());
        }
        if let Some(piece) = self.pieces.last_mut() {
            piece.push(segment, row, at as u32);
        }
    }

    pub fn change_kind(&mut self, row: usize, kind: u8) {
        match &mut self.drawn {
            Some(drawn) => drawn.change_kind(row, kind),
            None => self.pieces[row / PIECE].kind[row % PIECE] = kind,
        }
    }

    pub fn add_copy(&mut self, number: u64) {
        if self.drawn.is_none() {
            self.copies.push(number);
        }
    }
}

impl Piece {
    fn push(&mut self, segment: &Segment, row: &Row, at: u32) {
        self.number.push(row.number);
        self.time.push(segment.time);
        self.connection.push(row.connection);
        self.forward.push(u8::from(row.forward));
        self.sequence.push(row.sequence.max(0) as u64);
        self.acknowledgement.push(row.acknowledgement.unwrap_or(0).max(0) as u64);
        self.has_acknowledgement.push(u8::from(row.acknowledgement.is_some()));
        self.payload.push(segment.payload);
        self.window.push(row.window);
        self.flags.push(segment.flags);
        for (left, right) in row.sacks {
            self.sack_row.extend([at, at]);
            self.sack_value.extend([(*left).max(0) as u64, (*right).max(0) as u64]);
        }
        self.dsack.push(u8::from(row.dsack));
        let (timestamp, echo) = segment.timestamps().unwrap_or((0, 0));
        self.timestamp.push(timestamp);
        self.echo.push(echo);
        self.has_timestamp.push(u8::from(segment.timestamps().is_some()));
        self.ip_id.push(segment.ip_id.unwrap_or(0));
        self.has_ip_id.push(u8::from(segment.ip_id.is_some()));
        self.ecn.push(segment.ecn);
        self.ttl.push(segment.ttl);
        self.kind.push(row.kind);
        self.in_flight.push(row.in_flight.0 as u64);
        self.peer_in_flight.push(row.in_flight.1 as u64);
        self.rtt.push(row.rtt.unwrap_or(0));
        self.has_rtt.push(u8::from(row.rtt.is_some()));
    }
}
