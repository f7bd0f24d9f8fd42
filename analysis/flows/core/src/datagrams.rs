//! Flows of UDP: rates and gaps; of QUIC also what its headers show (RFC 8999, 9000, 9369).

use crate::column_frame::Frame;
use crate::link_layer::pair;
use crate::networks::{address_name, Network, Networks};
use crate::rtt_samples::{bucket, Histogram};
use crate::segment::Address;
use crate::tcp_options::number;
use std::collections::HashMap;
use std::fmt::Write;

/// Flows beyond these are not counted.
const MOST: usize = 1 << 17;
const LONG: u8 = 0x80;
const FIXED: u8 = 0x40;
const SPIN: u8 = 0x20;
const VERSION_TWO: u32 = 0x6b33_43cf;
const LONGEST_IDENTIFIER: usize = 20;
/// A bit that changes more often than each so many packets is drawn, and does not spin.
const PACKETS_OF_TURN: u64 = 4;

/// The ends as the first packet has them.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct FlowEnds {
    source: Address,
    destination: Address,
    ports: (u16, u16),
    network: Network,
}

#[derive(Default)]
struct Way {
    packets: u64,
    bytes: u64,
    last: Option<i64>,
    longest_gap: i64,
}

#[derive(Default)]
struct Quic {
    version: u32,
    identifier: Vec<u8>,
    /// The client's latest Initial before the server's first, and the halves of the handshake.
    asked: Option<i64>,
    answered: Option<i64>,
    outer: Option<i64>,
    inner: Option<i64>,
    /// The spin bit of the server's packets, and when it changed.
    spin: Option<bool>,
    turned: Option<i64>,
    shorts: u64,
    turns: u64,
    times: Histogram,
}

struct Flow {
    ends: FlowEnds,
    first: i64,
    ways: [Way; 2],
    quic: Option<Box<Quic>>,
}

#[derive(Default)]
pub struct Datagrams {
    places: HashMap<FlowEnds, u32>,
    flows: Vec<Flow>,
}

/// A datagram with its addresses; `bytes` are of its payload, of which the capture may lack the
/// last.
pub struct Datagram<'a> {
    pub time: i64,
    pub source: Address,
    pub destination: Address,
    pub ports: (u16, u16),
    pub network: Network,
    pub length: u64,
    pub bytes: &'a [u8],
}

impl Datagrams {
    pub fn take(&mut self, datagram: &Datagram) {
        let Datagram { source, destination, ports, network, .. } = *datagram;
        let ends = FlowEnds { source, destination, ports, network };
        let back = FlowEnds {
            source: destination,
            destination: source,
            ports: (ports.1, ports.0),
            network,
        };
        let (at, way) = match (self.places.get(&ends), self.places.get(&back)) {
            (Some(at), _) => (*at as usize, 0),
            (None, Some(at)) => (*at as usize, 1),
            (None, None) if self.flows.len() < MOST => {
                self.places.insert(ends, self.flows.len() as u32);
                self.flows.push(Flow {
                    ends,
                    first: datagram.time,
                    ways: Default::default(),
                    quic: None,
                });
                (self.flows.len() - 1, 0)
            }
            _ => return,
        };
        self.flows[at].take(datagram, way);
    }

    /// A row for each flow.
    pub fn frame(&self, networks: &Networks) -> Frame {
        let mut frame = Frame::new(self.flows.len());
        for flow in &self.flows {
            flow.add(&mut frame, networks);
        }
        frame
    }
}

impl Flow {
    fn take(&mut self, datagram: &Datagram, at: usize) {
        let way = &mut self.ways[at];
        way.packets += 1;
        way.bytes += datagram.length;
        if let Some(last) = way.last.replace(datagram.time) {
            way.longest_gap = way.longest_gap.max(datagram.time - last);
        }
        if self.quic.is_none() && at == 0 && self.ways[1].packets == 0 {
            self.quic = begun(datagram.bytes);
        }
        if let Some(quic) = &mut self.quic {
            quic.take(datagram, at == 0);
        }
    }

    fn add(&self, frame: &mut Frame, networks: &Networks) {
        let FlowEnds { source, destination, ports, network } = self.ends;
        frame.next_row();
        frame.text("host_a", "", address_name(&source));
        frame.unsigned("port_a", "", ports.0.into());
        frame.text("host_b", "", address_name(&destination));
        frame.unsigned("port_b", "", ports.1.into());
        frame.text("network", "", networks.name(network));
        let last = self.ways.iter().filter_map(|way| way.last).max().unwrap_or(self.first);
        frame.integer("first_packet", "", self.first);
        frame.integer("duration", "", last - self.first);
        for (way, ending) in self.ways.iter().zip(["_a2b", "_b2a"]) {
            frame.unsigned("packets", ending, way.packets);
            frame.unsigned("bytes", ending, way.bytes);
            frame.integer("longest_gap", ending, way.longest_gap);
        }
        let no_quic = Quic::default();
        let quic = self.quic.as_deref().unwrap_or(&no_quic);
        let name = if self.quic.is_some() { quic.version_name() } else { String::new() };
        frame.text("quic_version", "", name);
        frame.text("quic_identifier", "", hexadecimal(&quic.identifier));
        frame.integer_or_none("handshake_outer", "", quic.outer);
        frame.integer_or_none("handshake_inner", "", quic.inner);
        let (spins, times) = (quic.spins(), &quic.times);
        frame.unsigned("spin_samples", "", if spins { times.total() } else { 0 });
        for (percent, name) in [(5, "spin_p5"), (50, "spin_p50"), (95, "spin_p95")] {
            let time = times.percentile(percent).filter(|_| spins);
            frame.integer_or_none(name, "", time);
        }
    }
}

/// The connection of QUIC that a client's Initial begins.
fn begun(bytes: &[u8]) -> Option<Box<Quic>> {
    let head = bytes.get(..6)?;
    let (version, length) = (number(head, 1), usize::from(head[5]));
    let is_known = version == 1 || version == VERSION_TWO || version >> 8 == 0xff_0000;
    let is_reserved = version & 0x0f0f_0f0f == 0x0a0a_0a0a;
    if head[0] & (LONG | FIXED) != LONG | FIXED || !(is_known || is_reserved) {
        return None;
    }
    let identifier = bytes.get(6..6 + length).filter(|_| length <= LONGEST_IDENTIFIER)?.to_vec();
    Some(Box::new(Quic { version, identifier, ..Quic::default() }))
}

impl Quic {
    fn take(&mut self, datagram: &Datagram, from_client: bool) {
        let (first, now) = match datagram.bytes.first() {
            Some(first) => (*first, datagram.time),
            None => return,
        };
        if from_client && self.answered.is_none() && self.is_initial(first) {
            self.asked = Some(now);
        } else if !from_client && self.answered.is_none() && first & LONG != 0 {
            self.answered = Some(now);
            self.outer = self.asked.map(|asked| (now - asked).max(0));
            if let Some(version) = datagram.bytes.get(1..5).map(|bytes| number(bytes, 0)) {
                // 0 lists versions instead of an answer.
                self.version = if version == 0 { self.version } else { version };
            }
        } else if from_client && self.inner.is_none() {
            self.inner = self.answered.map(|answered| (now - answered).max(0));
        }
        if !from_client && first & (LONG | FIXED) == FIXED {
            self.spun(first & SPIN != 0, now);
        }
    }

    fn is_initial(&self, first: u8) -> bool {
        let kind = if self.version == VERSION_TWO { 1 } else { 0 };
        first & LONG != 0 && first >> 4 & 3 == kind
    }

    /// Takes the spin bit of a server's packet: from one change to the next is a round trip.
    fn spun(&mut self, spin: bool, now: i64) {
        self.shorts += 1;
        if self.spin.replace(spin).map_or(false, |before| before != spin) {
            self.turns += 1;
            if let Some(since) = self.turned.replace(now) {
                self.times.add(bucket((now - since).max(0)), 1);
            }
        }
    }

    /// Whether the bit spins: it may be constant or drawn for each packet (RFC 9000, section 17.4).
    fn spins(&self) -> bool {
        let trip = self.outer.map(|outer| outer + self.inner.unwrap_or(0));
        match (trip, self.times.percentile(50)) {
            (_, None) => false,
            (Some(trip), Some(time)) => time * 2 >= trip,
            (None, Some(_)) => self.turns * PACKETS_OF_TURN <= self.shorts,
        }
    }

    fn version_name(&self) -> String {
        match self.version {
            1 => "1".to_string(),
            VERSION_TWO => "2".to_string(),
            version if version >> 8 == 0xff_0000 => format!("draft-{}", version & 0xff),
            version => format!("{version:#010x}"),
        }
    }
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        // A string takes all that is written.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// The ports and the payload of a datagram whose header begins at `start`.
pub fn content(packet: &[u8], start: usize) -> Option<((u16, u16), &[u8])> {
    let head = packet.get(start..start + 8)?;
    Some(((pair(head, 0), pair(head, 2)), &packet[start + 8..]))
}
