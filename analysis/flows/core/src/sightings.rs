//! Packets that a capture has from several places: both ends merged, two interfaces of a switch or
//! router, a mirror of both ports. A place is known by its interface, its addresses of Ethernet and
//! the TTL. A connection is judged at the place nearest to the sender of most of its data: there
//! that one's packets are seen first, and the others' last. Between the first place and the last,
//! losses and delays are known.

use crate::formats;
use crate::link_layer::pair;
use crate::packet_parser::{Asked, PacketParser};
use crate::packet_records::{Accounts, Record, Sink};
use crate::rtt_samples::{bucket, Histogram, Samples};
use crate::segment::{Segment, ELSEWHERE, SEEN_TWICE, SYN};
use crate::stream::Source;
use crate::tcp_options::RareFields;
use std::collections::hash_map::DefaultHasher;
use std::collections::HashMap;
use std::hash::{Hash, Hasher};
use std::mem::take;
use std::path::Path;

/// Sightings of one packet that are told apart.
const MOST: usize = 3;
/// Packets that may lie between two sightings of one.
const REMEMBERED: usize = 1 << 17;
/// A sender that repeats a segment after so long, in nanoseconds, has a new time stamp.
const STAMPED_ANEW: i64 = 500_000_000;

/// A direction: a pair of ends, and whether it is turned.
pub type Way = (u32, bool);
type Place = u16;

/// The way of one direction's packets from the first place to the last.
#[derive(Default)]
pub struct Hop {
    /// Packets seen at both, those seen at the first alone, and the payload of all.
    pub both: u64,
    pub lost: u64,
    single: HashMap<Place, u64>,
    bytes: u64,
    pub delays: Samples,
    pub histogram: Histogram,
    firsts: HashMap<Place, u64>,
    lasts: HashMap<Place, u64>,
}

impl Hop {
    fn is_doubled(&self) -> bool {
        let alone: u64 = self.single.values().sum();
        self.both >= 2 && self.both >= alone
    }
}

/// What a record is: the how-manieth sighting of how many, and its place.
#[derive(Clone, Copy, Default)]
struct Sighting {
    rank: u8,
    of: u8,
    place: Place,
}

/// Which sightings of a direction count: those at a place, or the first or last ones.
#[derive(Clone, Copy)]
struct Judged {
    here: Place,
    there: Place,
    is_first: bool,
}

/// All sightings of a file.
pub struct Sightings {
    records: Vec<Sighting>,
    judged: HashMap<Way, Judged>,
    hops: HashMap<Way, Hop>,
}

impl Sightings {
    pub fn hop(&self, way: Way) -> Option<&Hop> {
        self.judged.get(&way).and_then(|_| self.hops.get(&way))
    }

    /// Judges at the other ends of all ways.
    pub fn turn(&mut self) {
        for judged in self.judged.values_mut() {
            let Judged { here, there, is_first } = *judged;
            *judged = Judged { here: there, there: here, is_first: !is_first };
        }
    }

    /// The flags of a segment that does not count, else 0.
    pub fn mark(&self, number: u64, way: Way) -> u16 {
        let (seen, judged) = match (self.records.get(number as usize), self.judged.get(&way)) {
            (Some(seen), Some(judged)) if seen.of > 0 => (seen, judged),
            _ => return 0,
        };
        let is_end = if judged.is_first { seen.rank == 0 } else { seen.rank + 1 == seen.of };
        let is_here = match judged.here == judged.there {
            true => is_end && (seen.of > 1 || judged.is_first),
            false if seen.of > 1 => {
                seen.place == judged.here || (is_end && seen.place != judged.there)
            }
            false => seen.place != judged.there,
        };
        match (is_here, seen.of > 1) {
            (true, _) => 0,
            (false, true) => SEEN_TWICE,
            (false, false) => ELSEWHERE,
        }
    }
}

/// Looks for them in a whole file; None if no connection was seen at several places.
pub fn find(path: &Path, asked: Asked, go_on: &mut dyn FnMut() -> bool) -> Option<Sightings> {
    let (mut source, _) = Source::open(path).ok()?;
    let (format, big) = formats::recognise(&mut source)?;
    let mut finder = Finder {
        parser: PacketParser::new(false, asked),
        places: HashMap::new(),
        recent: HashMap::new(),
        older: HashMap::new(),
        identifications: HashMap::new(),
        records: vec![Sighting::default()],
        hops: HashMap::new(),
        go_on,
    };
    formats::read(&mut source, format, big, &mut finder);
    finder.end()
}

/// The sightings of one packet so far.
#[derive(Clone, Copy)]
struct Group {
    way: Way,
    payload: u32,
    count: usize,
    records: [u64; MOST],
    times: [i64; MOST],
    places: [Place; MOST],
}

struct Finder<'a> {
    parser: PacketParser,
    places: HashMap<(u16, [u64; 2], u8), Place>,
    recent: HashMap<u64, Group>,
    older: HashMap<u64, Group>,
    /// The latest identification of each direction, and how often it changed.
    identifications: HashMap<Way, (u16, u32)>,
    records: Vec<Sighting>,
    hops: HashMap<Way, Hop>,
    go_on: &'a mut dyn FnMut() -> bool,
}

impl Sink for Finder<'_> {
    fn record(&mut self, record: &Record) -> bool {
        let mut segment = Segment::default();
        let is_segment = self.parser.take(record, &mut segment);
        self.records.push(Sighting::default());
        if is_segment {
            let rare = *self.parser.rare(&segment);
            self.see(record, &segment, &rare);
        }
        self.parser.facts.packets % REMEMBERED as u64 != 0 || (self.go_on)()
    }

    fn accounts(&mut self) -> &mut dyn Accounts {
        &mut self.parser
    }
}

impl Finder<'_> {
    fn see(&mut self, record: &Record, segment: &Segment, rare: &RareFields) {
        let way = (segment.pair, segment.turned);
        let place = self.place(record, segment);
        let identity = identity(segment, rare);
        let known = self.recent.get(&identity).or_else(|| self.older.get(&identity)).copied();
        let varies = self.varies(way, segment.ip_id.unwrap_or(0));
        let number = self.parser.facts.packets;
        match known.filter(|group| group.has_room_for(segment, place, varies)) {
            Some(mut group) => {
                group.add(number, segment.time, place);
                self.older.remove(&identity);
                self.recent.insert(identity, group);
            }
            None => {
                let mut group = Group {
                    way,
                    payload: segment.payload,
                    count: 0,
                    records: [0; MOST],
                    times: [0; MOST],
                    places: [0; MOST],
                };
                group.add(number, segment.time, place);
                for old in [self.older.remove(&identity), self.recent.insert(identity, group)] {
                    old.into_iter().for_each(|old| self.settle(&old));
                }
            }
        }
        if self.recent.len() >= REMEMBERED {
            let recent = take(&mut self.recent);
            let gone = std::mem::replace(&mut self.older, recent);
            gone.values().for_each(|group| self.settle(group));
        }
    }

    fn place(&mut self, record: &Record, segment: &Segment) -> Place {
        let half = |at: usize| {
            let three = [at, at + 2, at + 4].map(|at| u64::from(pair(record.bytes, at)));
            three[0] << 32 | three[1] << 16 | three[2]
        };
        let is_frame = record.link == 1 && record.bytes.len() >= 12;
        let stations = if is_frame { [half(0), half(6)] } else { [0; 2] };
        let next = self.places.len() as Place;
        *self.places.entry((segment.place, stations, segment.ttl)).or_insert(next)
    }

    /// Whether the identifications of a direction differ.
    fn varies(&mut self, way: Way, id: u16) -> bool {
        let (latest, changes) = self.identifications.entry(way).or_insert((id, 0));
        *changes += u32::from(*latest != id);
        *latest = id;
        *changes > 0 && id != 0
    }

    /// No more sightings of a packet come.
    fn settle(&mut self, group: &Group) {
        for (rank, record) in group.records[..group.count].iter().enumerate() {
            let (rank, of) = (rank as u8, group.count as u8);
            self.records[*record as usize] =
                Sighting { rank, of, place: group.places[rank as usize] };
        }
        let hop = self.hops.entry(group.way).or_default();
        let last = group.count - 1;
        hop.bytes += u64::from(group.payload);
        if last == 0 {
            *hop.single.entry(group.places[0]).or_default() += 1;
            return;
        }
        let delay = group.times[last] - group.times[0];
        hop.both += 1;
        hop.delays.add(delay, false);
        hop.histogram.add(bucket(delay), 1);
        *hop.firsts.entry(group.places[0]).or_default() += 1;
        *hop.lasts.entry(group.places[last]).or_default() += 1;
    }

    fn end(mut self) -> Option<Sightings> {
        for groups in [take(&mut self.older), take(&mut self.recent)] {
            groups.values().for_each(|group| self.settle(group));
        }
        let mut judged = HashMap::new();
        let pairs: Vec<u32> = self.hops.keys().filter(|way| !way.1).map(|way| way.0).collect();
        for number in pairs {
            let both = [(number, false), (number, true)];
            let bytes = both.map(|way| self.hops.get(&way).map_or(0, |hop| hop.bytes));
            let main = both[usize::from(bytes[1] > bytes[0])];
            if !both.iter().any(|way| self.hops.get(way).map_or(false, Hop::is_doubled)) {
                continue;
            }
            for way in both {
                if let Some(hop) = self.hops.get_mut(&way).filter(|hop| hop.is_doubled()) {
                    judged.insert(way, hop.judge(way == main));
                }
            }
        }
        let (records, hops) = (self.records, self.hops);
        if judged.is_empty() {
            None
        } else {
            Some(Sightings { records, judged, hops })
        }
    }
}

impl Hop {
    /// Where its packets count, and how many of them the last place lacks.
    fn judge(&mut self, is_first: bool) -> Judged {
        let (first, last) = (most(&self.firsts), most(&self.lasts));
        self.lost = self.single.get(&first).copied().unwrap_or(0);
        let (here, there) = if is_first { (first, last) } else { (last, first) };
        Judged { here, there, is_first }
    }
}

fn most(counts: &HashMap<Place, u64>) -> Place {
    counts
        .iter()
        .max_by_key(|(place, count)| (**count, u16::MAX - **place))
        .map_or(0, |most| *most.0)
}

impl Group {
    /// Whether a packet that looks alike is the same: it was seen at another place, or its
    /// identification or time stamp tells it from a repetition.
    fn has_room_for(&self, segment: &Segment, place: Place, varies: bool) -> bool {
        let is_elsewhere = !self.places[..self.count].contains(&place);
        // A SYN comes again after a second (RFC 6298, section 2).
        let is_stamped = (segment.is_stamped || segment.flags & SYN != 0)
            && segment.time - self.times[0] < STAMPED_ANEW;
        self.count < MOST && (is_elsewhere || varies || is_stamped)
    }

    fn add(&mut self, number: u64, time: i64, place: Place) {
        let at = self.count;
        (self.records[at], self.times[at], self.places[at]) = (number, time, place);
        self.count += 1;
    }
}

/// What the network leaves alone of a packet.
fn identity(segment: &Segment, rare: &RareFields) -> u64 {
    let mut hasher = DefaultHasher::new();
    (segment.pair, segment.turned, segment.sequence, segment.acknowledgement).hash(&mut hasher);
    (segment.flags, segment.window, segment.payload, segment.ip_id).hash(&mut hasher);
    (segment.timestamps(), rare.sacks()).hash(&mut hasher);
    hasher.finish()
}
