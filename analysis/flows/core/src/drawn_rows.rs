//! Rows of packets for pictures, in bounded memory: of many only those that a picture shows.
//!
//! The rows of one direction of a connection are up to three streams: new data, ACKs, and ACKs with
//! SACK blocks. Of so many rows of a stream one after another, a group, the first and the last
//! stay, those with the least and greatest value of each quantity, and both ends of a long pause.
//! What else happens (retransmissions, SYNs, closed windows, ...) is an event; all events stay,
//! unless they alone are too many.

use crate::kind;
use crate::packet_rows::Row;
use crate::segment::{Segment, ACK, FIN, RST, SYN};

/// Streams of a direction; the last is of events.
const DATA: u8 = 0;
const ACKS: u8 = 1;
const SACKS: u8 = 2;
const EVENTS: u8 = 3;
const STREAMS: usize = 4;
/// Rows of a group, as powers of two: of fewer nearly all stay.
const FEWEST: u32 = 3;
const MOST: u32 = 40;
const QUANTITIES: usize = 5;
/// A pause is long if it takes this part of the time of its group.
const PART: i64 = 4;
/// No round trip.
const NO_SAMPLE: i64 = i64::MIN;

/// What pictures show of a packet, and where it stands among all, also those that are left out.
pub struct DrawnRow {
    pub number: u64,
    pub time: i64,
    pub sequence: u64,
    pub acknowledgement: Option<u64>,
    pub window: u64,
    pub in_flight: u64,
    pub peer_in_flight: u64,
    pub rtt: i64,
    pub sacks: Option<Box<[(i64, i64)]>>,
    /// Of its direction so far: bytes, SYN and FIN counted, and segments that have any.
    pub carried: u64,
    pub carriers: u64,
    /// The rows before it, and those of its stream.
    row: usize,
    in_stream: u64,
    pub connection: u32,
    pub payload: u32,
    pub flags: u16,
    pub kind: u8,
    stream: u8,
    pub forward: bool,
    pub dsack: bool,
}

impl DrawnRow {
    fn new(segment: &Segment, row: &Row, place: usize) -> DrawnRow {
        DrawnRow {
            number: row.number,
            time: segment.time,
            sequence: row.sequence.max(0) as u64,
            acknowledgement: row.acknowledgement.map(|number| number.max(0) as u64),
            window: row.window,
            in_flight: row.in_flight.0 as u64,
            peer_in_flight: row.in_flight.1 as u64,
            rtt: row.rtt.unwrap_or(NO_SAMPLE),
            sacks: (!row.sacks.is_empty()).then(|| row.sacks.into()),
            carried: 0,
            carriers: 0,
            row: place,
            in_stream: 0,
            connection: row.connection,
            payload: segment.payload,
            flags: segment.flags,
            kind: row.kind,
            stream: stream(segment, row),
            forward: row.forward,
            dsack: row.dsack,
        }
    }

    pub fn sample(&self) -> Option<i64> {
        (self.rtt != NO_SAMPLE).then_some(self.rtt)
    }

    fn way(&self) -> usize {
        2 * self.connection as usize + usize::from(self.forward)
    }

    fn slot(&self) -> usize {
        self.way() * STREAMS + usize::from(self.stream)
    }

    /// What is compared, the round trip last.
    fn quantities(&self) -> [i64; QUANTITIES] {
        let (window, flight) = (self.window as i64, self.in_flight as i64);
        [i64::from(self.payload), window, flight, self.peer_in_flight as i64, self.rtt]
    }

    /// Whether data begins where the data before it ends; of what was left out it did.
    fn follows(&self, before: &DrawnRow) -> bool {
        let is_next = self.in_stream == before.in_stream + 1;
        let end = before.sequence + u64::from(before.payload);
        self.stream != DATA || !is_next || self.sequence == end
    }
}

fn stream(segment: &Segment, row: &Row) -> u8 {
    let marks = segment.flags & (SYN | FIN | RST | ACK);
    if marks != ACK || row.window == 0 || row.dsack {
        return EVENTS;
    }
    match (row.kind, segment.payload > 0) {
        (kind::NEW, true) => DATA,
        (kind::NONE, false) if !row.sacks.is_empty() => SACKS,
        (kind::NONE, false) => ACKS,
        _ => EVENTS,
    }
}

/// Which rows are wanted, and those that stay.
pub struct DrawnRows {
    /// Rows that are in memory; more are thinned to half of that.
    most: usize,
    /// With more connections than this it is given up if rows have to be thinned.
    connections: usize,
    /// Whether connections get rows, by number, if not all do.
    only: Option<Vec<bool>>,
    pub is_given_up: bool,
    /// Rows of a group, and events of one, as powers of two.
    pub grain: u32,
    pub event_grain: u32,
    ways: Vec<WaySums>,
    rows: Vec<DrawnRow>,
    events: Vec<DrawnRow>,
    /// By the slot of their rows.
    groups: Vec<Group>,
}

/// Of one direction, so far.
#[derive(Clone, Copy, Default)]
struct WaySums {
    carried: u64,
    carriers: u64,
    rows: [u64; STREAMS],
}

impl DrawnRows {
    pub fn new(most: usize, connections: usize, only: Option<Vec<u32>>) -> DrawnRows {
        DrawnRows {
            most,
            connections,
            only: only.map(|numbers| marked(&numbers)),
            is_given_up: false,
            grain: 0,
            event_grain: 0,
            ways: Vec::new(),
            rows: Vec::new(),
            events: Vec::new(),
            groups: Vec::new(),
        }
    }

    pub fn emptied(&self) -> DrawnRows {
        let only = self.only.clone();
        DrawnRows { only, ..DrawnRows::new(self.most, self.connections, None) }
    }

    #[inline(always)]
    pub fn takes(&self, connection: u32) -> bool {
        let is_in = |only: &Vec<bool>| only.get(connection as usize) == Some(&true);
        self.only.as_ref().map_or(true, is_in)
    }

    pub fn push(&mut self, segment: &Segment, row: &Row, place: usize) {
        if self.rows.len() + self.events.len() >= self.most {
            self.thin();
        }
        let mut row = DrawnRow::new(segment, row, place);
        self.count(&mut row);
        match (row.stream, self.grain) {
            (EVENTS, _) => self.events.push(row),
            (_, 0) => self.rows.push(row),
            _ => self.wait(row),
        }
    }

    fn count(&mut self, row: &mut DrawnRow) {
        let at = row.way();
        if self.ways.len() <= at {
            self.ways.resize(at + 1, WaySums::default());
        }
        let way = &mut self.ways[at];
        let carries = u64::from(row.payload) + u64::from((row.flags & (SYN | FIN)).count_ones());
        way.carried += carries;
        way.carriers += u64::from(carries > 0 || row.kind > kind::NEW);
        let in_stream = &mut way.rows[usize::from(row.stream)];
        (row.carried, row.carriers, row.in_stream) = (way.carried, way.carriers, *in_stream);
        *in_stream += 1;
    }

    /// The row may be the last of its group: only the next one shows whether it stays.
    fn wait(&mut self, row: DrawnRow) {
        let (slot, number) = (row.slot(), row.in_stream >> self.grain);
        if self.groups.len() <= slot {
            self.groups.resize_with(slot + 1, Group::default);
        }
        let group = &mut self.groups[slot];
        if let Some(before) = group.waiting.take() {
            let goes_on = group.number == number && row.follows(&before);
            let pause = row.time - before.time;
            let is_pause = goes_on && pause > group.pause;
            if !goes_on || is_pause || group.is_extreme {
                self.rows.push(before);
            }
            if goes_on {
                group.pause = group.pause.max(pause);
                group.is_extreme = group.widen(&row, 0) || is_pause;
            } else {
                group.begin(&row, number, 0);
            }
        } else {
            group.begin(&row, number, 0);
        }
        group.waiting = Some(row);
    }

    pub fn change_kind(&mut self, row: usize, kind: u8) {
        if let Ok(at) = self.events.binary_search_by_key(&row, |event| event.row) {
            self.events[at].kind = kind;
        }
    }

    #[cold]
    fn thin(&mut self) {
        let ways = self.ways.chunks(2);
        let seen = ways.filter(|both| both.iter().any(|way| way.rows != [0; STREAMS]));
        self.is_given_up = seen.count() > self.connections;
        if self.is_given_up {
            return;
        }
        loop {
            let kept = self.kept();
            let count = kept.iter().filter(|is_kept| **is_kept).count();
            if count + self.events.len() <= self.most / 2 {
                retain(&mut self.rows, &kept);
                break;
            }
            if self.events.len() > self.most / 4 && self.event_grain < MOST {
                self.event_grain += 1;
                self.thin_events();
            } else if self.grain < MOST {
                self.grain = FEWEST.max(self.grain + 1);
            } else {
                self.most *= 2;
                break;
            }
        }
        self.groups.iter_mut().for_each(|group| group.number = u64::MAX);
    }

    /// Which rows stay.
    fn kept(&self) -> Vec<bool> {
        let mut kept = vec![false; self.rows.len()];
        let mut groups: Vec<Group> = Vec::new();
        groups.resize_with(self.ways.len() * STREAMS, Group::default);
        for (at, row) in self.rows.iter().enumerate() {
            let (group, number) = (&mut groups[row.slot()], row.in_stream >> self.grain);
            let before = &self.rows[group.last];
            if group.number == number && row.follows(before) {
                let pause = row.time - before.time;
                if row.in_stream == before.in_stream + 1 && pause > group.pause {
                    (group.pause, group.after_pause) = (pause, (group.last, at));
                }
                group.widen(row, at);
            } else {
                group.mark(&self.rows, &mut kept);
                group.begin(row, number, at);
            }
            group.last = at;
        }
        groups.iter().for_each(|group| group.mark(&self.rows, &mut kept));
        kept
    }

    /// Leaves the first event of each kind of a group.
    fn thin_events(&mut self) {
        let mut met = vec![(u64::MAX, 0u16); self.ways.len() * STREAMS];
        let grain = self.event_grain;
        self.events.retain(|event| {
            let (number, kinds) = &mut met[event.slot()];
            if *number != event.in_stream >> grain {
                (*number, *kinds) = (event.in_stream >> grain, 0);
            }
            let is_new = *kinds & 1 << event.kind == 0;
            *kinds |= 1 << event.kind;
            is_new
        });
    }

    /// All rows that stay, in their order.
    pub fn finish(&mut self) -> Vec<DrawnRow> {
        let waiting = self.groups.iter_mut().filter_map(|group| group.waiting.take());
        let mut rows = std::mem::take(&mut self.rows);
        rows.extend(waiting);
        rows.append(&mut self.events);
        rows.sort_unstable_by_key(|row| row.row);
        rows
    }

    /// For each row how many of its stream were left out behind it.
    pub fn left_out(&self, rows: &[DrawnRow]) -> Vec<u64> {
        let mut left_out = vec![0; rows.len()];
        let mut latest = vec![None; self.ways.len() * STREAMS];
        for (at, row) in rows.iter().enumerate() {
            if let Some(before) = latest[row.slot()].replace(at) {
                let before: usize = before;
                left_out[before] = row.in_stream - rows[before].in_stream - 1;
            }
        }
        left_out
    }

    /// Whether the row is one of those at equal distances, whose values are a sample of all.
    pub fn is_regular(&self, row: &DrawnRow) -> bool {
        row.in_stream & ((1 << self.grain) - 1) == 0
    }
}

/// Truths by number.
fn marked(numbers: &[u32]) -> Vec<bool> {
    let mut marked = vec![false; numbers.iter().max().map_or(0, |most| *most as usize + 1)];
    numbers.iter().for_each(|number| marked[*number as usize] = true);
    marked
}

fn retain(rows: &mut Vec<DrawnRow>, kept: &[bool]) {
    let mut kept = kept.iter();
    rows.retain(|_| kept.next() == Some(&true));
}

/// Rows of a stream one after another, by their places.
struct Group {
    number: u64,
    first: usize,
    last: usize,
    /// The least and the greatest value of each quantity, and their rows.
    least: [(i64, usize); QUANTITIES],
    greatest: [(i64, usize); QUANTITIES],
    /// The longest pause, and the rows before and behind it.
    pause: i64,
    after_pause: (usize, usize),
    /// Its latest row, as long as it is not known whether it stays, and a reason why it does.
    waiting: Option<DrawnRow>,
    is_extreme: bool,
}

impl Default for Group {
    fn default() -> Group {
        Group {
            number: u64::MAX,
            first: 0,
            last: 0,
            least: [(i64::MAX, 0); QUANTITIES],
            greatest: [(i64::MIN, 0); QUANTITIES],
            pause: 0,
            after_pause: (0, 0),
            waiting: None,
            is_extreme: false,
        }
    }
}

impl Group {
    fn begin(&mut self, row: &DrawnRow, number: u64, at: usize) {
        (self.number, self.first, self.last) = (number, at, at);
        self.least = [(i64::MAX, at); QUANTITIES];
        self.greatest = [(i64::MIN, at); QUANTITIES];
        (self.pause, self.after_pause) = (0, (at, at));
        self.widen(row, at);
        self.is_extreme = true;
    }

    /// Returns whether a value is beyond all so far.
    fn widen(&mut self, row: &DrawnRow, at: usize) -> bool {
        let known = QUANTITIES - usize::from(row.rtt == NO_SAMPLE);
        let mut is_extreme = false;
        for (quantity, value) in row.quantities()[..known].iter().enumerate() {
            if *value < self.least[quantity].0 {
                self.least[quantity] = (*value, at);
                is_extreme = true;
            }
            if *value > self.greatest[quantity].0 {
                self.greatest[quantity] = (*value, at);
                is_extreme = true;
            }
        }
        is_extreme
    }

    fn mark(&self, rows: &[DrawnRow], kept: &mut [bool]) {
        if self.number == u64::MAX {
            return;
        }
        kept[self.first] = true;
        kept[self.last] = true;
        if self.pause * PART > rows[self.last].time - rows[self.first].time {
            kept[self.after_pause.0] = true;
            kept[self.after_pause.1] = true;
        }
        self.least.iter().chain(&self.greatest).for_each(|(_, row)| kept[*row] = true);
    }
}
