//! Which connection a segment belongs to, and when the same ends begin another one.

use crate::connection::{Connection, Place};
use crate::direction::Direction;
use crate::rows::Rows;
use crate::segment::{Address, Ends, Segment, ACK, SYN};
use hashbrown::HashTable;
use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;

/// tcptrace takes the ends for new after this pause.
const PAUSE: i64 = 240_000_000_000;

/// All connections, and with `packets` a row for each segment.
pub struct Table {
    pub connections: Vec<Box<Connection>>,
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
        if self.compatible {
            segment.time -= segment.time.rem_euclid(1000);
        }
        let (at, forward) = self.find(segment);
        let mut place = Place { number, connection: at + 1, compatible: self.compatible, rows: self.rows.as_mut() };
        self.connections[at as usize].segment(segment, forward, &mut place);
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
        let ends = segment.ends;
        let hash = hash(&ends, &self.seeds);
        let connections = &self.connections;
        let found = self.current.find(hash, |at| {
            let known = connections[*at as usize].ends;
            known.same(&ends) || known.opposite(&ends)
        });
        let found = found.copied();
        if let Some(at) = found {
            let forward = self.connections[at as usize].ends.same(&ends);
            if !self.begins_anew(at, segment, forward) {
                return (at, forward);
            }
        }
        (self.add(segment, hash, found), true)
    }

    fn add(&mut self, segment: &Segment, hash: u64, replaced: Option<u32>) -> u32 {
        let at = self.connections.len() as u32;
        self.connections.push(Box::new(Connection::new(segment.ends, segment.time)));
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
        let connection = &self.connections[at as usize];
        let (this, other) = if forward { (&connection.a, &connection.b) } else { (&connection.b, &connection.a) };
        if self.compatible {
            tcptrace_begins(connection, segment, this, other)
        } else {
            begins(segment, this, other)
        }
    }
}

/// Ours: a SYN with another number than this direction's begins a new connection, a SYN-ACK only after a close.
fn begins(segment: &Segment, this: &Direction, other: &Direction) -> bool {
    let closed = this.fins + other.fins + this.resets + other.resets > 0;
    let another = this.known && segment.sequence != this.origin;
    another && (closed || segment.flags & ACK == 0)
}

/// tcptrace's three rules: a pause of four minutes; a SYN beyond the window after a close; a third SYN that differs.
fn tcptrace_begins(connection: &Connection, segment: &Segment, this: &Direction, other: &Direction) -> bool {
    if segment.time - connection.last_time > PAUSE {
        return true;
    }
    if segment.flags & SYN == 0 {
        return false;
    }
    let closed = this.fins + other.fins + this.resets + other.resets > 0;
    let outside = u64::from(segment.sequence) > other.window_end || segment.sequence < this.syn_number;
    (closed && outside) || (this.syns > 1 && this.syn_number != segment.sequence)
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
