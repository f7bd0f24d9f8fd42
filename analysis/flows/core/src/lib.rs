//! The compiled engine of `analysis.flows`: one streaming pass over a capture, and columns for Python.

pub mod blocks;
pub mod connection;
pub mod direction;
pub mod frame;
pub mod link;
pub mod losses;
pub mod options;
pub mod ranges;
pub mod records;
pub mod rows;
pub mod samples;
pub mod scoreboard;
pub mod segment;
pub mod source;
pub mod summary;
pub mod table;

#[cfg(feature = "python")]
mod python;

use records::{Fault, Format};
use source::{Compression, Source};
use table::Table;

/// What the reading of one file gave.
pub struct Reading {
    pub format: Format,
    pub compression: Compression,
    pub bytes: u64,
    pub fault: Option<(Fault, u64)>,
}

/// Why nothing was read.
#[derive(Debug)]
pub enum Refused {
    Unreadable(std::io::Error),
    NoCapture,
}

/// Reads the whole file into `table`.
pub fn read(path: &std::path::Path, table: &mut Table) -> Result<Reading, Refused> {
    let (mut source, compression) = Source::open(path).map_err(Refused::Unreadable)?;
    let (format, big) = records::recognise(&mut source).ok_or(Refused::NoCapture)?;
    let fault = records::read(&mut source, format, big, table);
    Ok(Reading { format, compression, bytes: source.offset, fault })
}
