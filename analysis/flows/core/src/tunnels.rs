//! Takes the wrapping off packets that hold TCP within: fragments, the authentication header, and
//! tunnels. Every layer is a packet of its own, which is looked at in turn.

use crate::datagrams::{content, Datagram, Datagrams};
use crate::fragments::Fragments;
use crate::icmp_errors::{IcmpErrors, ICMP, ICMP_SIX};
use crate::ip_layer::IpLayer;
use crate::link_layer::{ip_offset, pair, point_to_point, typed, Ignored, IpPlace};
use crate::networks::{Networks, Path, Tunnel};
use crate::packet_records::Record;
use crate::rare_links::{labels, service_header};
use crate::segment::{parse_ip, Ends, Segment};
use crate::tcp_options::{number, RareFields};
use std::borrow::Cow;

const LAYERS: usize = 8;
pub const TCP: u8 = 6;
pub const UDP: u8 = 17;
const GRE: u8 = 47;
const AUTHENTICATION: u8 = 51;
const ETHER_IP: u8 = 97;
const MPLS: u8 = 137;

/// The layer below a tunnel: where its IP header begins, its VLANs, and the tunnel's kind and
/// number.
struct Inner {
    place: IpPlace,
    kind: &'static str,
    number: Option<u32>,
}

#[derive(Default)]
pub struct Wrappings {
    pub fragments: Fragments,
    pub networks: Networks,
    pub datagrams: Datagrams,
    pub errors: IcmpErrors,
    /// Ports of tunnels beside the usual ones, which they may replace.
    pub ports: TunnelPorts,
}

/// What a port of UDP carries, by the user's word.
pub type TunnelPorts = Vec<(u16, UdpTunnel)>;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum UdpTunnel {
    Vxlan,
    VxlanGpe,
    Geneve,
    GtpU,
    L2tp,
    Gre,
    Mpls,
}

impl UdpTunnel {
    pub fn named(name: &str) -> Option<UdpTunnel> {
        match name {
            "vxlan" => Some(UdpTunnel::Vxlan),
            "vxlan-gpe" => Some(UdpTunnel::VxlanGpe),
            "geneve" => Some(UdpTunnel::Geneve),
            "gtp-u" => Some(UdpTunnel::GtpU),
            "l2tp" => Some(UdpTunnel::L2tp),
            "gre" => Some(UdpTunnel::Gre),
            "mpls" => Some(UdpTunnel::Mpls),
            _ => None,
        }
    }

    fn usual(port: u16) -> Option<UdpTunnel> {
        match port {
            4789 | 8472 => Some(UdpTunnel::Vxlan),
            4790 => Some(UdpTunnel::VxlanGpe),
            6081 => Some(UdpTunnel::Geneve),
            2152 => Some(UdpTunnel::GtpU),
            1701 => Some(UdpTunnel::L2tp),
            4754 => Some(UdpTunnel::Gre),
            6635 => Some(UdpTunnel::Mpls),
            _ => None,
        }
    }

    /// Of a datagram from one port to another. A port of the user's counts at either end.
    fn between(source: u16, destination: u16, asked: &TunnelPorts) -> Option<UdpTunnel> {
        let of = |port: u16| asked.iter().find(|(each, _)| *each == port).map(|(_, kind)| *kind);
        of(destination).or_else(|| of(source)).or_else(|| UdpTunnel::usual(destination))
    }

    /// The layer below a tunnel whose header is at this place.
    fn inner(self, bytes: &[u8], at: usize) -> Result<Inner, Ignored> {
        match self {
            UdpTunnel::Vxlan => vxlan(bytes, at),
            UdpTunnel::VxlanGpe => generic_vxlan(bytes, at),
            UdpTunnel::Geneve => geneve(bytes, at),
            UdpTunnel::GtpU => user_plane(bytes, at),
            UdpTunnel::L2tp => layer_two(bytes, at),
            UdpTunnel::Gre => routing_encapsulation(bytes, at),
            UdpTunnel::Mpls => Ok(labelled(bytes, at)),
        }
    }
}

impl Wrappings {
    /// What `parse` does, of a packet that it refused for `why`.
    #[cold]
    pub fn parse(
        &mut self,
        (record, number): (&Record, u64),
        why: Ignored,
        segment: &mut Segment,
        rare: &mut RareFields,
        ends: &mut Ends,
    ) -> Result<(), Ignored> {
        if !matches!(why, Ignored::NotTcp | Ignored::Fragment) {
            return Err(why);
        }
        let found = self.unwrap(record)?;
        if found.layer.protocol != TCP {
            self.other(number, record.time, found);
            return Err(Ignored::NotTcp);
        }
        parse_ip::<false>(&found.packet, found.wire, segment, rare, ends)?;
        ends.network = self.networks.number(found.path);
        Ok(())
    }

    /// Counts a packet of another protocol, if it is of UDP or an error of ICMP.
    fn other(&mut self, number: u64, time: i64, found: Unwrapped) {
        let Unwrapped { packet, layer, path, .. } = found;
        if !matches!(layer.protocol, UDP | ICMP | ICMP_SIX) {
            return;
        }
        let network = self.networks.number(path);
        if layer.protocol != UDP {
            self.errors.take((number, time), &packet, &layer, network);
        } else if let Some((ports, bytes)) = content(&packet, layer.start) {
            let length = u64::from(layer.end).saturating_sub(layer.start as u64 + 8);
            let IpLayer { source, destination, .. } = layer;
            let datagram = Datagram { time, source, destination, ports, network, length, bytes };
            self.datagrams.take(&datagram);
        }
    }

    /// The innermost packet, without fragments, authentication and tunnels.
    pub fn unwrap<'a>(&mut self, record: &Record<'a>) -> Result<Unwrapped<'a>, Ignored> {
        let (at, vlans) = ip_offset(record.link, record.bytes)?;
        let mut path = (Vec::new(), vlans);
        let mut packet = Cow::Borrowed(&record.bytes[at..]);
        let mut wire = record.length - at as u32;
        for _ in 0..LAYERS {
            let layer = IpLayer::read(&packet, wire)?;
            if let Some(part) = &layer.part {
                let whole = self.fragments.join(record.time, &packet, &layer, part, &path);
                packet = Cow::Owned(whole.ok_or(Ignored::Fragment)?);
                wire = packet.len() as u32;
            } else if layer.protocol == AUTHENTICATION {
                packet = Cow::Owned(without_authentication(&packet, &layer)?);
            } else if layer.protocol == TCP {
                return Ok(Unwrapped { packet, wire, layer, path });
            } else {
                let at = match enter(&packet, &layer, &mut path, &self.ports)? {
                    Some(at) => at,
                    None => return Ok(Unwrapped { packet, wire, layer, path }),
                };
                packet = behind(packet, at);
                wire = layer.end.saturating_sub(at as u32);
            }
        }
        Err(Ignored::NotTcp)
    }
}

/// A packet of IP of `wire` bytes that carries no other one, and the way to it.
pub struct Unwrapped<'a> {
    pub packet: Cow<'a, [u8]>,
    pub wire: u32,
    pub layer: IpLayer,
    pub path: Path,
}

fn behind(packet: Cow<[u8]>, at: usize) -> Cow<[u8]> {
    match packet {
        Cow::Borrowed(bytes) => Cow::Borrowed(&bytes[at..]),
        Cow::Owned(bytes) => Cow::Owned(bytes[at..].to_vec()),
    }
}

/// IPv4's authentication header (RFC 4302) taken out; in IPv6 it is an extension header.
fn without_authentication(bytes: &[u8], layer: &IpLayer) -> Result<Vec<u8>, Ignored> {
    let head = bytes.get(layer.start..layer.start + 2).ok_or(Ignored::CutOff)?;
    let size = (usize::from(head[1]) + 2) * 4;
    if bytes.len() < layer.start + size {
        return Err(Ignored::CutOff);
    }
    let length = u16::try_from(layer.end as usize).map_err(|_| Ignored::DamagedIp)?;
    let length = length.checked_sub(size as u16).ok_or(Ignored::DamagedIp)?;
    let mut packet = [&bytes[..layer.start], &bytes[layer.start + size..]].concat();
    packet[9] = head[0];
    packet[2..4].copy_from_slice(&length.to_be_bytes());
    Ok(packet)
}

/// Where the inner packet begins, if this is a tunnel, which is added to the path.
fn enter(
    bytes: &[u8],
    layer: &IpLayer,
    path: &mut Path,
    asked: &TunnelPorts,
) -> Result<Option<usize>, Ignored> {
    let at = layer.start;
    let inner = match layer.protocol {
        4 | 41 => Inner { place: Ok((at, 0)), kind: within(bytes, layer.protocol), number: None },
        GRE => routing_encapsulation(bytes, at)?,
        ETHER_IP => ether_ip(bytes, at)?,
        MPLS => labelled(bytes, at),
        UDP => {
            let head = bytes.get(at..at + 8).ok_or(Ignored::CutOff)?;
            match UdpTunnel::between(pair(head, 0), pair(head, 2), asked) {
                Some(tunnel) => tunnel.inner(bytes, at + 8)?,
                None => return Ok(None),
            }
        }
        _ => return Ok(None),
    };
    let (place, vlans) = inner.place?;
    if place > bytes.len() {
        return Err(Ignored::CutOff);
    }
    path.0.push(Tunnel::new(inner.kind, inner.number, layer.source, layer.destination, path.1));
    path.1 = vlans;
    Ok(Some(place))
}

fn within(bytes: &[u8], protocol: u8) -> &'static str {
    match (protocol, bytes[0] >> 4) {
        (4, 4) => "IPIP",
        (4, _) => "4in6",
        (_, 4) => "6in4",
        _ => "6in6",
    }
}

/// GRE (RFC 2784) with key and sequence number (RFC 2890), also as NVGRE (RFC 7637) and ERSPAN
/// (draft-foschiano-erspan).
fn routing_encapsulation(bytes: &[u8], at: usize) -> Result<Inner, Ignored> {
    let head = bytes.get(at..at + 4).ok_or(Ignored::CutOff)?;
    let (marks, kind) = (pair(head, 0), pair(head, 2));
    if marks & 0x4007 != 0 {
        // Routing (RFC 1701), or PPTP's version.
        return Err(Ignored::NotTcp);
    }
    let key = at + if marks & 0x8000 != 0 { 8 } else { 4 };
    let after_key = key + if marks & 0x2000 != 0 { 4 } else { 0 };
    let end = after_key + if marks & 0x1000 != 0 { 4 } else { 0 };
    if bytes.len() < end {
        return Err(Ignored::CutOff);
    }
    let tunnel = |place, kind| Inner {
        place,
        kind,
        number: (marks & 0x2000 != 0).then(|| number(bytes, key)),
    };
    match kind {
        0x0800 | 0x86dd => Ok(tunnel(Ok((end, 0)), "GRE")),
        0x6558 => Ok(tunnel(typed(bytes, end + 12), "GRE")),
        0x8847 | 0x8848 => {
            Ok(tunnel(labels(bytes, end).map(|at| (at, 0)).ok_or(Ignored::NotIp), "GRE"))
        }
        0x88be => {
            let header = if marks & 0x1000 != 0 { 8 } else { 0 };
            Ok(tunnel(typed(bytes, end + header + 12), "ERSPAN"))
        }
        0x22eb => {
            let last = bytes.get(end + 11).ok_or(Ignored::CutOff)?;
            let header = if last & 1 != 0 { 20 } else { 12 };
            Ok(tunnel(typed(bytes, end + header + 12), "ERSPAN"))
        }
        _ => Err(Ignored::NotTcp),
    }
}

/// VXLAN (RFC 7348).
fn vxlan(bytes: &[u8], at: usize) -> Result<Inner, Ignored> {
    let head = bytes.get(at..at + 8).ok_or(Ignored::CutOff)?;
    if head[0] & 8 == 0 {
        return Err(Ignored::NotTcp);
    }
    let place = typed(bytes, at + 8 + 12);
    Ok(Inner { place, kind: "VXLAN", number: Some(number(head, 4) >> 8) })
}

/// VXLAN's generic extension (draft-ietf-nvo3-vxlan-gpe), which names what it carries.
fn generic_vxlan(bytes: &[u8], at: usize) -> Result<Inner, Ignored> {
    let head = bytes.get(at..at + 8).ok_or(Ignored::CutOff)?;
    let place = match (head[0] & 4 != 0, head[3]) {
        (true, 1 | 2) => Ok((at + 8, 0)),
        (true, 3) | (false, _) => typed(bytes, at + 8 + 12),
        (true, 4) => service_header(bytes, at + 8).ok_or(Ignored::NotIp),
        _ => return Err(Ignored::NotTcp),
    };
    Ok(Inner { place, kind: "VXLAN-GPE", number: Some(number(head, 4) >> 8) })
}

/// Labels of MPLS in UDP (RFC 7510) or in IP (RFC 4023).
fn labelled(bytes: &[u8], at: usize) -> Inner {
    let place = labels(bytes, at).map(|at| (at, 0)).ok_or(Ignored::NotIp);
    Inner { place, kind: "MPLS", number: None }
}

/// Ethernet in IP (RFC 3378).
fn ether_ip(bytes: &[u8], at: usize) -> Result<Inner, Ignored> {
    match bytes.get(at..at + 2) {
        Some([0x30, _]) => {
            Ok(Inner { place: typed(bytes, at + 2 + 12), kind: "EtherIP", number: None })
        }
        _ => Err(Ignored::NotTcp),
    }
}

/// Data of L2TP (RFC 2661), version 2 in UDP. Its numbers are others for each direction.
fn layer_two(bytes: &[u8], at: usize) -> Result<Inner, Ignored> {
    let marks = pair(bytes.get(at..at + 2).ok_or(Ignored::CutOff)?, 0);
    if marks & 0x800f != 2 {
        // A control message, or another version.
        return Err(Ignored::NotTcp);
    }
    let mut end = at + 2 + 4;
    end += if marks & 0x4000 != 0 { 2 } else { 0 } + if marks & 0x0800 != 0 { 4 } else { 0 };
    if marks & 0x0200 != 0 {
        end += 2 + usize::from(pair(bytes.get(end..end + 2).ok_or(Ignored::CutOff)?, 0));
    }
    let place = point_to_point(bytes, end).map(|at| (at, 0));
    Ok(Inner { place, kind: "L2TP", number: None })
}

/// Geneve (RFC 8926).
fn geneve(bytes: &[u8], at: usize) -> Result<Inner, Ignored> {
    let head = bytes.get(at..at + 8).ok_or(Ignored::CutOff)?;
    if head[0] & 0xc0 != 0 {
        return Err(Ignored::NotTcp);
    }
    let end = at + 8 + usize::from(head[0] & 0x3f) * 4;
    let place = match pair(head, 2) {
        0x0800 | 0x86dd => Ok((end, 0)),
        0x6558 => typed(bytes, end + 12),
        _ => return Err(Ignored::NotTcp),
    };
    Ok(Inner { place, kind: "Geneve", number: Some(number(head, 4) >> 8) })
}

/// GTP-U (3GPP TS 29.281): version 1, a G-PDU, with its optional fields and extension headers. Its
/// tunnel's number is another for each direction.
fn user_plane(bytes: &[u8], at: usize) -> Result<Inner, Ignored> {
    let head = bytes.get(at..at + 8).ok_or(Ignored::CutOff)?;
    if head[0] & 0xf0 != 0x30 || head[1] != 0xff {
        return Err(Ignored::NotTcp);
    }
    let mut end = at + 8;
    if head[0] & 7 != 0 {
        let fields = bytes.get(end..end + 4).ok_or(Ignored::CutOff)?;
        let mut next = if head[0] & 4 != 0 { fields[3] } else { 0 };
        end += 4;
        while next != 0 {
            let size = usize::from(*bytes.get(end).ok_or(Ignored::CutOff)?) * 4;
            if size == 0 {
                return Err(Ignored::NotTcp);
            }
            end += size;
            next = *bytes.get(end - 1).ok_or(Ignored::CutOff)?;
        }
    }
    Ok(Inner { place: Ok((end, 0)), kind: "GTP-U", number: None })
}
