//! From a captured packet to its IP header. Link types: https://www.tcpdump.org/linktypes.html (the
//! numbers only).

use crate::rare_links::{
    before_wireless, cisco_hdlc, endace, frame_relay, juniper, labels, netfilter_log,
    over_infiniband, packet_tap, service_header, snap, wireless,
};

/// Why a packet is no TCP segment for us. The position is its place in the counts; `NAMES` are
/// their names.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Ignored {
    LinkType,
    NotIp,
    NotTcp,
    Fragment,
    CutOff,
    DamagedIp,
    DamagedTcp,
    Joined,
    Outside,
}

pub const NAMES: [&str; 9] = [
    "link type not known",
    "not IP",
    "not TCP",
    "fragment",
    "TCP header cut off",
    "damaged IP header",
    "damaged TCP header",
    "joined fragment",
    "outside the period",
];

const TAGS: usize = 8;
/// EtherType, reserved bytes and the tag of DSA.
const EXTENDED_DSA: usize = 8;
/// The VLANs of a frame: twelve bits for each number, the innermost lowest. Of more than two the
/// innermost two count; 0 is a tag that only has a priority.
pub type Vlans = u32;
/// Where the IP header begins, and the VLANs before it.
pub type IpPlace = Result<(usize, Vlans), Ignored>;

#[inline(always)]
pub fn pair(bytes: &[u8], at: usize) -> u16 {
    u16::from_be_bytes([bytes[at], bytes[at + 1]])
}

/// Where the IP header begins; whether its version is right is for `ip`.
#[inline(always)]
pub fn ip_offset(link: u16, bytes: &[u8]) -> IpPlace {
    if link == 1 && bytes.len() > 14 {
        let kind = pair(bytes, 12);
        if kind == 0x0800 || kind == 0x86dd {
            return Ok((14, 0));
        }
    }
    other_offset(link, bytes)
}

fn other_offset(link: u16, bytes: &[u8]) -> IpPlace {
    match link {
        1 => typed(bytes, 12),
        113 => typed(bytes, 14),
        // Marvell's and Broadcom's tags of a switch's ports.
        281 | 284 => typed(bytes, 16),
        282 => typed(bytes, 4 + 12),
        285 => typed(bytes, 12 + EXTENDED_DSA),
        178 => {
            let (at, is_frame) = juniper(bytes).ok_or(Ignored::NotIp)?;
            if is_frame {
                typed(bytes, at + 12)
            } else {
                Ok((at, 0))
            }
        }
        197 => typed(bytes, endace(bytes).ok_or(Ignored::NotIp)? + 12),
        258 => {
            let (link, at) = packet_tap(bytes).ok_or(Ignored::NotIp)?;
            // A header within a header would be no capture of macOS.
            let inner =
                if link == 258 { Err(Ignored::LinkType) } else { ip_offset(link, &bytes[at..]) };
            inner.map(|(place, vlans)| (place + at, vlans))
        }
        276 => {
            if bytes.len() < 20 {
                return Err(Ignored::NotIp);
            }
            // The type stands first here; a VLAN's tag follows the header as elsewhere.
            match pair(bytes, 0) {
                0x0800 | 0x86dd => Ok((20, 0)),
                0x8100 | 0x88a8 => behind_tags(bytes, 22, with_vlan(0, bytes, 20)?),
                _ => Err(Ignored::NotIp),
            }
        }
        _ => Ok((untagged(link, bytes)?, 0)),
    }
}

fn untagged(link: u16, bytes: &[u8]) -> Result<usize, Ignored> {
    match link {
        12 | 14 | 101 | 228 | 229 => Ok(0),
        0 | 108 => loopback(bytes),
        // FDDI: a control byte and two addresses.
        10 => snap(bytes, 13).ok_or(Ignored::NotIp),
        9 | 50 => point_to_point(bytes, 0),
        104 => cisco_hdlc(bytes).ok_or(Ignored::NotIp),
        242 => over_infiniband(bytes).ok_or(Ignored::NotIp),
        105 => wireless(bytes, 0).ok_or(Ignored::NotIp),
        107 => frame_relay(bytes).ok_or(Ignored::NotIp),
        127 => before_wireless(bytes, false).ok_or(Ignored::NotIp),
        192 => before_wireless(bytes, true).ok_or(Ignored::NotIp),
        239 => netfilter_log(bytes).ok_or(Ignored::NotIp),
        _ => Err(Ignored::LinkType),
    }
}

/// An EtherType at `at`, behind any number of VLAN tags (802.1Q, 802.1ad and their forerunners),
/// PPPoE, MPLS or LLC with SNAP.
pub fn typed(bytes: &[u8], at: usize) -> IpPlace {
    behind_tags(bytes, at, 0)
}

fn behind_tags(bytes: &[u8], mut at: usize, mut vlans: Vlans) -> IpPlace {
    for _ in 0..TAGS {
        if bytes.len() < at + 2 {
            return Err(Ignored::NotIp);
        }
        let place = match pair(bytes, at) {
            0x0800 | 0x86dd => Ok(at + 2),
            0x8100 | 0x88a8 | 0x9100 | 0x9200 | 0x9300 => {
                at += 4;
                vlans = with_vlan(vlans, bytes, at - 2)?;
                continue;
            }
            // Provider backbone bridges (802.1ah), and Cisco's FabricPath: a frame within a frame.
            0x88e7 => {
                at += 2 + 4 + 12;
                continue;
            }
            0x8903 => {
                at += 2 + 2 + 12;
                continue;
            }
            0xdada => {
                at += EXTENDED_DSA;
                continue;
            }
            // Cisco's metadata, VN-Tag, and E-Tag (802.1BR): what follows them has a type again.
            0x8909 | 0x893f => {
                at += 2 + 6;
                continue;
            }
            0x8926 => {
                at += 2 + 4;
                continue;
            }
            0x894f => {
                let (place, inner) = service_header(bytes, at + 2).ok_or(Ignored::NotIp)?;
                return Ok((place, with_inner(vlans, inner)));
            }
            0x8864 => point_to_point(bytes, at + 8),
            0x8847 | 0x8848 => labels(bytes, at + 2).ok_or(Ignored::NotIp),
            // A length: IEEE 802.3.
            0..=1500 => snap(bytes, at + 2).ok_or(Ignored::NotIp),
            _ => Err(Ignored::NotIp),
        };
        return Ok((place?, vlans));
    }
    Err(Ignored::NotIp)
}

/// The innermost two VLANs of a frame within a frame.
fn with_inner(vlans: Vlans, inner: Vlans) -> Vlans {
    match inner {
        0 => vlans,
        1..=0xfff => (vlans << 12 | inner) & 0xff_ffff,
        _ => inner,
    }
}

fn with_vlan(vlans: Vlans, bytes: &[u8], at: usize) -> Result<Vlans, Ignored> {
    if bytes.len() < at + 2 {
        return Err(Ignored::NotIp);
    }
    Ok(match u32::from(pair(bytes, at) & 0xfff) {
        0 => vlans,
        number => (vlans << 12 | number) & 0xff_ffff,
    })
}

/// Four bytes of an address family, which differs between systems: the version of what follows
/// decides.
fn loopback(bytes: &[u8]) -> Result<usize, Ignored> {
    match bytes.get(4).map(|byte| byte >> 4) {
        Some(4) | Some(6) => Ok(4),
        _ => Err(Ignored::NotIp),
    }
}

/// PPP (RFC 1661), with or without the two bytes of HDLC framing (RFC 1662).
pub fn point_to_point(bytes: &[u8], at: usize) -> Result<usize, Ignored> {
    let at = if bytes.len() >= at + 2 && pair(bytes, at) == 0xff03 { at + 2 } else { at };
    match bytes.get(at..at + 2) {
        Some([0x00, 0x21]) | Some([0x00, 0x57]) => Ok(at + 2),
        // Cisco's HDLC in place of PPP: unicast or broadcast.
        Some([0x0f, _]) | Some([0x8f, _]) => {
            cisco_hdlc(&bytes[at..]).map(|place| place + at).ok_or(Ignored::NotIp)
        }
        _ => Err(Ignored::NotIp),
    }
}
