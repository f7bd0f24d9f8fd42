//! The compiled engine of `analysis.flows`: one streaming pass over a capture, and columns for
//! Python.

pub mod acks;
pub mod anew;
pub mod blocks;
pub mod connection;
pub mod counting;
pub mod direction;
pub mod frame;
pub mod link;
pub mod losses;
pub mod options;
pub mod pairs;
pub mod pipeline;
pub mod queue;
pub mod ranges;
pub mod records;
pub mod rows;
pub mod samples;
pub mod scoreboard;
pub mod segment;
pub mod sending;
pub mod source;
pub mod summary;
pub mod table;
pub mod unpack;
pub mod whole;

#[cfg(feature = "python")]
mod python;

use pairs::Pairs;
use pipeline::Facts;
use records::{Fault, Format};
use source::{Compression, Source};
use table::Table;

/// What the reading of one file gave.
pub struct Reading {
    pub format: Format,
    pub compression: Compression,
    pub bytes: u64,
    pub facts: Facts,
    pub pairs: Pairs,
    pub fault: Option<(Fault, u64)>,
}

/// Why nothing was read.
#[derive(Debug)]
pub enum Refused {
    Unreadable(std::io::Error),
    NoCapture,
}

/// Reads the whole file into `table`; `go_on` returns false when the user wants to stop.
pub fn read(
    path: &std::path::Path,
    table: &mut Table,
    go_on: &mut dyn FnMut() -> bool,
) -> Result<Reading, Refused> {
    let (mut source, compression) = Source::open(path).map_err(Refused::Unreadable)?;
    let (format, big) = records::recognise(&mut source).ok_or(Refused::NoCapture)?;
    let (fault, facts, pairs) =
        pipeline::run(table, go_on, |parser| records::read(&mut source, format, big, parser));
    Ok(Reading { format, compression, bytes: source.offset, facts, pairs, fault })
}
