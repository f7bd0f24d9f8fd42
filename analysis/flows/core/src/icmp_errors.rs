//! Errors of ICMP (RFC 792, 1191) and ICMPv6 (RFC 4443) that quote a packet of TCP or UDP.

use crate::column_frame::Frame;
use crate::ip_layer::IpLayer;
use crate::link_layer::pair;
use crate::networks::{address_name, Network, Networks};
use crate::segment::Address;
use crate::tcp_options::number;
use crate::tunnels::{TCP, UDP};

pub const ICMP: u8 = 1;
pub const ICMP_SIX: u8 = 58;
/// Errors beyond these are not kept.
const MOST: usize = 1 << 16;
/// Bytes before the quoted packet.
const HEADER: usize = 8;

/// The packet that an error quotes: its protocol, its ends, and the sequence number of TCP.
struct Quoted {
    protocol: u8,
    source: Address,
    destination: Address,
    ports: (u16, u16),
    sequence: Option<u32>,
}

struct IcmpError {
    packet: u64,
    time: i64,
    reporter: Address,
    name: &'static str,
    mtu: Option<u32>,
    quoted: Quoted,
    network: Network,
}

#[derive(Default)]
pub struct IcmpErrors {
    errors: Vec<IcmpError>,
}

impl IcmpErrors {
    /// Takes a packet of ICMP, if it is an error about TCP or UDP.
    pub fn take(
        &mut self,
        (packet, time): (u64, i64),
        bytes: &[u8],
        layer: &IpLayer,
        network: Network,
    ) {
        let message = bytes.get(layer.start..).unwrap_or(&[]);
        let is_six = layer.protocol == ICMP_SIX;
        let name = match message {
            [kind, code, ..] if is_six => name_six(*kind, *code),
            [kind, code, ..] => name_four(*kind, *code),
            _ => None,
        };
        if let (Some(name), Some(quoted), true) = (name, quote(message), self.errors.len() < MOST) {
            let (reporter, mtu) = (layer.source, mtu(message, is_six));
            self.errors.push(IcmpError { packet, time, reporter, name, mtu, quoted, network });
        }
    }

    /// A row for each error.
    pub fn frame(&self, networks: &Networks) -> Frame {
        let mut frame = Frame::new(self.errors.len());
        for error in &self.errors {
            error.add(&mut frame, networks);
        }
        frame
    }
}

impl IcmpError {
    fn add(&self, frame: &mut Frame, networks: &Networks) {
        let Quoted { protocol, source, destination, ports, sequence } = &self.quoted;
        frame.next_row();
        frame.unsigned("packet", "", self.packet);
        frame.integer("time", "", self.time);
        frame.text("error", "", self.name.to_string());
        frame.unsigned_or_none("mtu", "", self.mtu.map(u64::from));
        frame.text("reporter", "", address_name(&self.reporter));
        frame.text("protocol", "", if *protocol == TCP { "TCP" } else { "UDP" }.to_string());
        frame.text("source", "", address_name(source));
        frame.unsigned("source_port", "", ports.0.into());
        frame.text("target", "", address_name(destination));
        frame.unsigned("target_port", "", ports.1.into());
        frame.unsigned_or_none("sequence", "", sequence.map(u64::from));
        frame.text("network", "", networks.name(self.network));
    }
}

fn name_four(kind: u8, code: u8) -> Option<&'static str> {
    match (kind, code) {
        (3, 0) => Some("network unreachable"),
        (3, 1) => Some("host unreachable"),
        (3, 2) => Some("protocol unreachable"),
        (3, 3) => Some("port unreachable"),
        (3, 4) => Some("fragmentation needed"),
        (3, 9) | (3, 10) | (3, 13) => Some("prohibited"),
        (3, _) => Some("unreachable"),
        (4, _) => Some("source quench"),
        (5, _) => Some("redirect"),
        (11, _) => Some("time exceeded"),
        (12, _) => Some("parameter problem"),
        _ => None,
    }
}

fn name_six(kind: u8, code: u8) -> Option<&'static str> {
    match (kind, code) {
        (1, 0) => Some("network unreachable"),
        (1, 1) => Some("prohibited"),
        (1, 3) => Some("host unreachable"),
        (1, 4) => Some("port unreachable"),
        (1, _) => Some("unreachable"),
        (2, _) => Some("packet too big"),
        (3, _) => Some("time exceeded"),
        (4, _) => Some("parameter problem"),
        _ => None,
    }
}

/// The MTU that the error reports; routers older than RFC 1191 report none.
fn mtu(message: &[u8], is_six: bool) -> Option<u32> {
    let reported = match message {
        [2, ..] if is_six => number(message, 4),
        [3, 4, ..] if !is_six => pair(message, 6).into(),
        _ => 0,
    };
    (reported > 0).then_some(reported)
}

/// The quoted packet. Only a first fragment tells its ports.
fn quote(message: &[u8]) -> Option<Quoted> {
    let bytes = message.get(HEADER..)?;
    let layer = IpLayer::read(bytes, bytes.len() as u32).ok()?;
    let is_later = layer.part.map_or(false, |part| part.offset > 0);
    let head = bytes.get(layer.start..layer.start + 4)?;
    if is_later || !matches!(layer.protocol, TCP | UDP) {
        return None;
    }
    let is_whole = layer.protocol == TCP && bytes.len() >= layer.start + 8;
    Some(Quoted {
        protocol: layer.protocol,
        source: layer.source,
        destination: layer.destination,
        ports: (pair(head, 0), pair(head, 2)),
        sequence: is_whole.then(|| number(bytes, layer.start + 4)),
    })
}
