//! Requests and answers as applications write them: HTTP/1 (RFC 9112), records of TLS (RFC 8446),
//! messages of DNS (RFC 1035).

use crate::link_layer::pair;

/// Bytes of a name or a path that are kept.
const NAME: usize = 80;
const METHODS: [&[u8]; 9] = [
    b"GET ",
    b"POST ",
    b"HEAD ",
    b"PUT ",
    b"DELETE ",
    b"OPTIONS ",
    b"PATCH ",
    b"CONNECT ",
    b"TRACE ",
];
const CHANGE_CIPHER: u8 = 20;
const ALERT: u8 = 21;
const HANDSHAKE: u8 = 22;
const DATA: u8 = 23;
/// The longest record of an encrypted Finished: a hash of 48 bytes, its header, type and tag.
const FINISHED: u16 = 48 + 4 + 1 + 16;

/// The method and the path, if a request of HTTP/1 begins here.
pub fn http_request(bytes: &[u8]) -> Option<String> {
    METHODS.iter().find(|method| bytes.starts_with(method))?;
    let end = bytes.iter().position(|byte| *byte == b'\r' || *byte == b'\n').unwrap_or(bytes.len());
    let line = printable(&bytes[..end]);
    Some(line.rsplit_once(" HTTP/1.").map_or(line.as_str(), |(begin, _)| begin).to_string())
}

/// The status, if an answer of HTTP/1 begins here.
pub fn http_status(bytes: &[u8]) -> Option<u16> {
    if !bytes.starts_with(b"HTTP/1.") || bytes.get(8) != Some(&b' ') {
        return None;
    }
    std::str::from_utf8(bytes.get(9..12)?).ok()?.parse().ok()
}

/// Printable ASCII, so many bytes of it at most.
fn printable(bytes: &[u8]) -> String {
    let shown = |byte: &u8| if (32..127).contains(byte) { char::from(*byte) } else { '?' };
    bytes.iter().take(NAME).map(shown).collect()
}

/// The records of TLS that one end sent in a turn.
#[derive(Clone, Copy, Default, Debug)]
pub struct TlsRecords {
    handshakes: u32,
    ciphers: u32,
    alerts: u32,
    data: u32,
    first_data: u16,
}

impl TlsRecords {
    fn add(&mut self, kind: u8, length: u16) {
        match kind {
            CHANGE_CIPHER => self.ciphers += 1,
            ALERT => self.alerts += 1,
            HANDSHAKE => self.handshakes += 1,
            DATA => {
                self.first_data = if self.data == 0 { length } else { self.first_data };
                self.data += 1;
            }
            _ => {}
        }
    }

    /// Whether these are of a handshake alone; TLS 1.3 sends its Finished as data.
    pub fn is_handshake(&self) -> bool {
        let has_finished = self.ciphers > 0 && self.data == 1 && self.first_data <= FINISHED;
        self.handshakes + self.ciphers > 0 && (self.data == 0 || has_finished)
    }

    pub fn is_alert(&self) -> bool {
        self.alerts > 0 && self.handshakes + self.ciphers + self.data == 0
    }
}

/// Follows the records of TLS in one direction, as long as no byte of a header is missing.
#[derive(Default, Debug)]
pub struct TlsStream {
    header: Vec<u8>,
    /// Bytes until the next header.
    left: usize,
    is_lost: bool,
}

impl TlsStream {
    /// Takes the next bytes of the stream, of which the capture may lack the last.
    pub fn take(&mut self, mut bytes: &[u8], length: usize, records: &mut TlsRecords) {
        let missing = length - bytes.len();
        while !bytes.is_empty() && !self.is_lost {
            let skipped = self.left.min(bytes.len());
            (self.left, bytes) = (self.left - skipped, &bytes[skipped..]);
            let taken = bytes.len().min(5 - self.header.len());
            self.header.extend_from_slice(&bytes[..taken]);
            bytes = &bytes[taken..];
            if self.header.len() == 5 {
                let (kind, size) = (self.header[0], pair(&self.header, 3));
                self.is_lost = !(CHANGE_CIPHER..=DATA + 1).contains(&kind) || self.header[1] != 3;
                records.add(kind, size);
                self.left = usize::from(size);
                self.header.clear();
            }
        }
        self.skip(missing);
    }

    /// Bytes that the capture lacks.
    pub fn skip(&mut self, missing: usize) {
        self.is_lost |= missing > 0 && (missing > self.left || !self.header.is_empty());
        self.left = self.left.saturating_sub(missing);
    }
}

/// The name of the server that a client of TLS asks for (RFC 6066).
pub fn server_name(bytes: &[u8]) -> Option<String> {
    if bytes.first() != Some(&HANDSHAKE) || bytes.get(5) != Some(&1) {
        return None;
    }
    let mut at = 5 + 4 + 2 + 32;
    at += 1 + usize::from(*bytes.get(at)?);
    at += 2 + usize::from(pair(bytes.get(at..at + 2)?, 0));
    at += 1 + usize::from(*bytes.get(at)?) + 2;
    while let Some(head) = bytes.get(at..at + 4) {
        if pair(head, 0) == 0 {
            let size = usize::from(pair(bytes.get(at + 7..at + 9)?, 0));
            return Some(printable(bytes.get(at + 9..at + 9 + size)?));
        }
        at += 4 + usize::from(pair(head, 2));
    }
    None
}

/// The identification of a message of DNS, whether it answers, and its question's name.
pub fn dns_message(bytes: &[u8]) -> Option<(u16, bool, String)> {
    let head = bytes.get(..12)?;
    if pair(head, 4) != 1 {
        return None;
    }
    let (mut at, mut name) = (12, String::new());
    loop {
        let size = usize::from(*bytes.get(at)?);
        if size == 0 || size > 63 || name.len() > NAME {
            break;
        }
        let label = printable(bytes.get(at + 1..at + 1 + size)?);
        name = if name.is_empty() { label } else { format!("{name}.{label}") };
        at += 1 + size;
    }
    Some((pair(head, 0), head[2] & 0x80 != 0, name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_and_answers_of_http() {
        assert_eq!(http_request(b"GET /a?b HTTP/1.1\r\nHost: x").unwrap(), "GET /a?b");
        assert_eq!(http_request(b"GETTING /"), None);
        assert_eq!(http_status(b"HTTP/1.1 404 Not Found\r\n"), Some(404));
        assert_eq!(http_status(b"HTTP/2"), None);
    }

    #[test]
    fn a_record_s_header_may_be_cut_anywhere() {
        let stream = [&[22, 3, 1, 0, 4, 1, 2, 3, 4][..], &[23, 3, 3, 0, 2, 9, 9]].concat();
        for cut in 0..stream.len() {
            let (mut records, mut follower) = (TlsRecords::default(), TlsStream::default());
            follower.take(&stream[..cut], cut, &mut records);
            follower.take(&stream[cut..], stream.len() - cut, &mut records);
            assert_eq!((records.handshakes, records.data, records.first_data), (1, 1, 2));
            assert!(!records.is_handshake());
        }
    }

    #[test]
    fn missing_bytes_of_a_record_s_inside_lose_nothing() {
        let (mut records, mut follower) = (TlsRecords::default(), TlsStream::default());
        follower.take(&[23, 3, 3, 0, 9, 1], 14, &mut records);
        follower.take(&[20, 3, 3, 0, 1, 1, 23, 3, 3, 0, 53], 11, &mut records);
        assert_eq!((records.data, records.ciphers), (2, 1));
    }

    #[test]
    fn a_question_of_dns() {
        let mut query = vec![0, 7, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0];
        query.extend_from_slice(b"\x03www\x02de\x00\x00\x01\x00\x01");
        assert_eq!(dns_message(&query), Some((7, false, "www.de".to_string())));
        query[2] |= 0x80;
        assert!(dns_message(&query).unwrap().1);
        assert_eq!(dns_message(&query[..11]), None);
    }
}
