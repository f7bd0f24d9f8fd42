//! Records parsed to segments, and what a file says beside them.

use crate::datagrams::Datagrams;
use crate::icmp_errors::IcmpErrors;
use crate::link_layer::{pair, Ignored, NAMES};
use crate::networks::Networks;
use crate::packet_records::{Accounts, Dropped, Record};
use crate::pairs::Pairs;
use crate::segment::{parse, Ends, Segment, EARLIER, SYN};
use crate::tcp_options::{RareFields, NO_RARE_FIELDS};
use crate::tunnels::{TunnelPorts, Unwrapped, Wrappings};

/// Linux's cooked capture of the second version, with the interface's number.
const COOKED_2: u16 = 276;
const MOST_TYPES: usize = 64;

/// What the file says beside its segments.
#[derive(Clone, Default)]
pub struct Facts {
    pub packets: u64,
    pub segments: u64,
    pub ignored: [u64; NAMES.len()],
    pub first: Option<i64>,
    pub last: Option<i64>,
    /// Records whose time is before the previous one's, and the longest step back.
    pub backwards: u64,
    pub longest_back: i64,
    pub link_types: Vec<u16>,
    pub snaplen: u32,
    /// How far the latest time was ahead of a record at most, and that time.
    pub behind: i64,
    top: i64,
    /// Packets that the capture lost by its own account, and between which records.
    pub lost: u64,
    pub lost_since: Option<i64>,
    pub lost_until: Option<i64>,
    /// Records without a time.
    pub timeless: u64,
    /// Records of Ethernet whose type is not read, by it.
    pub unread_types: Vec<(u16, u64)>,
}

/// The moments, in nanoseconds, within which packets count: since 1970, or if `relative` since the
/// first packet.
#[derive(Clone, Copy)]
pub struct Period {
    pub since: Moment,
    pub until: Moment,
}

/// What a user asks of the parsing.
#[derive(Clone, Default)]
pub struct Asked {
    pub period: Option<Period>,
    pub tunnels: TunnelPorts,
}

#[derive(Clone, Copy)]
pub struct Moment {
    pub time: i64,
    pub relative: bool,
}

impl Period {
    fn holds(&self, time: i64, first: i64) -> bool {
        self.since.after(first) <= time && time <= self.until.after(first)
    }
}

impl Moment {
    fn after(&self, first: i64) -> i64 {
        if self.relative {
            self.time.saturating_add(first)
        } else {
            self.time
        }
    }
}

/// Knows what the records before said: which ends there are, and what their wrappings are called.
pub struct PacketParser {
    pub facts: Facts,
    pub pairs: Pairs,
    wrappings: Wrappings,
    compatible: bool,
    period: Option<Period>,
    ends: Ends,
    rare: RareFields,
    lost_before: u64,
}

/// What the parsing gives beside the segments.
pub struct Parsed {
    pub facts: Facts,
    pub pairs: Pairs,
    pub networks: Networks,
    pub datagrams: Datagrams,
    pub errors: IcmpErrors,
}

impl PacketParser {
    pub fn new(compatible: bool, asked: Asked) -> PacketParser {
        let (facts, pairs, ends, rare) = Default::default();
        let Asked { period, tunnels } = asked;
        let wrappings = Wrappings { ports: tunnels, ..Wrappings::default() };
        PacketParser { facts, pairs, wrappings, compatible, period, ends, rare, lost_before: 0 }
    }

    /// The rare fields of the segment that was taken last.
    #[inline(always)]
    pub fn rare(&self, segment: &Segment) -> &RareFields {
        if segment.is_rare {
            &self.rare
        } else {
            &NO_RARE_FIELDS
        }
    }

    /// Whether the record is a TCP segment, which then stands in `segment`.
    #[inline(always)]
    pub fn take(&mut self, record: &Record, segment: &mut Segment) -> bool {
        let facts = &mut self.facts;
        facts.packets += 1;
        let first = *facts.first.get_or_insert(record.time);
        if let Some(last) = facts.last.replace(record.time) {
            if record.time < last {
                back(facts, last, record.time);
            }
        }
        if let Some(period) = self.period {
            if !period.holds(record.time, first) {
                ignore(facts, Ignored::Outside);
                return record.time < period.since.after(first) && self.opens(record, segment);
            }
        }
        if let Err(why) = self.parse(record, segment) {
            ignore(&mut self.facts, why);
            if why == Ignored::NotIp && record.link == 1 && record.bytes.len() > 14 {
                count_type(&mut self.facts, pair(record.bytes, 12));
            }
            return false;
        }
        segment.place = place_of(record);
        (segment.pair, segment.turned) = self.pairs.find(&self.ends);
        self.facts.segments += 1;
        true
    }

    /// Whether a record before the period is a SYN, whose options hold in the period too.
    #[cold]
    fn opens(&mut self, record: &Record, segment: &mut Segment) -> bool {
        let is_syn = self.parse(record, segment).is_ok() && segment.flags & SYN != 0;
        if self.compatible || !is_syn {
            return false;
        }
        segment.flags |= EARLIER;
        (segment.pair, segment.turned) = self.pairs.find(&self.ends);
        true
    }

    #[inline(always)]
    fn parse(&mut self, record: &Record, segment: &mut Segment) -> Result<(), Ignored> {
        if self.compatible {
            // tcptrace knows no networks.
            let parsed = parse::<true>(record, segment, &mut self.rare, &mut self.ends);
            self.ends.network = 0;
            parsed
        } else {
            let (rare, ends, number) = (&mut self.rare, &mut self.ends, self.facts.packets);
            let wrappings = &mut self.wrappings;
            parse::<false>(record, segment, rare, ends)
                .or_else(|why| wrappings.parse((record, number), why, segment, rare, ends))
        }
    }

    /// The innermost packet of a record.
    pub fn unwrap<'a>(&mut self, record: &Record<'a>) -> Result<Unwrapped<'a>, Ignored> {
        self.wrappings.unwrap(record)
    }

    /// Whether packets of this time count.
    pub fn holds(&self, time: i64) -> bool {
        let first = self.facts.first.unwrap_or(time);
        self.period.map_or(true, |period| period.holds(time, first))
    }

    /// The facts so far: fragments count as ignored until their packet is whole.
    pub fn facts(&self) -> Facts {
        let (mut facts, joined) = (self.facts.clone(), self.wrappings.fragments.joined);
        facts.ignored[Ignored::Fragment as usize] -= joined;
        facts.ignored[Ignored::Joined as usize] = joined;
        facts
    }

    pub fn networks(&self) -> &Networks {
        &self.wrappings.networks
    }

    pub fn parsed(self) -> Parsed {
        let facts = self.facts();
        let Wrappings { networks, datagrams, errors, .. } = self.wrappings;
        Parsed { facts, pairs: self.pairs, networks, datagrams, errors }
    }
}

impl Accounts for PacketParser {
    fn interface(&mut self, link: u16, snaplen: u32) {
        if !self.facts.link_types.contains(&link) {
            self.facts.link_types.push(link);
        }
        self.facts.snaplen = self.facts.snaplen.max(snaplen);
    }

    /// The capture's account of what it lost; two accounts are of the same packets.
    fn lost(&mut self, lost: Dropped) {
        let facts = &mut self.facts;
        match lost {
            Dropped::InAll { count } => facts.lost = facts.lost.max(count),
            Dropped::Before { count, since, until } => {
                self.lost_before += count;
                facts.lost = facts.lost.max(self.lost_before);
                facts.lost_since.get_or_insert(since);
                facts.lost_until = Some(until);
            }
        }
    }

    fn timeless(&mut self) {
        self.facts.timeless += 1;
    }
}

#[cold]
fn back(facts: &mut Facts, last: i64, time: i64) {
    facts.backwards += 1;
    facts.longest_back = facts.longest_back.max(last - time);
    facts.top = facts.top.max(last);
    facts.behind = facts.behind.max(facts.top - time);
}

#[cold]
fn count_type(facts: &mut Facts, kind: u16) {
    let types = &mut facts.unread_types;
    match types.iter().position(|known| known.0 == kind) {
        Some(at) => types[at].1 += 1,
        None if types.len() < MOST_TYPES => types.push((kind, 1)),
        None => {}
    }
}

/// Where a record was captured, as far as its interface tells: by its number in pcapng, or that of
/// Linux's cooked capture.
#[inline(always)]
fn place_of(record: &Record) -> u16 {
    if record.link == COOKED_2 {
        return pair(record.bytes, 6) ^ record.interface << 8;
    }
    record.interface
}

#[cold]
fn ignore(facts: &mut Facts, why: Ignored) {
    facts.ignored[why as usize] += 1;
}
