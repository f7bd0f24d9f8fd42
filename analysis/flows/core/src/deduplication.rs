//! Writes the records of a capture without some of them, as pcap with nanoseconds.

use crate::formats;
use crate::packet_records::{Accounts, Record, Sink};
use crate::stream::Source;
use crate::Refused;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;

const MAGIC: u32 = 0xa1b2_3c4d;
const VERSION: u32 = 2 | 4 << 16;
const SECOND: i64 = 1_000_000_000;

/// Why no capture was written.
pub enum Unwritten {
    Refused(Refused),
    Output(io::Error),
    /// The records are of several link types, of which a pcap file has one.
    LinkTypes,
}

struct Written<W> {
    output: W,
    /// The numbers of the records that are left out, in order, and how many of them were.
    left_out: Vec<u64>,
    passed: usize,
    number: u64,
    link: Option<u16>,
    snaplen: u32,
    failure: Option<Unwritten>,
}

impl<W: Write> Written<W> {
    fn header(&mut self, link: u16) -> io::Result<()> {
        self.link = Some(link);
        for word in [MAGIC, VERSION, 0, 0, self.snaplen, u32::from(link)] {
            self.output.write_all(&word.to_le_bytes())?;
        }
        Ok(())
    }

    fn write(&mut self, record: &Record) -> Result<(), Unwritten> {
        match self.link {
            None => self.header(record.link).map_err(Unwritten::Output)?,
            Some(link) if link != record.link => return Err(Unwritten::LinkTypes),
            Some(_) => {}
        }
        let (seconds, rest) = (record.time.div_euclid(SECOND), record.time.rem_euclid(SECOND));
        let lengths = (record.bytes.len() as u32, record.length);
        for word in [seconds as u32, rest as u32, lengths.0, lengths.1] {
            self.output.write_all(&word.to_le_bytes()).map_err(Unwritten::Output)?;
        }
        self.output.write_all(record.bytes).map_err(Unwritten::Output)
    }
}

impl<W: Write> Sink for Written<W> {
    fn record(&mut self, record: &Record) -> bool {
        self.number += 1;
        if self.left_out.get(self.passed) == Some(&self.number) {
            self.passed += 1;
            return true;
        }
        self.failure = self.write(record).err();
        self.failure.is_none()
    }

    fn accounts(&mut self) -> &mut dyn Accounts {
        self
    }
}

impl<W: Write> Accounts for Written<W> {
    fn interface(&mut self, _link: u16, snaplen: u32) {
        self.snaplen = self.snaplen.max(snaplen);
    }
}

/// Writes the records of `path` to `to` but for those with the numbers `left_out`, from 1 and in
/// order. Damage of the file ends what is written.
pub fn write_without(path: &Path, to: &Path, left_out: Vec<u64>) -> Result<(), Unwritten> {
    let (mut source, _) =
        Source::open(path).map_err(|error| Unwritten::Refused(Refused::Unreadable(error)))?;
    let (format, big) =
        formats::recognise(&mut source).ok_or(Unwritten::Refused(Refused::NoCapture))?;
    let output = BufWriter::new(File::create(to).map_err(Unwritten::Output)?);
    let (passed, number, link, failure) = Default::default();
    let mut written = Written { output, left_out, passed, number, link, snaplen: 0, failure };
    formats::read(&mut source, format, big, &mut written);
    match written.failure {
        Some(failure) => Err(failure),
        None => written.output.flush().map_err(Unwritten::Output),
    }
}
