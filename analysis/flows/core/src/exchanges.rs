//! Requests and their answers within one conversation.

use crate::application_layer::{
    dns_message, http_request, http_status, server_name, TlsRecords, TlsStream,
};
use std::collections::VecDeque;

const DNS_PORT: u32 = 53;
/// More requests than this wait for no answer.
const WAITING: usize = 256;

/// One request and its answer, if there was one. Times are of their first and last packets.
#[derive(Clone, Default, Debug)]
pub struct Exchange {
    pub protocol: &'static str,
    pub what: String,
    pub request_begin: i64,
    pub request_end: i64,
    pub request_bytes: u64,
    pub answer_begin: Option<i64>,
    pub answer_end: i64,
    pub answer_bytes: u64,
    /// The packets that began the request and the answer.
    pub request_packet: u64,
    pub answer_packet: u64,
    pub(crate) identification: u16,
    pub(crate) records: TlsRecords,
}

/// Payload of one packet of a direction.
pub struct Data<'a> {
    pub time: i64,
    pub packet: u64,
    pub sequence: u32,
    /// Bytes on the wire, and those that the capture has of them.
    pub length: u32,
    pub bytes: &'a [u8],
}

#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
enum Protocol {
    #[default]
    Turns,
    Http,
    Tls,
    Dns,
}

impl Protocol {
    fn name(self) -> &'static str {
        match self {
            Protocol::Turns => "turns",
            Protocol::Http => "HTTP",
            Protocol::Tls => "TLS",
            Protocol::Dns => "DNS",
        }
    }

    fn of(data: &Data, port: u32) -> Protocol {
        if http_request(data.bytes).is_some() {
            Protocol::Http
        } else if matches!(data.bytes, [22, 3, ..]) {
            Protocol::Tls
        } else if port == DNS_PORT {
            Protocol::Dns
        } else {
            Protocol::Turns
        }
    }
}

/// What one end sent so far.
#[derive(Default, Debug)]
struct Sent {
    highest: Option<u32>,
    records: TlsStream,
}

impl Sent {
    /// Whether some of these bytes were not sent before.
    fn is_new(&mut self, data: &Data) -> bool {
        let end = data.sequence.wrapping_add(data.length);
        match self.highest {
            Some(highest) if end.wrapping_sub(highest) as i32 <= 0 => false,
            _ => {
                self.highest = Some(end);
                true
            }
        }
    }

    /// Lets `records` count what begins in new data.
    fn follow(&mut self, data: &Data, before: Option<u32>, records: &mut TlsRecords) {
        let gap = before.map_or(0, |end| data.sequence.wrapping_sub(end) as i32);
        let known = gap.min(0).unsigned_abs() as usize;
        self.records.skip(gap.max(0) as usize);
        if known <= data.bytes.len() {
            self.records.take(&data.bytes[known..], data.length as usize - known, records);
        } else {
            self.records.skip(data.length as usize - known);
        }
    }
}

/// A connection of TCP as its programs see it.
#[derive(Default, Debug)]
pub struct Conversation {
    protocol: Option<Protocol>,
    /// Requests without a whole answer, the oldest first.
    waiting: VecDeque<Exchange>,
    asked: Sent,
    answered: Sent,
    /// Whether the server spoke last.
    is_answering: bool,
}

impl Conversation {
    /// Takes data of the client for `port`; finished exchanges go to `done`.
    pub fn ask(&mut self, data: &Data, port: u32, done: &mut Vec<Exchange>) {
        let before = self.asked.highest;
        if !self.asked.is_new(data) {
            return;
        }
        let protocol = *self.protocol.get_or_insert_with(|| Protocol::of(data, port));
        let what = match protocol {
            Protocol::Http => http_request(data.bytes),
            Protocol::Dns => data.bytes.get(2..).and_then(dns_message).map(|message| message.2),
            Protocol::Tls | Protocol::Turns => None,
        };
        let begins = what.is_some() || self.is_answering || self.waiting.is_empty();
        if begins && self.waiting.len() < WAITING {
            if protocol == Protocol::Tls || protocol == Protocol::Turns {
                self.end(done);
            }
            self.waiting.push_back(self.begun(protocol, what, data));
        }
        self.is_answering = false;
        let asked = &mut self.asked;
        if let Some(exchange) = self.waiting.back_mut() {
            exchange.request_end = data.time;
            exchange.request_bytes += u64::from(data.length);
            if protocol == Protocol::Tls {
                asked.follow(data, before, &mut exchange.records);
            }
        }
    }

    fn begun(&self, protocol: Protocol, what: Option<String>, data: &Data) -> Exchange {
        let what = match protocol {
            Protocol::Tls => server_name(data.bytes),
            _ => what,
        };
        let identification = data.bytes.get(2..).and_then(dns_message).map_or(0, |found| found.0);
        Exchange {
            protocol: protocol.name(),
            what: what.unwrap_or_default(),
            request_begin: data.time,
            request_packet: data.packet,
            identification,
            ..Exchange::default()
        }
    }

    /// Takes data of the server; what it says before it is asked is no answer.
    pub fn answer(&mut self, data: &Data, done: &mut Vec<Exchange>) {
        let is_new = self.answered.is_new(data);
        let at = match self.protocol {
            Some(Protocol::Http) if is_new => self.http_answer(data, done),
            Some(Protocol::Dns) if is_new => self.dns_answer(data),
            _ => Some(0),
        };
        let exchange = match at.and_then(|at| self.waiting.get_mut(at)) {
            Some(exchange) if is_new || exchange.answer_begin.is_some() => exchange,
            _ => return,
        };
        if is_new {
            self.is_answering = true;
            if exchange.answer_begin.is_none() {
                exchange.answer_begin = Some(data.time);
                exchange.answer_packet = data.packet;
            }
            exchange.answer_bytes += u64::from(data.length);
        }
        exchange.answer_end = data.time;
    }

    /// The place of the request that is answered; an interim answer (100 to 199) answers none.
    fn http_answer(&mut self, data: &Data, done: &mut Vec<Exchange>) -> Option<usize> {
        let status = match http_status(data.bytes) {
            None => {
                let is_begun =
                    self.waiting.front().map_or(false, |front| front.answer_begin.is_some());
                return is_begun.then_some(0);
            }
            Some(101) => {
                self.protocol = Some(Protocol::Turns);
                101
            }
            Some(100..=199) => return None,
            Some(status) => status,
        };
        if self.waiting.front().map_or(false, |front| front.answer_begin.is_some()) {
            done.extend(self.waiting.pop_front());
        }
        if let Some(front) = self.waiting.front_mut() {
            front.what = format!("{}: {status}", front.what);
        }
        Some(0)
    }

    fn dns_answer(&mut self, data: &Data) -> Option<usize> {
        match data.bytes.get(2..).and_then(dns_message) {
            Some((number, true, _)) => {
                let asked =
                    |each: &Exchange| each.identification == number && each.answer_begin.is_none();
                self.waiting.iter().position(asked)
            }
            _ => self.waiting.iter().rposition(|each| each.answer_begin.is_some()),
        }
    }

    /// Hands out all exchanges. What TLS does beside data is named, and lone alerts are dropped.
    pub fn end(&mut self, done: &mut Vec<Exchange>) {
        for mut exchange in self.waiting.drain(..) {
            if exchange.records.is_handshake() {
                exchange.protocol = "TLS handshake";
            }
            if !(exchange.records.is_alert() && exchange.answer_begin.is_none()) {
                done.push(exchange);
            }
        }
    }
}
