//! Reading and parsing in one thread, the analysis in another; segments go over in batches that are
//! used again. The thread that reads counts a share of the connections itself, and hands over some
//! of them if only the other waits. Which thread counts a connection changes no result.

use crate::batch::Batch;
use crate::connection_table::Table;
use crate::own_share::OwnShare;
use crate::packet_parser::{Asked, PacketParser, Parsed};
use crate::packet_records::{Accounts, Record, Sink};
use crate::segment::Segment;
use std::collections::VecDeque;
use std::sync::mpsc::{channel, sync_channel, Receiver, Sender, SyncSender};

/// Segments in a batch: few enough to stay in the processor's cache.
const BATCH: usize = 4096;
const BATCHES: usize = 4;
/// Batches that are handed over without waiting before connections are: both threads wait now and
/// then, if they have as much to do as each other.
const PATIENCE: u32 = 4;
/// Packets between two looks at whether the user wants to stop.
const LOOK: u64 = 1 << 18;

/// Segments that are written into a batch at once. A batch comes back from another processor, and
/// each line of it must be fetched to be written: so many are fetched together, which otherwise
/// would be waited for one after another.
const FRESH: usize = 64;

/// Parses the records that are read, and hands the segments over.
pub struct Parser<'a> {
    parser: PacketParser,
    share: OwnShare,
    batch: Batch,
    /// The segments that come next in the batch; those from `filled` on are of no meaning.
    fresh: [(u64, Segment); FRESH],
    filled: usize,
    /// Segments since the last batch was handed over.
    segments: usize,
    stock: VecDeque<Batch>,
    /// Batches handed over since this thread last waited for the other, or gave it connections.
    unwaited: u32,
    full: SyncSender<Batch>,
    empty: Receiver<Batch>,
    go_on: &'a mut dyn FnMut() -> bool,
}

/// Shares no line of the processors' caches with anything else; some fetch two lines at once. What
/// one thread writes all the time must not share a line with what another does: they would take it
/// from each other.
#[repr(align(128))]
struct OwnLines<T>(T);

/// Lets `read` feed a parser while `connection_table` takes the segments; `go_on` is asked now and
/// then, in the caller's thread.
pub fn run<T>(
    table: &mut Table,
    asked: Asked,
    go_on: &mut dyn FnMut() -> bool,
    read: impl FnOnce(&mut Parser) -> T,
) -> (T, Parsed) {
    let compatible = table.compatible;
    let (full, filled) = sync_channel(BATCHES);
    let (used, empty) = channel();
    let share = OwnShare::beside(table);
    let mut counted_there = OwnLines(std::mem::replace(table, Table::new(compatible, None)));
    let counting = &mut counted_there.0;
    let (result, parsed, counted) = std::thread::scope(|scope| {
        let analysis = scope.spawn(move || analyse(counting, &filled, &used));
        let parser = PacketParser::new(compatible, asked);
        let stock = (1..BATCHES).map(|_| Batch::with_capacity(BATCH)).collect();
        let batch = Batch::with_capacity(BATCH);
        let fresh = [Default::default(); FRESH];
        let mut parser = Parser {
            parser,
            share,
            batch,
            fresh,
            filled: 0,
            segments: 0,
            stock,
            unwaited: 0,
            full,
            empty,
            go_on,
        };
        let result = read(&mut parser);
        parser.hand_over();
        let Parser { parser, share, full, .. } = parser;
        drop(full);
        if let Err(panic) = analysis.join() {
            std::panic::resume_unwind(panic);
        }
        (result, parser.parsed(), share.counted())
    });
    *table = counted_there.0;
    table.absorb(counted);
    (result, parsed)
}

fn analyse(table: &mut Table, filled: &Receiver<Batch>, used: &Sender<Batch>) {
    for mut batch in filled {
        batch.count(table);
        batch.released.drain(..).for_each(|entry| table.adopt(entry));
        // At the end nobody takes it back.
        let _ = used.send(batch);
    }
}

impl Parser<'_> {
    #[inline(never)]
    fn write(&mut self) {
        self.batch.extend(&self.fresh[..self.filled]);
        self.filled = 0;
    }

    /// False if the analysis has ended, which it does early only by a panic.
    #[cold]
    fn hand_over(&mut self) -> bool {
        self.write();
        self.segments = 0;
        self.stock.extend(self.empty.try_iter());
        self.unwaited = if self.stock.is_empty() { 0 } else { self.unwaited.saturating_add(1) };
        // The other thread waits, and this does not.
        let is_too_large = self.stock.len() == BATCHES - 1 && self.unwaited > PATIENCE;
        self.unwaited = if is_too_large { 0 } else { self.unwaited };
        self.batch.released = self.share.hand_over(is_too_large);
        match self.stock.pop_front().or_else(|| self.empty.recv().ok()) {
            Some(empty) => self.full.send(std::mem::replace(&mut self.batch, empty)).is_ok(),
            None => false,
        }
    }
}

impl Sink for Parser<'_> {
    #[inline(always)]
    fn record(&mut self, record: &Record) -> bool {
        let (number, segment) = &mut self.fresh[self.filled];
        let is_segment = self.parser.take(record, segment);
        let packets = self.parser.facts.packets;
        if packets % LOOK == 0 && !(self.go_on)() {
            return false;
        }
        if !is_segment {
            return true;
        }
        let rare = self.parser.rare(segment);
        if !self.share.take(packets, segment, rare) {
            *number = packets;
            if segment.is_rare {
                self.batch.push_rare(rare);
            }
            self.filled += 1;
            if self.filled == FRESH {
                self.write();
            }
        }
        self.segments += 1;
        self.segments < BATCH || self.hand_over()
    }

    fn accounts(&mut self) -> &mut dyn Accounts {
        &mut self.parser
    }
}
