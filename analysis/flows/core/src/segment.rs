//! From a captured packet to a TCP segment: IPv4 (RFC 791), IPv6 (RFC 8200), TCP (RFC 9293).

use crate::link_layer::{ip_offset, pair, Ignored};
use crate::networks::Network;
use crate::packet_records::Record;
use crate::tcp_options::{
    leading_timestamps, number, RareFields, Timestamps, NO_RARE_FIELDS, PADDING,
};

pub const FIN: u16 = 1;
pub const SYN: u16 = 2;
pub const RST: u16 = 4;
pub const PSH: u16 = 8;
pub const ACK: u16 = 16;
pub const URG: u16 = 32;
pub const ECE: u16 = 64;
pub const CWR: u16 = 128;
pub const AE: u16 = 256;
/// No flag on the wire: the segment has a SYN and came before the period that is analysed. Only its
/// options count.
pub const EARLIER: u16 = 1 << 15;
/// No flags on the wire: a copy of a packet that was seen elsewhere too, or one that was not seen
/// where its connection is judged (see `sightings`).
pub const SEEN_TWICE: u16 = 1 << 14;
pub const ELSEWHERE: u16 = 1 << 13;

const TCP: u8 = 6;
const EXTENSIONS: usize = 16;
/// Of IPv4's fragments: the offset in eighths, and whether more follow.
const OFFSET: u16 = 0x1fff;
const MORE: u16 = 0x2000;

/// An address, high half first. IPv4 stands in the low half, with a high half that no IPv6 packet
/// of ours has.
pub type Address = [u64; 2];

/// The high half of an IPv4 address: of the discard-only prefix (RFC 6666).
pub const FOUR: u64 = 0x0100_0000_0000_0000;

/// The two ends as in the packet. Whole words, compared one by one: what was just written word by
/// word stalls the processor when it is read in larger pieces.
#[derive(Clone, Copy, Debug, Default)]
pub struct Ends {
    pub source: Address,
    pub destination: Address,
    /// The source's in the upper half.
    pub ports: u32,
    /// The VLANs and tunnels around the packet.
    pub network: Network,
}

impl Ends {
    #[inline(always)]
    pub fn same(&self, other: &Ends) -> bool {
        self.ports == other.ports
            && same(&self.source, &other.source)
            && same(&self.destination, &other.destination)
    }

    #[inline(always)]
    pub fn opposite(&self, other: &Ends) -> bool {
        self.ports.rotate_left(16) == other.ports
            && same(&self.source, &other.destination)
            && same(&self.destination, &other.source)
    }
}

#[inline(always)]
fn same(left: &Address, right: &Address) -> bool {
    left[1] == right[1] && left[0] == right[0]
}

/// What an analysis needs of a segment; numbers as on the wire, and the ends by their number in
/// `pairs`. With the number of its record it is as long as one line of the processor's cache, for
/// it goes from one processor to another.
#[derive(Clone, Copy, Default)]
pub struct Segment {
    pub time: i64,
    pub pair: u32,
    pub turned: bool,
    pub sequence: u32,
    pub acknowledgement: u32,
    pub flags: u16,
    pub window: u16,
    /// Bytes of payload on the wire, and how many of them the capture lacks.
    pub payload: u32,
    pub missing: u32,
    pub ip_id: Option<u16>,
    pub ecn: u8,
    pub ttl: u8,
    /// The interface that saw it.
    pub place: u16,
    /// Whether `stamps` are of the segment.
    pub is_stamped: bool,
    pub stamps: Timestamps,
    /// Whether there are rare fields; they are handed on beside the segment.
    pub is_rare: bool,
}

impl Segment {
    #[inline(always)]
    pub fn timestamps(&self) -> Option<Timestamps> {
        self.is_stamped.then_some(self.stamps)
    }

    #[inline(always)]
    fn options(
        &mut self,
        options: &[u8],
        urgent: Option<u16>,
        is_cut: bool,
        rare: &mut RareFields,
    ) {
        let (timestamps, rest) = leading_timestamps(options);
        if let Some(stamps) = timestamps {
            self.stamps = stamps;
        }
        let has_more = urgent.is_some() || is_cut || rest.iter().any(|byte| *byte > PADDING);
        (self.is_stamped, self.is_rare) = (timestamps.is_some(), has_more);
        if has_more {
            self.rest(rest, urgent, rare);
            rare.is_cut = is_cut;
        }
    }

    #[inline(never)]
    fn rest(&mut self, options: &[u8], urgent: Option<u16>, rare: &mut RareFields) {
        *rare = RareFields { urgent: urgent.unwrap_or(0), ..NO_RARE_FIELDS };
        if let Some(stamps) = rare.parse(options) {
            (self.is_stamped, self.stamps) = (true, stamps);
        }
    }
}

/// Where TCP begins, and its bytes on the wire.
type Found = Result<(usize, u32), Ignored>;

/// Fills `segment` in place, for moving it about costs more than parsing it; all but its pair,
/// which `ends` tell. `rare` is filled if the segment has such fields. With `FIRST` a first
/// fragment is read as if it were the whole packet.
#[inline(always)]
pub fn parse<const FIRST: bool>(
    record: &Record,
    segment: &mut Segment,
    rare: &mut RareFields,
    ends: &mut Ends,
) -> Result<(), Ignored> {
    let (at, vlans) = ip_offset(record.link, record.bytes)?;
    ends.network = vlans;
    segment.time = record.time;
    parse_ip::<FIRST>(&record.bytes[at..], record.length - at as u32, segment, rare, ends)
}

/// The same of an IP packet of `length` bytes.
#[inline(always)]
pub fn parse_ip<const FIRST: bool>(
    bytes: &[u8],
    length: u32,
    segment: &mut Segment,
    rare: &mut RareFields,
    ends: &mut Ends,
) -> Result<(), Ignored> {
    let (start, length) = match bytes.first().map(|byte| byte >> 4) {
        Some(4) => version_four::<FIRST>(bytes, length, segment, ends)?,
        Some(6) => version_six::<FIRST>(bytes, length, segment, ends)?,
        _ => return Err(Ignored::NotIp),
    };
    tcp(bytes, start, length, segment, rare, ends)
}

#[inline(always)]
fn version_four<const FIRST: bool>(
    bytes: &[u8],
    wire: u32,
    segment: &mut Segment,
    ends: &mut Ends,
) -> Found {
    if bytes.len() < 20 {
        return Err(Ignored::CutOff);
    }
    let bytes = &bytes[..20];
    let header = u32::from(bytes[0] & 15) * 4;
    // A total length of 0 stands in captures of offloaded and of jumbo packets (BIG TCP): the
    // wire's counts.
    let total = match pair(bytes, 2) {
        0 => wire,
        length => u32::from(length),
    };
    if header < 20 || total < header {
        return Err(Ignored::DamagedIp);
    }
    if bytes[9] != TCP {
        return Err(Ignored::NotTcp);
    }
    if pair(bytes, 6) & if FIRST { OFFSET } else { OFFSET | MORE } != 0 {
        return Err(Ignored::Fragment);
    }
    ends.source = [FOUR, u64::from(number(bytes, 12))];
    ends.destination = [FOUR, u64::from(number(bytes, 16))];
    segment.ip_id = Some(pair(bytes, 4));
    segment.ecn = bytes[1] & 3;
    segment.ttl = bytes[8];
    Ok((header as usize, total - header))
}

fn version_six<const FIRST: bool>(
    bytes: &[u8],
    wire: u32,
    segment: &mut Segment,
    ends: &mut Ends,
) -> Found {
    if bytes.len() < 40 {
        return Err(Ignored::CutOff);
    }
    let (start, jumbo) = extensions::<FIRST>(bytes)?;
    let after = match (u32::from(pair(bytes, 4)), jumbo) {
        (0, Some(length)) => length,
        (0, None) => wire.saturating_sub(40),
        (length, _) => length,
    };
    let skipped = (start - 40) as u32;
    if after < skipped {
        return Err(Ignored::DamagedIp);
    }
    let half = |at: usize| u64::from(number(bytes, at)) << 32 | u64::from(number(bytes, at + 4));
    ends.source = [half(8), half(16)];
    ends.destination = [half(24), half(32)];
    segment.ip_id = None;
    segment.ecn = bytes[1] >> 4 & 3;
    segment.ttl = bytes[7];
    Ok((start, after - skipped))
}

/// Where TCP begins behind IPv6's extension headers, and the length of a jumbo payload (RFC 2675).
fn extensions<const FIRST: bool>(bytes: &[u8]) -> Result<(usize, Option<u32>), Ignored> {
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
        if next == 44 && pair(bytes, at + 2) & if FIRST { 0xfff8 } else { 0xfff9 } != 0 {
            return Err(Ignored::Fragment);
        }
        if next == 0 && bytes[at + 2] == 0xc2 && bytes[at + 3] == 4 {
            jumbo = Some(number(bytes, at + 4));
        }
        next = bytes[at];
        at += size;
    }
    Err(Ignored::NotTcp)
}

#[inline(always)]
fn tcp(
    bytes: &[u8],
    start: usize,
    length: u32,
    segment: &mut Segment,
    rare: &mut RareFields,
    ends: &mut Ends,
) -> Result<(), Ignored> {
    let header = match bytes.get(start..) {
        Some(header) if header.len() >= 20 => header,
        _ => return Err(Ignored::CutOff),
    };
    let size = u32::from(header[12] >> 4) * 4;
    if size < 20 || length < size {
        return Err(Ignored::DamagedTcp);
    }
    let payload = length - size;
    // Ethernet's padding behind a short packet is none of its payload.
    let there = (header.len() as u32).saturating_sub(size).min(payload);
    ends.ports = number(header, 0);
    segment.sequence = number(header, 4);
    segment.acknowledgement = number(header, 8);
    let flags = pair(header, 12) & 0x1ff;
    segment.flags = flags;
    segment.window = pair(header, 14);
    segment.payload = payload;
    segment.missing = payload - there;
    let urgent = (flags & URG != 0).then(|| pair(header, 18));
    let end = (size as usize).min(header.len());
    segment.options(&header[20..end], urgent, end < size as usize, rare);
    Ok(())
}
