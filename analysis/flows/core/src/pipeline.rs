//! Reading and parsing in one thread, the analysis in another; segments go over in batches that are
//! used again.

use crate::connection_table::Table;
use crate::link_layer::{Ignored, NAMES};
use crate::networks::Networks;
use crate::packet_records::{Record, Sink};
use crate::pairs::Pairs;
use crate::segment::{parse, Ends, Segment};
use crate::tunnels::Wrappings;
use std::sync::mpsc::{channel, sync_channel, Receiver, Sender, SyncSender};

/// Segments in a batch: few enough to stay in the processor's cache.
const BATCH: usize = 4096;
const BATCHES: usize = 4;
/// Packets between two looks at whether the user wants to stop.
const LOOK: u64 = 1 << 18;

/// Segments with the numbers of their records; those from `filled` on are of no meaning.
struct Batch {
    segments: Vec<(u64, Segment)>,
    filled: usize,
}

impl Batch {
    fn new() -> Batch {
        Batch { segments: (0..BATCH).map(|_| Default::default()).collect(), filled: 0 }
    }
}

/// What the file says beside its segments.
#[derive(Default)]
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
}

/// The moments, in nanoseconds, within which packets count: since 1970, or if `relative` since the
/// first packet.
#[derive(Clone, Copy)]
pub struct Period {
    pub since: Moment,
    pub until: Moment,
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

pub struct Parser<'a> {
    facts: Facts,
    pairs: Pairs,
    wrappings: Wrappings,
    compatible: bool,
    period: Option<Period>,
    ends: Ends,
    batch: Batch,
    full: SyncSender<Batch>,
    empty: Receiver<Batch>,
    go_on: &'a mut dyn FnMut() -> bool,
}

/// What the parsing gives beside the segments.
pub struct Parsed {
    pub facts: Facts,
    pub pairs: Pairs,
    pub networks: Networks,
}

/// Lets `read` feed a parser while `connection_table` takes the segments; `go_on` is asked now and
/// then, in the caller's thread.
pub fn run<T>(
    table: &mut Table,
    period: Option<Period>,
    go_on: &mut dyn FnMut() -> bool,
    read: impl FnOnce(&mut Parser) -> T,
) -> (T, Parsed) {
    let compatible = table.compatible;
    let (full, filled) = sync_channel(BATCHES);
    let (used, empty) = channel();
    for _ in 1..BATCHES {
        // The other end is in this function: sending cannot fail.
        let _ = used.send(Batch::new());
    }
    std::thread::scope(|scope| {
        let analysis = scope.spawn(move || analyse(table, &filled, &used));
        let mut parser = Parser::new(compatible, period, full, empty, go_on);
        let result = read(&mut parser);
        parser.hand_over();
        let Parser { mut facts, pairs, wrappings, full, .. } = parser;
        drop(full);
        if let Err(panic) = analysis.join() {
            std::panic::resume_unwind(panic);
        }
        facts.ignored[Ignored::Fragment as usize] -= wrappings.fragments.joined;
        facts.ignored[Ignored::Joined as usize] = wrappings.fragments.joined;
        (result, Parsed { facts, pairs, networks: wrappings.networks })
    })
}

fn analyse(table: &mut Table, filled: &Receiver<Batch>, used: &Sender<Batch>) {
    for mut batch in filled {
        for (number, segment) in &mut batch.segments[..batch.filled] {
            table.take(*number, segment);
        }
        batch.filled = 0;
        // At the end nobody takes it back.
        let _ = used.send(batch);
    }
}

impl<'a> Parser<'a> {
    fn new(
        compatible: bool,
        period: Option<Period>,
        full: SyncSender<Batch>,
        empty: Receiver<Batch>,
        go_on: &'a mut dyn FnMut() -> bool,
    ) -> Parser<'a> {
        let (facts, pairs, wrappings, ends) = Default::default();
        let batch = Batch::new();
        Parser { facts, pairs, wrappings, compatible, period, ends, batch, full, empty, go_on }
    }

    /// False if the analysis has ended, which it does early only by a panic.
    #[cold]
    fn hand_over(&mut self) -> bool {
        match self.empty.recv() {
            Ok(empty) => self.full.send(std::mem::replace(&mut self.batch, empty)).is_ok(),
            Err(_) => false,
        }
    }
}

impl Sink for Parser<'_> {
    #[inline(always)]
    fn record(&mut self, record: &Record) -> bool {
        let facts = &mut self.facts;
        facts.packets += 1;
        if facts.packets % LOOK == 0 && !(self.go_on)() {
            return false;
        }
        let first = *facts.first.get_or_insert(record.time);
        if let Some(last) = facts.last.replace(record.time) {
            if record.time < last {
                back(facts, last - record.time);
            }
        }
        if self.period.is_some_and(|period| !period.holds(record.time, first)) {
            ignore(facts, Ignored::Outside);
            return true;
        }
        let (number, segment) = &mut self.batch.segments[self.batch.filled];
        *number = facts.packets;
        let parsed = if self.compatible {
            // tcptrace knows no networks.
            let parsed = parse::<true>(record, segment, &mut self.ends);
            self.ends.network = 0;
            parsed
        } else {
            parse::<false>(record, segment, &mut self.ends)
                .or_else(|why| self.wrappings.parse(record, why, segment, &mut self.ends))
        };
        if let Err(why) = parsed {
            ignore(facts, why);
            return true;
        }
        (segment.pair, segment.turned) = self.pairs.find(&self.ends);
        facts.segments += 1;
        self.batch.filled += 1;
        self.batch.filled < BATCH || self.hand_over()
    }

    fn interface(&mut self, link: u16, snaplen: u32) {
        if !self.facts.link_types.contains(&link) {
            self.facts.link_types.push(link);
        }
        self.facts.snaplen = self.facts.snaplen.max(snaplen);
    }
}

#[cold]
fn back(facts: &mut Facts, step: i64) {
    facts.backwards += 1;
    facts.longest_back = facts.longest_back.max(step);
}

#[cold]
fn ignore(facts: &mut Facts, why: Ignored) {
    facts.ignored[why as usize] += 1;
}
