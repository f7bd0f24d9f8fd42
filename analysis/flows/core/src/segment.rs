//! From a captured packet to a TCP segment: IPv4 (RFC 791), IPv6 (RFC 8200), TCP (RFC 9293).

use crate::link::{ip_offset, pair, Ignored};
use crate::options::Options;
use crate::records::Record;

pub const FIN: u16 = 1;
pub const SYN: u16 = 2;
pub const RST: u16 = 4;
pub const PSH: u16 = 8;
pub const ACK: u16 = 16;
pub const URG: u16 = 32;
pub const ECE: u16 = 64;
pub const CWR: u16 = 128;

const TCP: u8 = 6;
const EXTENSIONS: usize = 16;

/// The two ends as in the packet. IPv4 stands in the low 32 bits; `six` keeps the families apart.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Ends {
    pub source: u128,
    pub destination: u128,
    pub source_port: u16,
    pub destination_port: u16,
    pub six: bool,
}

/// What an analysis needs of a segment; numbers as on the wire.
pub struct Segment {
    pub time: i64,
    pub ends: Ends,
    pub sequence: u32,
    pub acknowledgement: u32,
    pub flags: u16,
    pub window: u16,
    pub urgent: u16,
    /// Bytes of payload on the wire, and how many of them the capture lacks.
    pub payload: u32,
    pub missing: u32,
    pub ip_id: Option<u16>,
    pub ecn: u8,
    pub ttl: u8,
    pub options: Options,
}

/// The IP header's answer: where TCP begins, its bytes on the wire, and the fields that we keep.
struct Packet {
    start: usize,
    length: u32,
    source: u128,
    destination: u128,
    six: bool,
    ip_id: Option<u16>,
    traffic_class: u8,
    ttl: u8,
}

#[inline(always)]
pub fn parse(record: &Record) -> Result<Segment, Ignored> {
    let at = ip_offset(record.link, record.bytes)?;
    let bytes = &record.bytes[at..];
    let length = record.length - at as u32;
    let packet = match bytes.first().map(|byte| byte >> 4) {
        Some(4) => version_four(bytes, length)?,
        Some(6) => version_six(bytes, length)?,
        _ => return Err(Ignored::NotIp),
    };
    tcp(record.time, bytes, &packet)
}

#[inline(always)]
fn version_four(bytes: &[u8], wire: u32) -> Result<Packet, Ignored> {
    if bytes.len() < 20 {
        return Err(Ignored::CutOff);
    }
    let header = usize::from(bytes[0] & 15) * 4;
    // A total length of 0 stands in captures of offloaded and of jumbo packets (BIG TCP): the wire's counts.
    let total = match pair(bytes, 2) {
        0 => wire,
        length => u32::from(length),
    };
    if header < 20 || (total as usize) < header {
        return Err(Ignored::DamagedIp);
    }
    if bytes[9] != TCP {
        return Err(Ignored::NotTcp);
    }
    if pair(bytes, 6) & 0x1fff != 0 {
        return Err(Ignored::Fragment);
    }
    Ok(Packet {
        start: header,
        length: total - header as u32,
        source: u128::from(u32::from_be_bytes([bytes[12], bytes[13], bytes[14], bytes[15]])),
        destination: u128::from(u32::from_be_bytes([bytes[16], bytes[17], bytes[18], bytes[19]])),
        six: false,
        ip_id: Some(pair(bytes, 4)),
        traffic_class: bytes[1],
        ttl: bytes[8],
    })
}

fn version_six(bytes: &[u8], wire: u32) -> Result<Packet, Ignored> {
    if bytes.len() < 40 {
        return Err(Ignored::CutOff);
    }
    let address = |at: usize| bytes[at..at + 16].iter().fold(0u128, |sum, byte| sum << 8 | u128::from(*byte));
    let payload = u32::from(pair(bytes, 4));
    let (start, jumbo) = extensions(bytes)?;
    let after = match (payload, jumbo) {
        (0, Some(length)) => length,
        (0, None) => wire.saturating_sub(40),
        (length, _) => length,
    };
    let skipped = (start - 40) as u32;
    if after < skipped {
        return Err(Ignored::DamagedIp);
    }
    Ok(Packet {
        start,
        length: after - skipped,
        source: address(8),
        destination: address(24),
        six: true,
        ip_id: None,
        traffic_class: bytes[0] << 4 | bytes[1] >> 4,
        ttl: bytes[7],
    })
}

/// Where TCP begins behind IPv6's extension headers, and the length of a jumbo payload (RFC 2675).
fn extensions(bytes: &[u8]) -> Result<(usize, Option<u32>), Ignored> {
    let (mut next, mut at, mut jumbo) = (bytes[6], 40, None);
    for _ in 0..EXTENSIONS {
        if next == TCP {
            return Ok((at, jumbo));
        }
        if !matches!(next, 0 | 43 | 44 | 51 | 60 | 135 | 139 | 140) {
            return Err(Ignored::NotTcp);
        }
        if bytes.len() < at + 8 {
            return Err(Ignored::CutOff);
        }
        let size = match next {
            44 => 8,
            51 => (usize::from(bytes[at + 1]) + 2) * 4,
            _ => (usize::from(bytes[at + 1]) + 1) * 8,
        };
        if next == 44 && pair(bytes, at + 2) & 0xfff8 != 0 {
            return Err(Ignored::Fragment);
        }
        if next == 0 && bytes[at + 2] == 0xc2 && bytes[at + 3] == 4 {
            jumbo = Some(u32::from_be_bytes([bytes[at + 4], bytes[at + 5], bytes[at + 6], bytes[at + 7]]));
        }
        next = bytes[at];
        at += size;
    }
    Err(Ignored::NotTcp)
}

#[inline(always)]
fn tcp(time: i64, bytes: &[u8], packet: &Packet) -> Result<Segment, Ignored> {
    let header = match bytes.get(packet.start..) {
        Some(header) if header.len() >= 20 => header,
        _ => return Err(Ignored::CutOff),
    };
    let size = u32::from(header[12] >> 4) * 4;
    if size < 20 || packet.length < size {
        return Err(Ignored::DamagedTcp);
    }
    let payload = packet.length - size;
    // Ethernet's padding behind a short packet is none of its payload.
    let there = (header.len() as u32).saturating_sub(size).min(payload);
    let number = |at: usize| u32::from_be_bytes([header[at], header[at + 1], header[at + 2], header[at + 3]]);
    let options = &header[20..(size as usize).min(header.len())];
    Ok(Segment {
        time,
        ends: Ends {
            source: packet.source,
            destination: packet.destination,
            source_port: pair(header, 0),
            destination_port: pair(header, 2),
            six: packet.six,
        },
        sequence: number(4),
        acknowledgement: number(8),
        flags: pair(header, 12) & 0x1ff,
        window: pair(header, 14),
        urgent: pair(header, 18),
        payload,
        missing: payload - there,
        ip_id: packet.ip_id,
        ecn: packet.traffic_class & 3,
        ttl: packet.ttl,
        options: Options::parse(options),
    })
}
