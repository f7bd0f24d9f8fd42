//! One IP header, for packets that are not simply TCP: what it carries, and which part of it.

use crate::link_layer::{pair, Ignored};
use crate::segment::{Address, FOUR};
use crate::tcp_options::number;

const EXTENSIONS: usize = 16;
const FRAGMENT: u8 = 44;

/// A header of IPv4, or one of IPv6 with its extension headers.
pub struct IpLayer {
    pub protocol: u8,
    /// Where the payload begins, and where it ends on the wire.
    pub start: usize,
    pub end: u32,
    pub source: Address,
    pub destination: Address,
    pub part: Option<FragmentPart>,
}

/// Which part of a packet a fragment is.
pub struct FragmentPart {
    pub identification: u32,
    /// In bytes.
    pub offset: u32,
    pub has_more: bool,
    /// The length of the header that the whole packet has, and the place in it that names what
    /// follows it.
    pub header: usize,
    pub names_next: usize,
}

impl IpLayer {
    /// Of an IP packet of `wire` bytes.
    pub fn read(bytes: &[u8], wire: u32) -> Result<IpLayer, Ignored> {
        match bytes.first().map(|byte| byte >> 4) {
            Some(4) => version_four(bytes, wire),
            Some(6) => version_six(bytes, wire),
            _ => Err(Ignored::NotIp),
        }
    }
}

fn version_four(bytes: &[u8], wire: u32) -> Result<IpLayer, Ignored> {
    if bytes.len() < 20 {
        return Err(Ignored::CutOff);
    }
    let start = usize::from(bytes[0] & 15) * 4;
    let end = match pair(bytes, 2) {
        0 => wire,
        length => u32::from(length),
    };
    if start < 20 || end < start as u32 {
        return Err(Ignored::DamagedIp);
    }
    let is_part = pair(bytes, 6) & 0x3fff != 0;
    if is_part && bytes.len() < start {
        return Err(Ignored::CutOff);
    }
    let part = is_part.then(|| FragmentPart {
        identification: u32::from(pair(bytes, 4)),
        offset: u32::from(pair(bytes, 6) & 0x1fff) * 8,
        has_more: bytes[6] & 0x20 != 0,
        header: start,
        names_next: 9,
    });
    let (source, destination) =
        ([FOUR, u64::from(number(bytes, 12))], [FOUR, u64::from(number(bytes, 16))]);
    Ok(IpLayer { protocol: bytes[9], start, end, source, destination, part })
}

fn version_six(bytes: &[u8], wire: u32) -> Result<IpLayer, Ignored> {
    if bytes.len() < 40 {
        return Err(Ignored::CutOff);
    }
    let end = match u32::from(pair(bytes, 4)) {
        0 => wire,
        length => 40 + length,
    };
    let half = |at: usize| u64::from(number(bytes, at)) << 32 | u64::from(number(bytes, at + 4));
    let (protocol, start, part) = extensions(bytes)?;
    if end < start as u32 {
        return Err(Ignored::DamagedIp);
    }
    let (source, destination) = ([half(8), half(16)], [half(24), half(32)]);
    Ok(IpLayer { protocol, start, end, source, destination, part })
}

/// Steps over extension headers, to what is none or to a fragment's.
fn extensions(bytes: &[u8]) -> Result<(u8, usize, Option<FragmentPart>), Ignored> {
    let (mut names_next, mut at) = (6, 40);
    for _ in 0..EXTENSIONS {
        let next = bytes[names_next];
        if !matches!(next, 0 | 43 | FRAGMENT | 51 | 60 | 135 | 139 | 140) {
            return Ok((next, at, None));
        }
        if bytes.len() < at + 8 {
            return Err(Ignored::CutOff);
        }
        if next == FRAGMENT && pair(bytes, at + 2) & 0xfff9 != 0 {
            let part = FragmentPart {
                identification: number(bytes, at + 4),
                offset: u32::from(pair(bytes, at + 2) & 0xfff8),
                has_more: bytes[at + 3] & 1 != 0,
                header: at,
                names_next,
            };
            return Ok((bytes[at], at + 8, Some(part)));
        }
        names_next = at;
        at += match next {
            FRAGMENT => 8,
            51 => (usize::from(bytes[at + 1]) + 2) * 4,
            _ => (usize::from(bytes[at + 1]) + 1) * 8,
        };
    }
    Err(Ignored::NotTcp)
}
