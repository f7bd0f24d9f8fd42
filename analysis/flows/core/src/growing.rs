//! A capture that grows: bytes are taken as they come, and what is counted can be looked at between
//! them. Memory is bounded: of more than `most` connections those that are silent longest are
//! forgotten.

use crate::connection_table::{Table, NONE};
use crate::formats::{recognise, Records};
use crate::packet_parser::{Asked, PacketParser};
use crate::packet_records::{Accounts, Fault, Format, Record, Sink};
use crate::pairs::Pairs;
use crate::segment::Segment;
use crate::stream::Source;
use crate::Refused;
use std::cmp::Reverse;

pub struct GrowingCapture {
    source: Source,
    begun: Option<(Format, Records)>,
    pub fault: Option<(Fault, u64)>,
    pub counting: Counting,
    /// Connections up to which none is forgotten; then half of them are.
    most: usize,
}

/// Parses records, and counts their segments at once.
pub struct Counting {
    pub parser: PacketParser,
    pub table: Table,
    segment: Segment,
}

impl GrowingCapture {
    pub fn new(most: usize) -> GrowingCapture {
        let parser = PacketParser::new(false, Asked::default());
        let counting =
            Counting { parser, table: Table::new(false, None), segment: Segment::default() };
        GrowingCapture { source: Source::growing(), begun: None, fault: None, counting, most }
    }

    /// Takes the next bytes of the file; nothing is taken after damage.
    pub fn feed(&mut self, bytes: &[u8]) -> Result<(), Refused> {
        if self.fault.is_some() {
            return Ok(());
        }
        self.source.append(bytes);
        if self.begun.is_none() {
            self.begin()?;
        }
        if let Some((_, records)) = &mut self.begun {
            let fault = records.read(&mut self.source, &mut self.counting);
            // What is cut may come yet.
            self.fault = fault.filter(|fault| *fault != Fault::Cut).map(|why| (why, self.offset()));
        }
        self.counting.bound(self.most);
        Ok(())
    }

    fn begin(&mut self) -> Result<(), Refused> {
        if !self.source.need(4) {
            return Ok(());
        }
        let (format, big) = recognise(&mut self.source).ok_or(Refused::NoCapture)?;
        let begun = Records::begin(&mut self.source, format, big, &mut self.counting);
        self.begun = begun.map(|records| (format, records));
        Ok(())
    }

    /// No more bytes come: a record that is not whole is damage, and so is a header.
    pub fn end(&mut self) {
        let is_cut = self.begun.is_none() || !self.source.window().is_empty();
        if is_cut && self.fault.is_none() {
            self.fault = Some((Fault::Cut, self.offset()));
        }
    }

    /// The format, if as much came that it is known.
    pub fn format(&self) -> Option<Format> {
        self.begun.as_ref().map(|(format, _)| *format)
    }

    /// Bytes that were used.
    pub fn offset(&self) -> u64 {
        self.source.offset
    }
}

impl Sink for Counting {
    fn record(&mut self, record: &Record) -> bool {
        if self.parser.take(record, &mut self.segment) {
            let rare = self.parser.rare(&self.segment);
            self.table.take(self.parser.facts.packets, &mut self.segment, rare);
        }
        true
    }

    fn accounts(&mut self) -> &mut dyn Accounts {
        &mut self.parser
    }
}

impl Counting {
    /// Forgets connections if there are more than `most`.
    fn bound(&mut self, most: usize) {
        if self.table.connections.len() > most {
            keep(&mut self.table, &mut self.parser.pairs, most / 2);
        }
    }
}

/// Keeps so many of the connections, those with the latest packets, and their pairs of ends.
fn keep(table: &mut Table, pairs: &mut Pairs, count: usize) {
    let mut places: Vec<u32> = (0..table.connections.len() as u32).collect();
    places.sort_unstable_by_key(|at| Reverse((table.connections[*at as usize].last_time(), *at)));
    places.truncate(count);
    places.sort_unstable();
    let mut kept: Vec<u32> = places.iter().map(|at| table.connections[*at as usize].pair).collect();
    kept.sort_unstable();
    kept.dedup();
    pairs.keep(&kept);
    let now_at = |list: &[u32], old: u32| list.binary_search(&old).ok().map(|at| at as u32);
    let current = kept.iter().map(|pair| now_at(&places, table.current[*pair as usize]));
    table.current = current.map(|at| at.unwrap_or(NONE)).collect();
    let mut at = 0..;
    table.connections.retain(|_| now_at(&places, at.next().unwrap_or(NONE)).is_some());
    for entry in &mut table.connections {
        entry.pair = now_at(&kept, entry.pair).unwrap_or(NONE);
        if let Some(opening) = &mut entry.opening {
            opening.before = opening.before.and_then(|before| now_at(&places, before));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A pcap file's record of a TCP segment between ports of 10.0.0.1 and 10.0.0.2.
    fn record(second: u32, port: u16, sequence: u32) -> Vec<u8> {
        let mut made = Vec::new();
        for word in [second, 0, 54, 54] {
            made.extend(word.to_le_bytes());
        }
        made.extend([2; 12]);
        made.extend([8, 0, 0x45, 0, 0, 40, 0, 1, 0, 0, 64, 6, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2]);
        made.extend(port.to_be_bytes());
        made.extend([0, 80]);
        made.extend(sequence.to_be_bytes());
        made.extend([0, 0, 0, 1, 0x50, 0x10, 1, 0, 0, 0, 0, 0]);
        made
    }

    fn header() -> Vec<u8> {
        let words = [0xa1b2_c3d4u32, 4 << 16 | 2, 0, 0, 65535, 1];
        words.iter().flat_map(|word| word.to_le_bytes()).collect()
    }

    #[test]
    fn bytes_may_come_one_by_one() {
        let mut following = GrowingCapture::new(9);
        let all = [header(), record(1, 7, 1), record(2, 7, 2)].concat();
        for byte in &all {
            assert!(following.feed(&[*byte]).is_ok());
        }
        following.end();
        assert_eq!(following.fault, None);
        assert_eq!(following.offset(), all.len() as u64);
        assert_eq!(following.counting.parser.facts.segments, 2);
        assert_eq!(following.counting.table.connections.len(), 1);
    }

    #[test]
    fn what_is_not_whole_at_the_end_is_cut() {
        let mut following = GrowingCapture::new(9);
        assert!(following.feed(&[header(), record(1, 7, 1)].concat()[..60]).is_ok());
        assert_eq!(following.fault, None);
        following.end();
        assert_eq!(following.fault, Some((Fault::Cut, 24)));
    }

    #[test]
    fn the_connections_of_the_latest_packets_are_kept() {
        let mut following = GrowingCapture::new(9);
        assert!(following.feed(&header()).is_ok());
        for (second, port) in (1..=9).map(|port| (u32::from(port), port)).chain([(10, 2), (11, 10)])
        {
            assert!(following.feed(&record(second, port, second)).is_ok());
        }
        let numbers = |following: &GrowingCapture| {
            let entries = following.counting.table.connections.iter();
            entries.map(|entry| entry.number).collect::<Vec<_>>()
        };
        assert_eq!(numbers(&following), [2, 8, 9, 10]);
        for (second, port) in [(21, 2), (22, 9), (23, 1)] {
            assert!(following.feed(&record(second, port, 20)).is_ok());
        }
        assert_eq!(numbers(&following), [2, 8, 9, 10, 11]);
        let pair = following.counting.table.connections[1].pair;
        assert_eq!(following.counting.parser.pairs.ends(pair, false).ports >> 16, 8);
    }
}
