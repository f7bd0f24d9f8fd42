//! Headers that few captures have between the link and IP: each function gives the place of the IP
//! header in `bytes`, or None. Link types: https://www.tcpdump.org/linktypes.html.

use crate::link_layer::{pair, typed, Vlans};

const LABELS: usize = 16;
/// Most attributes before the packet in a message of NFLOG.
const ATTRIBUTES: usize = 64;

/// IP by its version alone.
fn version(bytes: &[u8], at: usize) -> Option<usize> {
    matches!(bytes.get(at)? >> 4, 4 | 6).then_some(at)
}

/// A stack of MPLS labels (RFC 3032): what follows the last says its version.
pub fn labels(bytes: &[u8], at: usize) -> Option<usize> {
    for at in (at..).step_by(4).take(LABELS) {
        if bytes.get(at + 2)? & 1 == 1 {
            return version(bytes, at + 4);
        }
    }
    None
}

/// A network service header (RFC 8300) in front of IP, Ethernet or MPLS, with the VLANs in that.
pub fn service_header(bytes: &[u8], at: usize) -> Option<(usize, Vlans)> {
    let head = bytes.get(at..at + 4)?;
    let end = at + usize::from(head[1] & 0x3f) * 4;
    match head[3] {
        1 | 2 => version(bytes, end).map(|place| (place, 0)),
        3 => typed(bytes, end + 12).ok(),
        5 => labels(bytes, end).map(|place| (place, 0)),
        _ => None,
    }
}

/// IP over InfiniBand (RFC 4391): a global routing header, an EtherType and two reserved bytes.
pub fn over_infiniband(bytes: &[u8]) -> Option<usize> {
    matches!(pair(bytes.get(40..44)?, 0), 0x0800 | 0x86dd).then_some(44)
}

/// The header of macOS's pktap, which tells its length and the link type behind it.
pub fn packet_tap(bytes: &[u8]) -> Option<(u16, usize)> {
    let word = |at: usize| {
        bytes.get(at..at + 4).map(|four| u32::from_le_bytes([four[0], four[1], four[2], four[3]]))
    };
    let (length, link) = (word(0)? as usize, word(8)?);
    let is_whole = (12..=bytes.len()).contains(&length);
    is_whole.then_some((u16::try_from(link).ok()?, length))
}

/// LLC with SNAP (RFC 1042).
pub fn snap(bytes: &[u8], at: usize) -> Option<usize> {
    let head = bytes.get(at..at + 8)?;
    if head[..6] != [0xaa, 0xaa, 3, 0, 0, 0] {
        return None;
    }
    match pair(head, 6) {
        0x0800 | 0x86dd => Some(at + 8),
        0x8847 | 0x8848 => labels(bytes, at + 8),
        _ => None,
    }
}

/// Juniper's Ethernet: a magic number, flags and perhaps extensions, then a frame, or a packet if a
/// flag says so; the place, and whether it is a frame.
pub fn juniper(bytes: &[u8]) -> Option<(usize, bool)> {
    let head = bytes.get(..6)?;
    if head[..3] != *b"MGC" {
        return None;
    }
    let extensions = if head[3] & 0x80 != 0 { 2 + usize::from(pair(head, 4)) } else { 0 };
    let at = 4 + extensions;
    if head[3] & 2 != 0 {
        return [at, at + 4].iter().find_map(|at| version(bytes, *at)).map(|at| (at, false));
    }
    Some((at, true))
}

/// Endace's records (ERF) of Ethernet: 16 bytes, extension headers of 8, two of padding.
pub fn endace(bytes: &[u8]) -> Option<usize> {
    let kind = *bytes.get(8)?;
    let (mut at, mut more) = (16, kind);
    while more & 0x80 != 0 {
        more = *bytes.get(at)?;
        at += 8;
    }
    matches!(kind & 0x7f, 2 | 11 | 16).then_some(at + 2)
}

/// Cisco's HDLC: address, control, EtherType.
pub fn cisco_hdlc(bytes: &[u8]) -> Option<usize> {
    matches!(pair(bytes.get(..4)?, 2), 0x0800 | 0x86dd).then_some(4)
}

/// Frame Relay: an address of two to four bytes, of which the last is odd, then an identifier of
/// the protocol (RFC 2427), or Cisco's EtherType.
pub fn frame_relay(bytes: &[u8]) -> Option<usize> {
    let at = bytes.iter().take(4).position(|byte| byte & 1 == 1)? + 1;
    let padded = if bytes.get(at..at + 2)? == [3, 0] { at + 1 } else { at };
    match bytes.get(padded..padded + 2)? {
        [0x08, 0x00] | [0x86, 0xdd] => Some(at + 2),
        [0 | 3, 0xcc] | [0 | 3, 0x8e] => version(bytes, padded + 2),
        [0 | 3, 0x80] => {
            let head = bytes.get(padded + 2..padded + 7)?;
            matches!(head, [0, 0, 0, 0x08, 0x00] | [0, 0, 0, 0x86, 0xdd]).then_some(padded + 7)
        }
        _ => None,
    }
}

/// Netfilter's log: a header of four bytes, then attributes, of which number 9 is the packet.
pub fn netfilter_log(bytes: &[u8]) -> Option<usize> {
    let mut at = 4;
    for _ in 0..ATTRIBUTES {
        let head = bytes.get(at..at + 4)?;
        let length = usize::from(u16::from_le_bytes([head[0], head[1]]));
        if u16::from_le_bytes([head[2], head[3]]) & 0x7fff == 9 {
            return version(bytes, at + 4);
        }
        at += (length.max(4) + 3) / 4 * 4;
    }
    None
}

/// A header in front of 802.11 that begins with two bytes and its length: radiotap, and PPI, which
/// also names what follows.
pub fn before_wireless(bytes: &[u8], is_ppi: bool) -> Option<usize> {
    let head = bytes.get(..8)?;
    if is_ppi && head[4..8] != [105, 0, 0, 0] {
        return None;
    }
    wireless(bytes, usize::from(u16::from_le_bytes([head[2], head[3]])))
}

/// A frame of 802.11 with data that is neither encrypted nor several packets.
pub fn wireless(bytes: &[u8], at: usize) -> Option<usize> {
    let (kind, marks) = (*bytes.get(at)?, *bytes.get(at + 1)?);
    let has_data = kind & 0x0c == 0x08 && kind & 0x40 == 0;
    if !has_data || marks & 0x40 != 0 {
        return None;
    }
    let end = at + 24 + if marks & 3 == 3 { 6 } else { 0 };
    if kind & 0x80 == 0 {
        return snap(bytes, end);
    }
    // Quality of service; with the order bit HT control follows it.
    let is_aggregate = bytes.get(end)? & 0x80 != 0;
    if is_aggregate {
        return None;
    }
    snap(bytes, end + if marks & 0x80 != 0 { 6 } else { 2 })
}
