//! The formats of capture files: recognises them, and reads pcap here, pcapng in `pcapng_blocks`.
//! Formats: draft-ietf-opsawg-pcap, draft-ietf-opsawg-pcapng.

use crate::packet_records::{word, Dropped, Fault, Format, Record, Sink, LARGEST};
use crate::pcapng_blocks::Section;
use crate::stream::Source;

const FILE_HEADER: usize = 24;
const HEADER: usize = 16;
const SNOOP_HEADER: usize = 16;
/// Kuznetsov's patch of libpcap adds the interface's number, the protocol and the packet's kind.
const MODIFIED_HEADER: usize = 24;

/// The order of both lengths, as libpcap takes it (pcap_check_header in sf-pcap.c): writers before
/// version 2.4 disagreed.
#[derive(Clone, Copy)]
enum LengthOrder {
    CapturedFirst,
    WireFirst,
    /// The smaller is what was captured.
    Either,
}

impl LengthOrder {
    /// Of the file's version, whose parts stand in the file's order.
    fn of(version: u32, big: bool) -> LengthOrder {
        let (high, low) = (version >> 16, version & 0xffff);
        match if big { (high, low) } else { (low, high) } {
            (2, 0..=2) | (543, _) => LengthOrder::WireFirst,
            (2, 3) => LengthOrder::Either,
            _ => LengthOrder::CapturedFirst,
        }
    }

    #[inline(always)]
    fn lengths(self, first: u32, second: u32) -> (u32, u32) {
        match self {
            LengthOrder::CapturedFirst => (first, second),
            LengthOrder::WireFirst => (second, first),
            LengthOrder::Either => (first.min(second), first.max(second)),
        }
    }
}

/// The format, or None for a file that is no capture.
pub fn recognise(source: &mut Source) -> Option<(Format, bool)> {
    if !source.need(4) {
        return None;
    }
    match source.window()[..4] {
        [0xd4, 0xc3, 0xb2, 0xa1] => Some((Format::Pcap, false)),
        [0xa1, 0xb2, 0xc3, 0xd4] => Some((Format::Pcap, true)),
        [0x4d, 0x3c, 0xb2, 0xa1] => Some((Format::PcapNanosecond, false)),
        [0xa1, 0xb2, 0x3c, 0x4d] => Some((Format::PcapNanosecond, true)),
        [0x34, 0xcd, 0xb2, 0xa1] => Some((Format::PcapModified, false)),
        [0xa1, 0xb2, 0xcd, 0x34] => Some((Format::PcapModified, true)),
        [0x0a, 0x0d, 0x0d, 0x0a] => Some((Format::Pcapng, false)),
        [b's', b'n', b'o', b'o'] => Some((Format::Snoop, true)),
        _ => None,
    }
}

/// The records of a file whose header was read. Reading goes on where it stopped, so that a file
/// may grow.
pub enum Records {
    Pcap(PcapLayout),
    Pcapng(Section),
    Snoop { link: u16 },
}

/// How the records of a pcap file begin.
#[derive(Clone, Copy)]
pub struct PcapLayout {
    big: bool,
    header: usize,
    order: LengthOrder,
    /// Nanoseconds in the smaller unit of time.
    tick: i64,
    link: u16,
}

/// Reads all records into `sink`; the fault and its place if there is one.
pub fn read(
    source: &mut Source,
    format: Format,
    big: bool,
    sink: &mut impl Sink,
) -> Option<(Fault, u64)> {
    let fault = match Records::begin(source, format, big, sink) {
        Some(mut records) => records.read(source, sink),
        None => Some(Fault::Cut),
    };
    let named = if source.broken { Some(Fault::Unpacking) } else { fault };
    named.map(|fault| (fault, source.offset))
}

impl Records {
    /// Reads the file's header; None if there is not all of it.
    pub fn begin(
        source: &mut Source,
        format: Format,
        big: bool,
        sink: &mut impl Sink,
    ) -> Option<Records> {
        if format == Format::Pcapng {
            return Some(Records::Pcapng(Section::default()));
        }
        if format == Format::Snoop {
            return snoop_header(source, sink);
        }
        if !source.need(FILE_HEADER) {
            return None;
        }
        let head = source.window();
        let layout = PcapLayout {
            big,
            header: if format == Format::PcapModified { MODIFIED_HEADER } else { HEADER },
            order: LengthOrder::of(word(head, 4, big), big),
            tick: if format == Format::PcapNanosecond { 1 } else { 1000 },
            link: (word(head, 20, big) & 0xffff) as u16,
        };
        sink.accounts().interface(layout.link, word(head, 16, big));
        source.take(FILE_HEADER);
        Some(Records::Pcap(layout))
    }

    /// Reads the records that are there; what is wrong if what remains is not one.
    pub fn read(&mut self, source: &mut Source, sink: &mut impl Sink) -> Option<Fault> {
        match self {
            Records::Pcapng(section) => section.read(source, sink),
            Records::Snoop { link } => snoop(source, *link, sink),
            Records::Pcap(layout) if layout.big => pcap::<true>(source, *layout, sink),
            Records::Pcap(layout) => pcap::<false>(source, *layout, sink),
        }
    }
}

/// RFC 1761: a name of eight bytes, the version, and a number for the link's type.
fn snoop_header(source: &mut Source, sink: &mut impl Sink) -> Option<Records> {
    if !source.need(SNOOP_HEADER) {
        return None;
    }
    let link = match word(source.window(), 12, true) {
        4 => 1,  // Ethernet
        8 => 10, // FDDI
        other => 0x100 | other.min(0xff) as u16,
    };
    sink.accounts().interface(link, 0);
    source.take(SNOOP_HEADER);
    Some(Records::Snoop { link })
}

fn snoop(source: &mut Source, link: u16, sink: &mut impl Sink) -> Option<Fault> {
    let mut drops = 0;
    while source.need(SNOOP_HEADER + 8) {
        let head: Vec<u32> = (0..6).map(|at| word(source.window(), 4 * at, true)).collect();
        let (length, captured, whole) = (head[0], head[1], head[2] as usize);
        if captured > LARGEST || whole < SNOOP_HEADER + 8 + captured as usize {
            return Some(Fault::Length);
        }
        if !source.need(whole) {
            return Some(Fault::Cut);
        }
        if head[3] != drops {
            drops = head[3];
            sink.accounts().lost(Dropped::InAll { count: drops.into() });
        }
        let time = i64::from(head[4]) * 1_000_000_000 + i64::from(head[5]) * 1000;
        let bytes = &source.window()[SNOOP_HEADER + 8..][..captured as usize];
        if !sink.record(&Record { time, link, interface: 0, length, bytes }) {
            return None;
        }
        source.take(whole);
    }
    ended(source)
}

/// The fault of a file that has no whole record left.
fn ended(source: &Source) -> Option<Fault> {
    Some(Fault::Cut).filter(|_| !source.window().is_empty())
}

fn pcap<const BIG: bool>(
    source: &mut Source,
    layout: PcapLayout,
    sink: &mut impl Sink,
) -> Option<Fault> {
    let PcapLayout { header, order, tick, link, .. } = layout;
    while source.need(header) {
        // One check of the length for all that is read of it.
        let head = &source.window()[..HEADER];
        let (captured, length) = order.lengths(word(head, 8, BIG), word(head, 12, BIG));
        if captured > LARGEST {
            return Some(Fault::Length);
        }
        let time =
            i64::from(word(head, 0, BIG)) * 1_000_000_000 + i64::from(word(head, 4, BIG)) * tick;
        let length = length.max(captured);
        let whole = header + captured as usize;
        if !source.need(whole) {
            return Some(Fault::Cut);
        }
        let bytes = &source.window()[header..whole];
        if !sink.record(&Record { time, link, interface: 0, length, bytes }) {
            return None;
        }
        source.take(whole);
    }
    ended(source)
}
