//! A pass over a capture for requests and answers: those of its connections, and of DNS by UDP.

use crate::application_layer::dns_message;
use crate::column_frame::Frame;
use crate::connection_table::{Table, NONE};
use crate::datagrams::content;
use crate::exchanges::{Conversation, Data, Exchange};
use crate::formats;
use crate::ip_layer::IpLayer;
use crate::networks::address_name;
use crate::packet_parser::{Asked, PacketParser};
use crate::packet_records::{Accounts, Record, Sink};
use crate::segment::{Address, Segment, ACK, EARLIER, SYN};
use crate::stream::Source;
use crate::tunnels::{TCP, UDP};
use crate::Refused;
use std::collections::HashMap;

const DNS: u16 = 53;
/// Packets between two looks at whether the user wants to stop.
const LOOK: u64 = 1 << 16;

/// An exchange with its place: the connection's number (0 for UDP), and its ends.
pub struct Placed {
    pub connection: u64,
    pub client: (String, u16),
    pub server: (String, u16),
    /// The round trip from the capture to the server, by the handshake.
    pub trip: Option<i64>,
    pub exchange: Exchange,
}

/// A client and its port, a server, and the number of a question.
type Question = (Address, u16, Address, u16);

struct Reader<'a> {
    parser: PacketParser,
    table: Table,
    /// By the place of the connection.
    conversations: HashMap<u32, Conversation>,
    /// Whether its first sender is the client.
    clients: HashMap<u32, bool>,
    done: Vec<(u32, Vec<Exchange>)>,
    questions: HashMap<Question, Placed>,
    datagrams: Vec<Placed>,
    go_on: &'a mut dyn FnMut() -> bool,
}

/// The exchanges of the file at `path`, of connections first.
pub fn exchanges(
    path: &std::path::Path,
    asked: Asked,
    go_on: &mut dyn FnMut() -> bool,
) -> Result<Vec<Placed>, Refused> {
    let (mut source, _) = Source::open(path).map_err(Refused::Unreadable)?;
    let (format, big) = formats::recognise(&mut source).ok_or(Refused::NoCapture)?;
    let mut reader = Reader {
        parser: PacketParser::new(false, asked),
        table: Table::new(false, None),
        conversations: HashMap::new(),
        clients: HashMap::new(),
        done: Vec::new(),
        questions: HashMap::new(),
        datagrams: Vec::new(),
        go_on,
    };
    formats::read(&mut source, format, big, &mut reader);
    Ok(reader.end())
}

impl Sink for Reader<'_> {
    fn record(&mut self, record: &Record) -> bool {
        let mut segment = Segment::default();
        if self.parser.take(record, &mut segment) {
            let rare = *self.parser.rare(&segment);
            let packet = self.parser.facts.packets;
            self.table.take(packet, &mut segment, &rare);
            if segment.flags & EARLIER == 0 {
                self.converse(record, &segment, packet);
            }
        } else if self.parser.holds(record.time) {
            self.datagram(record);
        }
        self.parser.facts.packets % LOOK != 0 || (self.go_on)()
    }

    fn accounts(&mut self) -> &mut dyn Accounts {
        &mut self.parser
    }
}

impl Reader<'_> {
    fn converse(&mut self, record: &Record, segment: &Segment, packet: u64) {
        let at = self.table.current.get(segment.pair as usize).copied().unwrap_or(NONE);
        let has_syn = segment.flags & SYN != 0;
        if (segment.payload == 0 && !has_syn) || at == NONE {
            return;
        }
        let forward = segment.turned == self.table.connections[at as usize].turned;
        let answers = has_syn && segment.flags & ACK != 0;
        let client = *self.clients.entry(at).or_insert(forward != answers);
        if segment.payload == 0 {
            return;
        }
        let conversation = self.conversations.entry(at).or_default();
        let found = self.parser.unwrap(record).ok();
        let bytes = found
            .as_ref()
            .map_or(&[][..], |found| payload(&found.packet, &found.layer, segment.payload));
        let data = Data {
            time: segment.time,
            packet,
            sequence: segment.sequence.wrapping_add(u32::from(has_syn)),
            length: segment.payload,
            bytes,
        };
        let mut done = Vec::new();
        if forward == client {
            let port = self.parser.pairs.ends(segment.pair, segment.turned).ports & 0xffff;
            conversation.ask(&data, port, &mut done);
        } else {
            conversation.answer(&data, &mut done);
        }
        if !done.is_empty() {
            self.done.push((at, done));
        }
    }

    /// Takes a message of DNS by UDP; a repeated question keeps its first time.
    fn datagram(&mut self, record: &Record) {
        let found = match self.parser.unwrap(record) {
            Ok(found) if found.layer.protocol == UDP => found,
            _ => return,
        };
        let start = found.layer.start;
        let (ports, message) = match content(&found.packet, start) {
            Some(content) => content,
            None => return,
        };
        let (identification, answers, name) = match (ports, dns_message(message)) {
            ((DNS, _) | (_, DNS), Some(message)) => message,
            _ => return,
        };
        let (source, destination) = (found.layer.source, found.layer.destination);
        let size = found.layer.end.saturating_sub(start as u32 + 8).into();
        let packet = self.parser.facts.packets;
        if answers && ports.0 == DNS {
            let question = (destination, ports.1, source, identification);
            if let Some(mut placed) = self.questions.remove(&question) {
                placed.exchange.answer_begin = Some(record.time);
                placed.exchange.answer_end = record.time;
                placed.exchange.answer_packet = packet;
                placed.exchange.answer_bytes = size;
                self.datagrams.push(placed);
            }
        } else if !answers && ports.1 == DNS {
            let question = (source, ports.0, destination, identification);
            let exchange = Exchange {
                protocol: "DNS",
                what: name,
                request_begin: record.time,
                request_end: record.time,
                request_bytes: size,
                request_packet: packet,
                ..Exchange::default()
            };
            self.questions.entry(question).or_insert_with(|| Placed {
                connection: 0,
                client: (address_name(&source), ports.0),
                server: (address_name(&destination), DNS),
                trip: None,
                exchange,
            });
        }
    }

    fn end(mut self) -> Vec<Placed> {
        for (at, mut conversation) in std::mem::take(&mut self.conversations) {
            let mut done = Vec::new();
            conversation.end(&mut done);
            self.done.push((at, done));
        }
        let mut placed = Vec::new();
        for (at, exchanges) in std::mem::take(&mut self.done) {
            placed.extend(exchanges.into_iter().map(|exchange| self.placed(at, exchange)));
        }
        placed.append(&mut self.datagrams);
        placed.extend(self.questions.into_values());
        placed.sort_by_key(|each| each.exchange.request_packet);
        placed
    }

    /// Names the ends of an exchange of a connection.
    fn placed(&mut self, at: u32, exchange: Exchange) -> Placed {
        let entry = &mut self.table.connections[at as usize];
        let connection = u64::from(entry.number);
        let ends = self.parser.pairs.ends(entry.pair, entry.turned);
        let by_a = self.clients.get(&at).copied().unwrap_or(true);
        let mut trip = None;
        entry.look(false, |connection| {
            let handshake = &connection.handshake;
            trip = if by_a { handshake.outer } else { handshake.inner };
        });
        let a = (address_name(&ends.source), (ends.ports >> 16) as u16);
        let b = (address_name(&ends.destination), (ends.ports & 0xffff) as u16);
        let (client, server) = if by_a { (a, b) } else { (b, a) };
        Placed { connection, client, server, trip, exchange }
    }
}

/// The captured bytes of the payload of a segment that has so many.
fn payload<'a>(packet: &'a [u8], layer: &IpLayer, length: u32) -> &'a [u8] {
    let head = match packet.get(layer.start + 12) {
        Some(byte) if layer.protocol == TCP => usize::from(byte >> 4) * 4,
        _ => return &[],
    };
    let begin = (layer.start + head).min(packet.len());
    let end = (begin + length as usize).min(packet.len());
    &packet[begin..end]
}

/// Adds an exchange as the next row.
pub fn add(frame: &mut Frame, placed: Placed) {
    let Placed { connection, client, server, trip, exchange } = placed;
    frame.next_row();
    frame.unsigned("connection", "", connection);
    frame.text("protocol", "", exchange.protocol.to_string());
    frame.text("client", "", client.0);
    frame.unsigned("client_port", "", client.1.into());
    frame.text("server", "", server.0);
    frame.unsigned("server_port", "", server.1.into());
    frame.text("what", "", exchange.what);
    frame.unsigned("request_packet", "", exchange.request_packet);
    frame.integer("request_time", "", exchange.request_begin);
    frame.integer("request_duration", "", exchange.request_end - exchange.request_begin);
    frame.unsigned("request_bytes", "", exchange.request_bytes);
    let waited = exchange.answer_begin.map(|begin| begin - exchange.request_end);
    let is_answered = waited.is_some();
    frame.unsigned_or_none("answer_packet", "", is_answered.then_some(exchange.answer_packet));
    frame.integer_or_none("response_time", "", waited);
    let thought = waited.zip(trip).map(|(waited, trip)| (waited - trip).max(0));
    frame.integer_or_none("think_time", "", thought);
    let took = exchange.answer_begin.map(|begin| exchange.answer_end - begin);
    frame.integer_or_none("transfer_time", "", took);
    frame.unsigned("answer_bytes", "", exchange.answer_bytes);
}
