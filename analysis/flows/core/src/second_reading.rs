//! A second reading of a file whose first showed packets at several places, or in an order that
//! cannot be theirs: sightings at one place count, packets are sorted by time, at the same time by
//! cause, and those of a direction that come behind their ACKs are moved before them.

use crate::connection::Connection;
use crate::connection_table::Table;
use crate::direction::Direction;
use crate::formats;
use crate::kind;
use crate::packet_parser::{Asked, PacketParser, Parsed};
use crate::packet_records::{Accounts, Record, Sink};
use crate::segment::{Segment, ACK, FIN, RST, SYN};
use crate::sightings::{self, Hop, Sightings, Way};
use crate::stream::Source;
use crate::tcp_options::{RareFields, NO_RARE_FIELDS};
use crate::{read_once, Reading, Refused};
use std::collections::HashMap;
use std::path::Path;

/// Packets are sorted if none is later than this, in nanoseconds; else a clock was set.
const LONGEST: i64 = 10_000_000_000;
/// Packets that are held at least before they are sorted.
const HELD: usize = 1 << 12;
/// One of so many segments must be a repetition, or behind its ACK, to be no chance.
const FEW: u64 = 5;

/// What the first reading calls for.
#[derive(Default)]
pub struct Plan {
    sightings: Option<Sightings>,
    late: HashMap<Way, i64>,
    /// How long a packet is held until none before it can come; 0 keeps the file's order.
    pub horizon: i64,
    ties: bool,
}

impl Plan {
    pub fn late_by(&self, way: Way) -> i64 {
        self.late.get(&way).copied().unwrap_or(0)
    }

    pub fn hop(&self, way: Way) -> Option<&Hop> {
        self.sightings.as_ref().and_then(|sightings| sightings.hop(way))
    }

    fn is_empty(&self) -> bool {
        let is_ordered = self.horizon == 0 && !self.ties && self.late.is_empty();
        self.sightings.is_none() && is_ordered
    }
}

/// Signs of a first reading.
#[derive(Default)]
struct Signs {
    has_places: bool,
    ties: bool,
    late: HashMap<Way, i64>,
    /// Packets of connections that repeat much, and what is out of order in all.
    repeating: u64,
    disorder: u64,
    late_segments: u64,
}

impl Signs {
    fn of(table: &mut Table) -> Signs {
        let mut signs = Signs::default();
        for entry in &mut table.connections {
            if entry.kept().map_or(false, is_plain) {
                continue;
            }
            let (pair, turned) = (entry.pair, entry.turned);
            entry.look(false, |connection| signs.add(connection, pair, turned));
        }
        signs
    }

    fn add(&mut self, connection: &Connection, pair: u32, turned: bool) {
        self.ties |= connection.ties;
        let (a, b) = (&connection.a, &connection.b);
        for (way, this) in [((pair, turned), a), ((pair, !turned), b)] {
            self.has_places |= this.has_places;
            let rare = match this.rare.as_deref() {
                Some(rare) => rare,
                None => continue,
            };
            let copies = rare.kinds[usize::from(kind::COPY)] - rare.mirrored;
            let repeats = rare.repeated_packets.max(copies);
            if repeats * FEW >= this.data_packets && repeats > 0 {
                self.repeating += a.packets + b.packets;
            }
            self.ties |= rare.has_ties;
            self.disorder += rare.late_segments + rare.kinds[usize::from(kind::LATE)];
            self.late_segments += rare.late_segments;
            if is_late(this) {
                self.late.insert(way, rare.late_by);
            }
        }
    }
}

fn is_late(this: &Direction) -> bool {
    let count = this.rare.as_deref().map_or(0, |rare| rare.late_segments);
    count > 0 && count * FEW >= this.data_packets
}

/// Whether few segments can have no sign: a SYN and one answer after it, or one end's alone that
/// pass one interface and repeat nothing.
fn is_plain<'a>(segments: impl Iterator<Item = &'a Segment>) -> bool {
    let all: Vec<&Segment> = segments.collect();
    if let [syn, answer] = all[..] {
        let is_answer = answer.turned != syn.turned && answer.time > syn.time;
        return syn.flags & (SYN | ACK) == SYN && is_answer || is_alone(&all);
    }
    is_alone(&all)
}

fn is_alone(all: &[&Segment]) -> bool {
    let way = |segment: &Segment| (segment.turned, segment.place);
    let rises = |pair: &[&Segment]| pair[1].sequence.wrapping_sub(pair[0].sequence) as i32 > 0;
    all.iter().all(|segment| way(segment) == way(all[0])) && all.windows(2).all(rises)
}

/// Reads the file again if that is needed.
pub fn improve(
    path: &Path,
    table: &mut Table,
    first: Reading,
    asked: Asked,
    go_on: &mut dyn FnMut() -> bool,
) -> Result<Reading, Refused> {
    if table.compatible {
        return Ok(first);
    }
    let signs = Signs::of(table);
    let mut plan = Plan { ties: signs.ties, late: signs.late, ..Plan::default() };
    if first.facts.backwards > 0 && first.facts.behind <= LONGEST {
        plan.horizon = first.facts.behind;
    }
    if signs.has_places || signs.repeating * FEW >= first.facts.segments.max(1) {
        plan.sightings = sightings::find(path, asked.clone(), go_on);
    }
    if plan.sightings.is_some() {
        plan.late.clear();
    }
    if plan.is_empty() {
        return Ok(first);
    }
    let (mut better, mut reading) =
        again(path, table.emptied(), plan, first, asked.clone(), go_on)?;
    let late = Signs::of(&mut better).late_segments;
    if late > 0 && reading.plan.as_ref().map_or(false, |plan| plan.sightings.is_some()) {
        (better, reading) = elsewhere(path, better, reading, asked.clone(), go_on)?;
        if Signs::of(&mut better).late_segments >= late {
            (better, reading) = elsewhere(path, better, reading, asked.clone(), go_on)?;
        }
    }
    let is_worse = reading.plan.as_ref().map_or(false, |plan| plan.horizon > 0)
        && Signs::of(&mut better).disorder > signs.disorder;
    if is_worse {
        // A clock was set back: the file's order is right.
        *table = table.emptied();
        reading = read_once(path, table, asked, go_on)?;
    } else {
        *table = better;
    }
    Ok(reading)
}

/// Reads once more, and judges at the other places.
fn elsewhere(
    path: &Path,
    table: Table,
    mut reading: Reading,
    asked: Asked,
    go_on: &mut dyn FnMut() -> bool,
) -> Result<(Table, Reading), Refused> {
    let mut plan = reading.plan.take().unwrap_or_default();
    if let Some(sightings) = &mut plan.sightings {
        sightings.turn();
    }
    again(path, table.emptied(), plan, reading, asked, go_on)
}

fn again(
    path: &Path,
    table: Table,
    plan: Plan,
    first: Reading,
    asked: Asked,
    go_on: &mut dyn FnMut() -> bool,
) -> Result<(Table, Reading), Refused> {
    let (mut source, _) = Source::open(path).map_err(Refused::Unreadable)?;
    let (format, big) = formats::recognise(&mut source).ok_or(Refused::NoCapture)?;
    let wait = plan.horizon + plan.late.values().max().copied().unwrap_or(0);
    let parser = PacketParser::new(false, asked);
    let held = Vec::new();
    let mut reader =
        Reader { parser, table, plan, held, wait, newest: i64::MIN, full: HELD, go_on };
    formats::read(&mut source, format, big, &mut reader);
    reader.release(i64::MAX);
    let Reader { parser, table, plan, .. } = reader;
    let Parsed { facts, pairs, networks, datagrams, errors } = parser.parsed();
    let reading = Reading { facts, pairs, networks, datagrams, errors, plan: Some(plan), ..first };
    Ok((table, reading))
}

struct HeldSegment {
    number: u64,
    segment: Segment,
    rare: Option<Box<RareFields>>,
}

struct Reader<'a> {
    parser: PacketParser,
    table: Table,
    plan: Plan,
    held: Vec<HeldSegment>,
    wait: i64,
    newest: i64,
    /// How many are held until they are sorted.
    full: usize,
    go_on: &'a mut dyn FnMut() -> bool,
}

impl Sink for Reader<'_> {
    fn record(&mut self, record: &Record) -> bool {
        let mut segment = Segment::default();
        if self.parser.take(record, &mut segment) {
            let (number, way) = (self.parser.facts.packets, (segment.pair, segment.turned));
            if let Some(sightings) = &self.plan.sightings {
                segment.flags |= sightings.mark(number, way);
            }
            self.newest = self.newest.max(segment.time);
            segment.time -= self.plan.late_by(way);
            let rare = segment.is_rare.then(|| Box::new(*self.parser.rare(&segment)));
            self.held.push(HeldSegment { number, segment, rare });
            if self.held.len() >= self.full {
                self.release(self.newest - self.wait);
                self.full = self.held.len() + HELD;
            }
        }
        self.parser.facts.packets % (1 << 18) != 0 || (self.go_on)()
    }

    fn accounts(&mut self) -> &mut dyn Accounts {
        &mut self.parser
    }
}

impl Reader<'_> {
    /// Counts what is held and was captured before this time.
    fn release(&mut self, before: i64) {
        self.held.sort_by_key(|held| held.segment.time);
        let count = self.held.partition_point(|held| held.segment.time < before);
        let count = if before == i64::MAX { self.held.len() } else { count };
        let mut ready: Vec<HeldSegment> = self.held.drain(..count).collect();
        in_causal_order(&mut ready);
        for HeldSegment { number, mut segment, rare } in ready {
            self.table.take(number, &mut segment, rare.as_deref().unwrap_or(&NO_RARE_FIELDS));
        }
    }
}

/// Moves segments of the same time before those that they caused.
fn in_causal_order(segments: &mut [HeldSegment]) {
    for at in 1..segments.len() {
        let mut place = at;
        while place > 0 && comes_first(&segments[place].segment, &segments[place - 1].segment) {
            segments.swap(place, place - 1);
            place -= 1;
        }
    }
}

/// Whether a segment precedes one that stands before it: that acknowledges it, or carries the first
/// data behind what this acknowledges.
fn comes_first(later: &Segment, earlier: &Segment) -> bool {
    let is_tied = later.time == earlier.time && later.pair == earlier.pair;
    if !is_tied || later.turned == earlier.turned || (later.flags | earlier.flags) & RST != 0 {
        return false;
    }
    let takes = |segment: &Segment| segment.payload > 0 || segment.flags & (SYN | FIN) != 0;
    let covers = |ack: &Segment, sent: &Segment| {
        ack.flags & ACK != 0 && ack.acknowledgement.wrapping_sub(sent.sequence) as i32 > 0
    };
    if takes(later) {
        return covers(earlier, later) && !covers(later, earlier);
    }
    takes(earlier) && later.acknowledgement == earlier.sequence
}
