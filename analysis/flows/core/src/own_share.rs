//! The connections that the reading thread counts itself. Reading takes less time than counting,
//! the more so the more connections there are: otherwise it would wait.

use crate::batch::Batch;
use crate::connection_table::{Table, TableEntry};
use crate::segment::Segment;
use crate::tcp_options::RareFields;

/// Of so many pairs of ends the last is its own to begin with.
const EVERY: usize = 5;
/// What part of the share is handed over at once, and at most.
const PART: usize = 8;
const MOST: usize = 64;

pub struct OwnShare {
    table: Table,
    /// By pair: whether it is of the share.
    pairs: Vec<bool>,
    /// What came of it since a batch was handed over. It is counted then: by itself one segment
    /// takes longer, and slows down the reading.
    batch: Batch,
    is_open: bool,
}

impl OwnShare {
    /// None of the connections if packets get rows, which are in the file's order.
    pub fn beside(table: &Table) -> OwnShare {
        OwnShare {
            table: Table::new(table.compatible, None),
            pairs: Vec::new(),
            batch: Batch::default(),
            is_open: table.rows.is_none(),
        }
    }

    /// Takes a segment if its connection is of the share.
    #[inline(always)]
    pub fn take(&mut self, number: u64, segment: &Segment, rare: &RareFields) -> bool {
        let is_own = match self.pairs.get(segment.pair as usize) {
            Some(is_own) => *is_own,
            None => self.begin(),
        };
        if is_own {
            self.batch.push(number, segment, rare);
        }
        is_own
    }

    /// Whether the next pair is of the share; they are numbered in the order of their first
    /// segments.
    #[cold]
    fn begin(&mut self) -> bool {
        let is_own = self.is_open && self.pairs.len() % EVERY == EVERY - 1;
        self.pairs.push(is_own);
        is_own
    }

    /// A batch is handed over; if the share is too large, some connections leave it that had
    /// segments since the last one.
    pub fn hand_over(&mut self, is_too_large: bool) -> Vec<TableEntry> {
        let recent = if is_too_large { self.batch.pairs() } else { Vec::new() };
        self.batch.count(&mut self.table);
        let part = 1 + self.pairs.iter().filter(|is_own| **is_own).count() / PART;
        let entries = recent.into_iter().take(MOST).filter_map(|pair| self.table.release(pair));
        let released: Vec<TableEntry> = entries.take(part).collect();
        released.iter().for_each(|entry| self.pairs[entry.pair as usize] = false);
        released
    }

    /// All that was counted.
    pub fn counted(mut self) -> Table {
        self.batch.count(&mut self.table);
        self.table
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::segment::ACK;
    use crate::tcp_options::NO_RARE_FIELDS;

    /// A segment of a's with these bytes of payload.
    fn sent(pair: u32, sequence: u32) -> Segment {
        let (time, flags, payload) = (i64::from(sequence), ACK, 10);
        Segment { time, pair, sequence, flags, payload, ..Segment::default() }
    }

    #[test]
    fn a_connection_goes_on_where_it_is_adopted() {
        let mut table = Table::new(false, None);
        let mut share = OwnShare::beside(&table);
        for number in 0..200u32 {
            let mut segment = sent(number % 10, number + 1);
            if !share.take(u64::from(number), &segment, &NO_RARE_FIELDS) {
                table.take(u64::from(number), &mut segment, &NO_RARE_FIELDS);
            }
            if number == 80 {
                let released = share.hand_over(true);
                assert!(released.iter().map(|entry| entry.pair).eq([4]));
                released.into_iter().for_each(|entry| table.adopt(entry));
            }
        }
        assert_eq!(share.table.connections.len(), 2);
        table.absorb(share.counted());
        let places = table.connections.iter().map(|entry| (entry.number, entry.pair));
        assert!(places.eq((0..10).map(|pair| (pair + 1, pair))));
        let counts =
            table.connections.into_iter().map(|entry| entry.counted((false, false)).a.data_packets);
        assert!(counts.eq([20; 10]));
    }

    #[test]
    fn rows_leave_nothing_to_the_reader() {
        let mut share = OwnShare::beside(&Table::new(false, Some(Default::default())));
        assert!((0..10).all(|pair| !share.take(1, &sent(pair, 1), &NO_RARE_FIELDS)));
    }
}
