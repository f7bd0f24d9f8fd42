//! Segments that are counted one after another, which allows to look ahead.

use crate::connection_table::{Table, TableEntry};
use crate::segment::Segment;
use crate::tcp_options::{RareFields, NO_RARE_FIELDS};

/// With more connections than this the processor's nearest cache does not hold them: what segments
/// need is fetched ahead.
const MANY: usize = 100;
/// So many segments ahead the table's entry is fetched, the connection that it leads to, and what
/// that leads to.
const ENTRY: usize = 16;
const CONNECTION: usize = 8;
const LISTS: usize = 3;

/// Segments with the numbers of their records.
#[derive(Default)]
pub struct Batch {
    segments: Vec<(u64, Segment)>,
    /// Of those segments that have some, in their order.
    rare: Vec<RareFields>,
    /// Connections that are handed over; their segments are in later batches.
    pub released: Vec<TableEntry>,
}

impl Batch {
    pub fn with_capacity(segments: usize) -> Batch {
        Batch { segments: Vec::with_capacity(segments), ..Batch::default() }
    }

    pub fn extend(&mut self, segments: &[(u64, Segment)]) {
        self.segments.extend_from_slice(segments);
    }

    /// Takes the rare fields of the next segment that has some.
    pub fn push_rare(&mut self, rare: &RareFields) {
        self.rare.push(*rare);
    }

    pub fn push(&mut self, number: u64, segment: &Segment, rare: &RareFields) {
        self.segments.push((number, *segment));
        if segment.is_rare {
            self.push_rare(rare);
        }
    }

    /// The pairs of the segments, each once for all that come in a row.
    pub fn pairs(&self) -> Vec<u32> {
        let mut pairs: Vec<u32> = self.segments.iter().map(|(_, segment)| segment.pair).collect();
        pairs.dedup();
        pairs
    }

    /// Lets the table take all segments, of which the batch is empty then.
    pub fn count(&mut self, table: &mut Table) {
        if table.connections.len() > MANY {
            self.count_each::<true>(table);
        } else {
            self.count_each::<false>(table);
        }
        self.segments.clear();
        self.rare.clear();
    }

    #[inline(always)]
    fn count_each<const AHEAD: bool>(&mut self, table: &mut Table) {
        let mut rare = self.rare.iter();
        for at in 0..self.segments.len() {
            if AHEAD {
                self.fetch(at, table);
            }
            let (number, segment) = &mut self.segments[at];
            let fields = if segment.is_rare { rare.next() } else { None };
            table.take(*number, segment, fields.unwrap_or(&NO_RARE_FIELDS));
        }
    }

    /// Fetches what the segments behind this one need.
    #[inline(always)]
    fn fetch(&self, at: usize, table: &Table) {
        if let Some((_, next)) = self.segments.get(at + ENTRY) {
            table.fetch_entry(next.pair);
        }
        if let Some((_, next)) = self.segments.get(at + CONNECTION) {
            let (_, before) = &self.segments[at + CONNECTION - 1];
            if (next.pair, next.turned) != (before.pair, before.turned) {
                table.fetch_connection(next);
            }
        }
        if let Some((_, next)) = self.segments.get(at + LISTS) {
            table.fetch_lists(next);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::segment::{ACK, URG};

    /// The `number`th segment of so many connections in turn: one byte, which is urgent in every
    /// seventh segment.
    fn sent(number: u32, connections: u32) -> (Segment, RareFields) {
        let (time, pair, sequence) = (number.into(), number % connections, number / connections);
        let is_rare = number % 7 == 0;
        let flags = if is_rare { ACK | URG } else { ACK };
        let segment =
            Segment { time, pair, sequence, flags, is_rare, payload: 1, ..Segment::default() };
        (segment, RareFields { urgent: 1, ..NO_RARE_FIELDS })
    }

    #[test]
    fn looking_ahead_changes_nothing() {
        let connections = 2 * MANY as u32;
        let (mut table, mut batch) = (Table::new(false, None), Batch::default());
        for number in 0..20 * connections {
            let (segment, rare) = sent(number, connections);
            batch.push(number.into(), &segment, &rare);
            if number % 1000 == 999 {
                batch.count(&mut table);
            }
        }
        assert_eq!(table.connections.len(), connections as usize);
        for entry in table.connections {
            let urgent = (0..20).filter(|turn| (entry.pair + turn * connections) % 7 == 0).count();
            let a = entry.counted((false, false)).a;
            assert_eq!(a.data_packets, 20);
            assert_eq!(a.rare.map_or(0, |rare| rare.urgent_bytes), urgent as u64);
        }
    }
}
