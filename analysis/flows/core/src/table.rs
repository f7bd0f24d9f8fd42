//! Which connection a segment belongs to, and when the same ends begin another one.

use crate::connection::{Connection, Place};
use crate::direction::Direction;
use crate::link::{Ignored, NAMES};
use crate::records::{Record, Sink};
use crate::rows::Rows;
use crate::segment::{parse, Ends, Segment, ACK, SYN};
use hashbrown::HashTable;
use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;

/// tcptrace takes the ends for new after this pause.
const PAUSE: i64 = 240_000_000_000;
/// Packets between two looks at whether the user wants to stop.
const LOOK: u64 = 1 << 18;

/// All connections, and what the file says beside them.
pub struct Table {
    pub connections: Vec<Box<Connection>>,
    current: HashTable<u32>,
    seeds: [u64; 2],
    /// The last packet's ends and connection: most packets come in runs.
    last: Option<(Ends, u32, bool)>,
    pub compatible: bool,
    pub rows: Option<Rows>,
    pub packets: u64,
    pub segments: u64,
    pub ignored: [u64; NAMES.len()],
    pub first: Option<i64>,
    pub latest: Option<i64>,
    pub link_types: Vec<u16>,
    pub snaplen: u32,
    /// Returns false when the reading shall end.
    pub go_on: Box<dyn FnMut() -> bool + Send>,
    pub stopped: bool,
}

impl Table {
    pub fn new(compatible: bool, packets: bool, go_on: Box<dyn FnMut() -> bool + Send>) -> Table {
        let state = RandomState::new();
        Table {
            connections: Vec::new(),
            current: HashTable::new(),
            seeds: [state.hash_one(1u8), state.hash_one(2u8)],
            last: None,
            compatible,
            rows: if packets { Some(Rows::default()) } else { None },
            packets: 0,
            segments: 0,
            ignored: [0; NAMES.len()],
            first: None,
            latest: None,
            link_types: Vec::new(),
            snaplen: 0,
            go_on,
            stopped: false,
        }
    }

    #[inline(always)]
    fn take(&mut self, mut segment: Segment) {
        if self.compatible {
            segment.time -= segment.time.rem_euclid(1000);
        }
        let (at, forward) = self.find(&segment);
        self.segments += 1;
        let mut place =
            Place { number: self.packets, connection: at + 1, compatible: self.compatible, rows: self.rows.as_mut() };
        self.connections[at as usize].segment(&segment, forward, &mut place);
    }

    /// The connection's place and whether a sent this segment.
    #[inline(always)]
    fn find(&mut self, segment: &Segment) -> (u32, bool) {
        let ends = segment.ends;
        if let Some((known, at, forward)) = self.last {
            let same = if known == ends {
                Some(forward)
            } else if known == swapped(&ends) {
                Some(!forward)
            } else {
                None
            };
            if let Some(forward) = same {
                if !self.begins_anew(at, segment, forward) {
                    return (at, forward);
                }
            }
        }
        let (at, forward) = self.look_up(segment);
        self.last = Some((ends, at, forward));
        (at, forward)
    }

    fn look_up(&mut self, segment: &Segment) -> (u32, bool) {
        let ends = segment.ends;
        let hash = hash(&ends, &self.seeds);
        let reverse = swapped(&ends);
        let connections = &self.connections;
        let found = self.current.find(hash, |at| {
            let known = connections[*at as usize].ends;
            known == ends || known == reverse
        });
        let found = found.copied();
        if let Some(at) = found {
            let forward = self.connections[at as usize].ends == ends;
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

fn swapped(ends: &Ends) -> Ends {
    Ends {
        source: ends.destination,
        destination: ends.source,
        source_port: ends.destination_port,
        destination_port: ends.source_port,
        six: ends.six,
    }
}

/// The same for both directions. Seeds of the process keep chosen addresses from falling together.
fn hash(ends: &Ends, seeds: &[u64; 2]) -> u64 {
    let one = fold(ends.source ^ u128::from(ends.source_port) << 96, seeds);
    let two = fold(ends.destination ^ u128::from(ends.destination_port) << 96, seeds);
    multiply(one.wrapping_add(two), seeds[0] | 1)
}

fn fold(value: u128, seeds: &[u64; 2]) -> u64 {
    multiply(value as u64 ^ seeds[0], (value >> 64) as u64 ^ seeds[1])
}

fn multiply(left: u64, right: u64) -> u64 {
    let product = u128::from(left) * u128::from(right);
    product as u64 ^ (product >> 64) as u64
}

impl Sink for Table {
    #[inline(always)]
    fn record(&mut self, record: &Record) -> bool {
        self.packets += 1;
        if self.packets % LOOK == 0 && !(self.go_on)() {
            self.stopped = true;
            return false;
        }
        self.first.get_or_insert(record.time);
        self.latest = Some(record.time);
        match parse(record) {
            Ok(segment) => self.take(segment),
            Err(why) => self.ignore(why),
        }
        true
    }

    fn interface(&mut self, link: u16, snaplen: u32) {
        if !self.link_types.contains(&link) {
            self.link_types.push(link);
        }
        self.snaplen = self.snaplen.max(snaplen);
    }
}

impl Table {
    #[cold]
    fn ignore(&mut self, why: Ignored) {
        self.ignored[why as usize] += 1;
    }
}
