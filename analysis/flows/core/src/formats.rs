//! The formats of capture files: recognises them, and reads pcap here, pcapng in `pcapng_blocks`.
//! Formats: draft-ietf-opsawg-pcap, draft-ietf-opsawg-pcapng.

use crate::packet_records::{word, Fault, Format, Record, Sink, LARGEST};
use crate::pcapng_blocks;
use crate::stream::Source;

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
        [0x0a, 0x0d, 0x0d, 0x0a] => Some((Format::Pcapng, false)),
        _ => None,
    }
}

/// Reads all records into `sink`; the fault and its place if there is one.
pub fn read(
    source: &mut Source,
    format: Format,
    big: bool,
    sink: &mut impl Sink,
) -> Option<(Fault, u64)> {
    let fault = match (format, big) {
        (Format::Pcapng, _) => pcapng_blocks::read(source, sink),
        (_, true) => pcap::<true>(source, if format == Format::Pcap { 1000 } else { 1 }, sink),
        (_, false) => pcap::<false>(source, if format == Format::Pcap { 1000 } else { 1 }, sink),
    };
    let named = if source.broken { fault.map(|_| Fault::Unpacking) } else { fault };
    named
        .or(if source.broken { Some(Fault::Unpacking) } else { None })
        .map(|fault| (fault, source.offset))
}

fn pcap<const BIG: bool>(source: &mut Source, tick: i64, sink: &mut impl Sink) -> Option<Fault> {
    if !source.need(24) {
        return Some(Fault::Cut);
    }
    let link = (word(source.window(), 20, BIG) & 0xffff) as u16;
    sink.interface(link, word(source.window(), 16, BIG));
    source.take(24);
    while source.need(16) {
        // One check of the length for all that is read of it.
        let head = &source.window()[..16];
        let captured = word(head, 8, BIG);
        if captured > LARGEST {
            return Some(Fault::Length);
        }
        let time =
            i64::from(word(head, 0, BIG)) * 1_000_000_000 + i64::from(word(head, 4, BIG)) * tick;
        let length = word(head, 12, BIG).max(captured);
        let whole = 16 + captured as usize;
        if !source.need(whole) {
            return Some(Fault::Cut);
        }
        if !sink.record(&Record { time, link, length, bytes: &source.window()[16..whole] }) {
            return None;
        }
        source.take(whole);
    }
    if source.window().is_empty() {
        None
    } else {
        Some(Fault::Cut)
    }
}
