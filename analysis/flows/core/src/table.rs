//! Which connection a segment belongs to.

use crate::connection::{Connection, Place};
use crate::rows::Rows;
use crate::segment::{Address, Ends, Segment, SYN};
use hashbrown::HashTable;
use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;

/// So many packets of a connection are kept as they are; with the next one all are counted.
const KEPT: usize = 6;

/// A connection as the table has it.
pub struct Known {
    pub ends: Ends,
    state: State,
}

/// Few packets take less memory than all that is counted of them, and most connections of a scan have no more.
enum State {
    Kept(Vec<Segment>),
    Counted(Box<Connection>),
}

impl Known {
    fn new(ends: Ends, time: i64, keep: bool) -> Known {
        let counted = || State::Counted(Box::new(Connection::new(time)));
        Known { ends, state: if keep { State::Kept(Vec::with_capacity(KEPT / 2)) } else { counted() } }
    }

    /// What is counted of the connection, with the packets that were only kept so far.
    pub fn counted(self, compatible: bool) -> Box<Connection> {
        match self.state {
            State::Counted(connection) => connection,
            State::Kept(segments) => replay(&self.ends, &segments, compatible),
        }
    }
}

#[cold]
fn replay(ends: &Ends, segments: &[Segment], compatible: bool) -> Box<Connection> {
    let mut connection = Box::new(Connection::new(segments.first().map_or(0, |segment| segment.time)));
    for segment in segments {
        let mut place = Place { number: 0, connection: 0, compatible, rows: None };
        connection.segment(segment, ends.same(&segment.ends), &mut place);
    }
    connection
}

/// All connections, and with `packets` a row for each segment.
pub struct Table {
    pub connections: Vec<Known>,
    current: HashTable<u32>,
    seeds: [u64; 2],
    /// The last packet's connection: packets come in runs.
    last: u32,
    pub compatible: bool,
    pub rows: Option<Rows>,
}

impl Table {
    pub fn new(compatible: bool, packets: bool) -> Table {
        let state = RandomState::new();
        Table {
            connections: Vec::new(),
            current: HashTable::new(),
            seeds: [state.hash_one(1u8), state.hash_one(2u8)],
            last: 0,
            compatible,
            rows: if packets { Some(Rows::default()) } else { None },
        }
    }

    /// Takes the segment of the file's record with this number.
    #[inline(always)]
    pub fn take(&mut self, number: u64, segment: &mut Segment) {
        let compatible = self.compatible;
        if compatible {
            segment.time -= segment.time.rem_euclid(1000);
        }
        let (at, forward) = self.find(segment);
        let known = &mut self.connections[at as usize];
        if let State::Kept(segments) = &mut known.state {
            if segments.len() < KEPT {
                segments.push(segment.clone());
                return;
            }
            known.state = State::Counted(replay(&known.ends, segments, compatible));
        }
        if let State::Counted(connection) = &mut known.state {
            let mut place = Place { number, connection: at + 1, compatible, rows: self.rows.as_mut() };
            connection.segment(segment, forward, &mut place);
        }
    }

    /// The connection's place and whether a sent this segment.
    #[inline(always)]
    fn find(&mut self, segment: &Segment) -> (u32, bool) {
        if let Some(last) = self.connections.get(self.last as usize) {
            let forward = last.ends.same(&segment.ends);
            let known = forward || last.ends.opposite(&segment.ends);
            if known && !self.begins_anew(self.last, segment, forward) {
                return (self.last, forward);
            }
        }
        let (at, forward) = self.look_up(segment);
        self.last = at;
        (at, forward)
    }

    fn look_up(&mut self, segment: &Segment) -> (u32, bool) {
        let ends = &segment.ends;
        let hash = hash(ends, &self.seeds);
        let connections = &self.connections;
        let found = self.current.find(hash, |at| {
            let known = &connections[*at as usize].ends;
            known.same(ends) || known.opposite(ends)
        });
        let found = found.copied();
        if let Some(at) = found {
            let forward = self.connections[at as usize].ends.same(ends);
            if !self.begins_anew(at, segment, forward) {
                return (at, forward);
            }
        }
        (self.add(segment, hash, found), true)
    }

    fn add(&mut self, segment: &Segment, hash: u64, replaced: Option<u32>) -> u32 {
        let at = self.connections.len() as u32;
        // A row of a packet is made when the packet comes.
        self.connections.push(Known::new(segment.ends, segment.time, self.rows.is_none()));
        let (connections, seeds) = (&self.connections, &self.seeds);
        if let Some(old) = replaced {
            if let Some(entry) = self.current.find_mut(hash, |known| *known == old) {
                *entry = at;
                return at;
            }
        }
        self.current.insert_unique(hash, at, |known| self::hash(&connections[*known as usize].ends, seeds));
        at
    }

    #[inline(always)]
    fn begins_anew(&self, at: u32, segment: &Segment, forward: bool) -> bool {
        if segment.flags & SYN == 0 && !self.compatible {
            return false;
        }
        let known = &self.connections[at as usize];
        match &known.state {
            State::Counted(connection) => connection.ended_before(segment, forward, self.compatible),
            State::Kept(segments) => {
                replay(&known.ends, segments, self.compatible).ended_before(segment, forward, self.compatible)
            }
        }
    }
}

/// The same for both directions. Seeds of the process keep chosen addresses from falling together.
fn hash(ends: &Ends, seeds: &[u64; 2]) -> u64 {
    let one = fold(&ends.source, ends.ports >> 16, seeds);
    let two = fold(&ends.destination, ends.ports & 0xffff, seeds);
    multiply(one.wrapping_add(two), seeds[0] | 1)
}

fn fold(address: &Address, port: u32, seeds: &[u64; 2]) -> u64 {
    multiply(address[1] ^ seeds[0], address[0] ^ seeds[1] ^ u64::from(port) << 16)
}

fn multiply(left: u64, right: u64) -> u64 {
    let product = u128::from(left) * u128::from(right);
    product as u64 ^ (product >> 64) as u64
}
