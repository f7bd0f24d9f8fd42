//! Any bytes as a capture file. Nothing may panic, overflow or hang; and what is read in one go and
//! what is fed piece by piece must be the same.

#![no_main]

use _core::column_frame::Frame;
use _core::connection_rows;
use _core::connection_table::Table;
use _core::formats;
use _core::growing::GrowingCapture;
use _core::limit_history::LimitRows;
use _core::packet_parser::Asked;
use _core::packet_records::Fault;
use _core::pipeline;
use _core::stream::Source;
use _core::whole_packets::Identity;
use libfuzzer_sys::fuzz_target;
use std::io::Cursor;

/// No connection is forgotten: the files are small.
const MOST: usize = usize::MAX;

/// What both ways of reading must agree on.
#[derive(Debug, PartialEq)]
struct Outcome {
    fault: Option<(Fault, u64)>,
    packets: u64,
    segments: u64,
    ignored: Vec<u64>,
    connections: usize,
}

fuzz_target!(|bytes: &[u8]| {
    let whole = read(bytes, false, true);
    read(bytes, true, false);
    assert_eq!(whole, fed(bytes, 61), "fed in pieces");
});

/// Reads the file as the engine does, and makes the rows of its connections.
fn read(bytes: &[u8], compatible: bool, packets: bool) -> Option<Outcome> {
    let mut source = Source::over(Box::new(Cursor::new(bytes.to_vec())));
    let (format, big) = formats::recognise(&mut source)?;
    let mut table = Table::new(compatible, packets);
    let (fault, parsed) = pipeline::run(&mut table, Asked::default(), &mut || true, |parser| {
        formats::read(&mut source, format, big, parser)
    });
    let connections = table.connections.len();
    let (mut frame, mut limits) = (Frame::new(connections), LimitRows::default());
    for known in std::mem::take(&mut table.connections) {
        let ends = parsed.pairs.ends(known.pair, known.turned);
        let network = parsed.networks.name(ends.network);
        let identity = Identity { number: known.number as usize, ends, network };
        let mut connection = known.counted((compatible, table.rows.is_some()));
        if let (true, Some(last)) = (compatible, parsed.facts.last) {
            connection.idle_until(last);
        }
        connection_rows::add(&mut frame, &mut limits, identity, &mut connection, compatible);
    }
    let facts = parsed.facts;
    let ignored = facts.ignored.to_vec();
    Some(Outcome { fault, packets: facts.packets, segments: facts.segments, ignored, connections })
}

fn fed(bytes: &[u8], piece: usize) -> Option<Outcome> {
    let mut following = GrowingCapture::new(MOST);
    for part in bytes.chunks(piece) {
        following.feed(part).ok()?;
    }
    if bytes.len() < 4 {
        return None;
    }
    following.end();
    let (table, parser) = (&following.counting.table, &following.counting.parser);
    let facts = parser.facts();
    Some(Outcome {
        fault: following.fault,
        packets: facts.packets,
        segments: facts.segments,
        ignored: facts.ignored.to_vec(),
        connections: table.connections.len(),
    })
}
