//! The compiled engine of `analysis.flows`: one streaming pass over a capture, and columns for
//! Python.

pub mod acks;
pub mod application_layer;
pub mod batch;
pub mod column_frame;
pub mod connection;
pub mod connection_rows;
pub mod connection_table;
pub mod copies;
pub mod counting;
pub mod datagrams;
pub mod decompression;
pub mod deduplication;
pub mod direction;
pub mod drawn_rows;
pub mod exchange_reader;
pub mod exchanges;
pub mod formats;
pub mod fragments;
pub mod growing;
pub mod handshake;
pub mod icmp_errors;
pub mod ip_layer;
pub mod kind;
pub mod limit_history;
pub mod link_layer;
pub mod losses;
pub mod networks;
pub mod optional_number;
pub mod own_share;
pub mod packet_parser;
pub mod packet_records;
pub mod packet_rows;
pub mod pairs;
pub mod pcapng_blocks;
pub mod pipeline;
pub mod prefetch;
pub mod queue;
pub mod rare_links;
pub mod restarts;
pub mod round_trips;
pub mod rtt_samples;
pub mod scoreboard;
pub mod second_reading;
pub mod segment;
pub mod sender_view;
pub mod sending;
pub mod sent_segment;
pub mod sequence_ranges;
pub mod sightings;
pub mod step;
pub mod stream;
pub mod tcp_options;
pub mod text_lines;

pub mod tunnels;
pub mod turns;
pub mod unanswered_stamps;
pub mod usage;
pub mod whole_packets;
pub mod window_offer;

#[cfg(feature = "python")]
mod python;

use connection_table::Table;
use datagrams::Datagrams;
use icmp_errors::IcmpErrors;
use networks::Networks;
use packet_parser::{Asked, Facts, Parsed};
use packet_records::{Fault, Format};
use pairs::Pairs;
use second_reading::Plan;
use stream::{Compression, Source};

/// What the reading of one file gave.
pub struct Reading {
    pub format: Format,
    pub compression: Compression,
    pub bytes: u64,
    pub facts: Facts,
    pub pairs: Pairs,
    pub networks: Networks,
    pub datagrams: Datagrams,
    pub errors: IcmpErrors,
    pub fault: Option<(Fault, u64)>,
    /// How the file was read once more, if that was needed.
    pub plan: Option<Plan>,
}

/// Why nothing was read.
#[derive(Debug)]
pub enum Refused {
    Unreadable(std::io::Error),
    NoCapture,
}

/// Reads the whole file into `connection_table`; `go_on` returns false when the user wants to stop.
pub fn read(
    path: &std::path::Path,
    table: &mut Table,
    asked: Asked,
    go_on: &mut dyn FnMut() -> bool,
) -> Result<Reading, Refused> {
    let first = read_once(path, table, asked.clone(), go_on)?;
    second_reading::improve(path, table, first, asked, go_on)
}

fn read_once(
    path: &std::path::Path,
    table: &mut Table,
    asked: Asked,
    go_on: &mut dyn FnMut() -> bool,
) -> Result<Reading, Refused> {
    let (mut source, compression) = Source::open(path).map_err(Refused::Unreadable)?;
    let (format, big) = formats::recognise(&mut source).ok_or(Refused::NoCapture)?;
    let (fault, Parsed { facts, pairs, networks, datagrams, errors }) =
        pipeline::run(table, asked, go_on, |parser| {
            formats::read(&mut source, format, big, parser)
        });
    let bytes = source.offset;
    let plan = None;
    Ok(Reading {
        format,
        compression,
        bytes,
        facts,
        pairs,
        networks,
        datagrams,
        errors,
        fault,
        plan,
    })
}
