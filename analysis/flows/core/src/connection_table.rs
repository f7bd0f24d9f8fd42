//! Which connection a segment belongs to.

use crate::connection::Connection;
use crate::packet_rows::Rows;
use crate::prefetch::fetch_lines;
use crate::restarts::Opening;
use crate::segment::{Segment, ACK, EARLIER, SYN};
use crate::step::Place;
use crate::tcp_options::RareFields;
use std::collections::HashMap;

/// So many packets of a connection are kept as they are; with the next one all are counted.
const KEPT: usize = 6;
/// With a row for each packet fewer are kept: each of them is counted at once for its row.
const KEPT_WITH_ROWS: usize = 3;
/// No connection yet.
pub const NONE: u32 = u32::MAX;

/// A connection as the table has it: its number from 1, the number of its first record, its pair of
/// ends, and whether a is the second of them. It has a line of the processor's cache for itself.
#[repr(align(64))]
pub struct TableEntry {
    pub number: u32,
    first_record: u64,
    pub pair: u32,
    pub turned: bool,
    pub opening: Option<Opening>,
    state: State,
}

/// Whether tcptrace's definitions count, and whether the intervals of limits are kept.
pub type Modes = (bool, bool);

/// With the number of its record.
type KeptSegment = (Segment, RareFields, u64);

/// Few packets take less memory than all that is counted of them, and most connections of a scan
/// have no more.
enum State {
    Kept(Vec<KeptSegment>),
    Counted(Box<Connection>),
}

impl TableEntry {
    fn new(
        number: u32,
        first_record: u64,
        segment: &Segment,
        earlier: Vec<KeptSegment>,
    ) -> TableEntry {
        let state = State::Kept(earlier);
        let Segment { pair, turned, .. } = *segment;
        TableEntry { number, first_record, pair, turned, opening: None, state }
    }

    /// What stands in the place of a connection that another table has.
    fn gone() -> TableEntry {
        let state = State::Kept(Vec::new());
        TableEntry { number: 0, first_record: 0, pair: NONE, turned: false, opening: None, state }
    }

    /// The time of its latest packet.
    pub fn last_time(&self) -> i64 {
        match &self.state {
            State::Counted(connection) => connection.last_time,
            State::Kept(segments) => segments.last().map_or(0, |(segment, ..)| segment.time),
        }
    }

    /// Lets `see` look at what is counted of the connection, which goes on.
    pub fn look(&mut self, compatible: bool, see: impl FnOnce(&mut Connection)) {
        match &mut self.state {
            State::Counted(connection) => see(connection),
            State::Kept(segments) => {
                see(&mut replay(self.turned, segments, (compatible, false), None))
            }
        }
    }

    /// The segments, while they are only kept.
    pub fn kept(&self) -> Option<impl Iterator<Item = &Segment>> {
        match &self.state {
            State::Kept(segments) => Some(segments.iter().map(|(segment, ..)| segment)),
            State::Counted(_) => None,
        }
    }

    /// What is counted of the connection, with the packets that were only kept so far.
    pub fn counted(self, modes: Modes) -> Box<Connection> {
        match self.state {
            State::Counted(connection) => connection,
            State::Kept(segments) => replay(self.turned, &segments, modes, None),
        }
    }
}

/// Rows of data may change later, by their place: data is counted when it comes.
fn may_keep(kept: usize, segment: &Segment, has_row: bool) -> bool {
    if has_row {
        kept < KEPT_WITH_ROWS && segment.payload == 0
    } else {
        kept < KEPT
    }
}

/// Most connections of a scan have one packet: room for more is made with the second.
fn keep(segments: &mut Vec<KeptSegment>, kept: KeptSegment) {
    if segments.len() == segments.capacity() {
        let more = if segments.len() == 1 { KEPT / 2 - 1 } else { segments.len().max(1) };
        segments.reserve_exact(more);
    }
    segments.push(kept);
}

/// Counts kept segments, the last one at this place if it was not counted before.
#[cold]
fn replay(
    turned: bool,
    segments: &[KeptSegment],
    (compatible, keeps_limits): Modes,
    mut last: Option<Place>,
) -> Box<Connection> {
    let began = segments.first().map_or(0, |(segment, ..)| segment.time);
    let mut connection = Box::new(Connection::new(began, keeps_limits));
    for (at, (segment, rare, number)) in segments.iter().enumerate() {
        let without = Place { number: *number, connection: 0, compatible, rows: None };
        let place = if at + 1 == segments.len() { last.take() } else { None };
        connection.segment(segment, rare, segment.turned == turned, place.unwrap_or(without));
    }
    connection
}

/// All connections, and with `packets` a row for each segment.
pub struct Table {
    pub connections: Vec<TableEntry>,
    /// The newest connection of each pair.
    pub current: Vec<u32>,
    /// How many connections there were in all.
    pub count: u32,
    pub compatible: bool,
    pub rows: Option<Rows>,
    /// Whether there were too many connections for rows (see `drawn_rows`).
    pub is_without_rows: bool,
    /// The number of the record that is being taken.
    record: u64,
    /// SYNs before the period, by their pair and whether they are turned.
    earlier: HashMap<(u32, bool), KeptSegment>,
}

impl Table {
    pub fn new(compatible: bool, rows: Option<Rows>) -> Table {
        let (connections, current, earlier) = Default::default();
        let (count, record, is_without_rows) = (0, 0, false);
        Table { connections, current, count, compatible, rows, is_without_rows, record, earlier }
    }

    /// A table of no connections yet, for another reading.
    pub fn emptied(&self) -> Table {
        let rows = self.rows.as_ref().map(Rows::emptied);
        Table { is_without_rows: self.is_without_rows, ..Table::new(self.compatible, rows) }
    }

    /// Goes on without rows, and without what only they need.
    #[cold]
    fn drop_rows(&mut self) {
        (self.rows, self.is_without_rows) = (None, true);
        for entry in &mut self.connections {
            if let State::Counted(connection) = &mut entry.state {
                connection.a.limited.history = None;
                connection.b.limited.history = None;
            }
        }
    }

    /// Takes the segment of the file's record with this number, and what is rare of it.
    #[inline(always)]
    pub fn take(&mut self, number: u64, segment: &mut Segment, rare: &RareFields) {
        let compatible = self.compatible;
        self.record = number;
        if segment.flags & EARLIER != 0 {
            self.earlier.insert((segment.pair, segment.turned), (*segment, *rare, number));
            return;
        }
        if compatible {
            segment.time -= segment.time.rem_euclid(1000);
        }
        if self.rows.as_ref().map_or(false, Rows::are_too_many) {
            self.drop_rows();
        }
        let at = self.find(segment);
        let entry = &mut self.connections[at as usize];
        let forward = segment.turned == entry.turned;
        let rows = self.rows.as_mut().filter(|rows| rows.takes(at + 1));
        let place = Place { number, connection: at + 1, compatible, rows };
        if let State::Kept(segments) = &mut entry.state {
            let has_row = place.rows.is_some();
            let is_kept = may_keep(segments.len(), segment, has_row);
            keep(segments, (*segment, *rare, number));
            if has_row || !is_kept {
                let connection = replay(entry.turned, segments, (compatible, has_row), Some(place));
                if !is_kept {
                    entry.state = State::Counted(connection);
                }
            }
            return;
        }
        if let State::Counted(connection) = &mut entry.state {
            connection.segment(segment, rare, forward, place);
        }
    }

    /// Fetches the entry of a pair's connection.
    #[inline(always)]
    pub fn fetch_entry(&self, pair: u32) {
        if let Some(entry) = self.entry(pair) {
            fetch_lines(entry, 0..1);
        }
    }

    /// Fetches what the segment needs of its connection, whose entry should be there by now.
    #[inline(always)]
    pub fn fetch_connection(&self, next: &Segment) {
        if let Some((connection, forward)) = self.counting(next) {
            connection.fetch(forward, next.payload > 0);
        }
    }

    /// The same of the lists that the connection leads to.
    #[inline(always)]
    pub fn fetch_lists(&self, next: &Segment) {
        if let Some((connection, forward)) = self.counting(next) {
            connection.fetch_lists(forward, next.payload > 0);
        }
    }

    #[inline(always)]
    fn entry(&self, pair: u32) -> Option<&TableEntry> {
        self.connections.get(*self.current.get(pair as usize)? as usize)
    }

    /// What is counted of the segment's connection, and whether the segment is of a.
    #[inline(always)]
    fn counting(&self, segment: &Segment) -> Option<(&Connection, bool)> {
        match self.entry(segment.pair)? {
            TableEntry { state: State::Counted(connection), turned, .. } => {
                Some((connection, segment.turned == *turned))
            }
            _ => None,
        }
    }

    /// The connection's place; it may be a new one.
    #[inline(always)]
    fn find(&mut self, segment: &Segment) -> u32 {
        let at = match self.current.get(segment.pair as usize) {
            Some(at) if *at != NONE => *at,
            _ => return self.begin(segment, None),
        };
        if segment.flags & SYN != 0 || self.compatible {
            self.marked(at, segment)
        } else if self.connections[at as usize].opening.is_some() {
            self.answered(at, segment)
        } else {
            at
        }
    }

    /// Of a segment with SYN, or by tcptrace's rules: the newest connection, or another one that it
    /// begins.
    #[inline(always)]
    fn marked(&mut self, at: u32, segment: &Segment) -> u32 {
        let begins = self.begins_anew(at, segment);
        let entry = &mut self.connections[at as usize];
        if begins {
            let before = entry.opening.map_or(Some(at), |opening| opening.before);
            return self.begin(segment, before);
        }
        if segment.turned != entry.turned {
            entry.opening = None;
        }
        at
    }

    /// Of the newest connection only the SYNs of a were seen: the segment is its own, or of an
    /// older one.
    #[cold]
    fn answered(&mut self, at: u32, segment: &Segment) -> u32 {
        let entry = &mut self.connections[at as usize];
        let forward = segment.turned == entry.turned;
        match entry.opening.filter(|opening| opening.passes(segment, forward)) {
            None => {
                entry.opening = None;
                at
            }
            Some(opening) => opening.before.unwrap_or_else(|| self.add_before(at, segment)),
        }
    }

    /// An older connection than the one at this place: all else of it was before the capture.
    fn add_before(&mut self, at: u32, segment: &Segment) -> u32 {
        let before = self.add(segment);
        if let Some(opening) = &mut self.connections[at as usize].opening {
            opening.before = Some(before);
        }
        before
    }

    /// The newest connection of its ends begins.
    #[cold]
    fn begin(&mut self, segment: &Segment, before: Option<u32>) -> u32 {
        let at = self.add(segment);
        if !self.compatible {
            self.connections[at as usize].opening = Opening::new(segment, before);
        }
        self.make_current(segment.pair, at);
        at
    }

    fn make_current(&mut self, pair: u32, at: u32) {
        let pair = pair as usize;
        if self.current.len() <= pair {
            self.current.resize(pair + 1, NONE);
        }
        self.current[pair] = at;
    }

    #[cold]
    fn add(&mut self, segment: &Segment) -> u32 {
        let at = self.connections.len() as u32;
        self.count += 1;
        let earlier = self.earlier_of(segment);
        self.connections.push(TableEntry::new(self.count, self.record, segment, earlier));
        at
    }

    /// The SYNs before the period of a connection that goes on in it.
    fn earlier_of(&mut self, first: &Segment) -> Vec<KeptSegment> {
        let both = [false, true].map(|turned| self.earlier.remove(&(first.pair, turned)));
        if first.flags & SYN != 0 {
            return Vec::new();
        }
        let mut opening: Vec<KeptSegment> = both.into_iter().flatten().collect();
        opening.sort_unstable_by_key(|(segment, ..)| segment.flags & ACK);
        opening.iter_mut().for_each(|(segment, ..)| segment.time = first.time);
        opening
    }

    /// Takes out the newest connection of a pair, if all later segments of the pair are its own.
    pub fn release(&mut self, pair: u32) -> Option<TableEntry> {
        let at = *self.current.get(pair as usize)?;
        let entry = self.connections.get_mut(at as usize)?;
        if self.compatible || entry.opening.is_some() {
            return None;
        }
        self.current[pair as usize] = NONE;
        Some(std::mem::replace(entry, TableEntry::gone()))
    }

    /// Goes on with a connection that another table released.
    pub fn adopt(&mut self, entry: TableEntry) {
        let at = self.connections.len() as u32;
        self.make_current(entry.pair, at);
        self.connections.push(entry);
    }

    /// Takes over all connections of another table, and numbers them as if there had been one.
    pub fn absorb(&mut self, other: Table) {
        self.count += other.count;
        self.connections.extend(other.connections);
        self.connections.retain(|entry| entry.pair != NONE);
        self.connections.sort_unstable_by_key(|entry| entry.first_record);
        for (entry, number) in self.connections.iter_mut().zip(1..) {
            entry.number = number;
        }
    }

    #[inline(always)]
    fn begins_anew(&self, at: u32, segment: &Segment) -> bool {
        let entry = &self.connections[at as usize];
        let forward = segment.turned == entry.turned;
        match &entry.state {
            State::Counted(connection) => {
                connection.ended_before(segment, forward, self.compatible)
            }
            State::Kept(segments) => replay(entry.turned, segments, (self.compatible, false), None)
                .ended_before(segment, forward, self.compatible),
        }
    }
}
