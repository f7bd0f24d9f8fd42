//! A captured packet, its receiver, and what the formats of capture files have in common.

/// A record of more bytes than this is taken as damage.
pub const LARGEST: u32 = 256 << 20;

/// One captured packet.
pub struct Record<'a> {
    /// Nanoseconds since 1970.
    pub time: i64,
    pub link: u16,
    /// The interface of pcapng, counted in its section.
    pub interface: u16,
    /// Bytes that were on the wire.
    pub length: u32,
    pub bytes: &'a [u8],
}

/// Takes the records; `false` ends the reading.
pub trait Sink {
    fn record(&mut self, record: &Record) -> bool;
    /// What takes the facts that are not of one packet.
    fn accounts(&mut self) -> &mut dyn Accounts;
}

/// Facts that a capture's headers and blocks state.
pub trait Accounts {
    /// A link type and a snap length, once for each.
    fn interface(&mut self, link: u16, snaplen: u32);
    /// The capture itself lost packets.
    fn lost(&mut self, _lost: Dropped) {}
    /// The next record has no time.
    fn timeless(&mut self) {}
}

/// Packets that a capture lost before one of its records, or by an interface's statistics.
#[derive(Clone, Copy)]
pub enum Dropped {
    Before { count: u64, since: i64, until: i64 },
    InAll { count: u64 },
}

/// Why reading ended before the end; the sentences are in Python.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fault {
    Cut,
    Length,
    Block,
    Unpacking,
}

impl Fault {
    pub fn name(self) -> &'static str {
        match self {
            Fault::Cut => "cut",
            Fault::Length => "length",
            Fault::Block => "block",
            Fault::Unpacking => "unpacking",
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Format {
    Pcap,
    PcapNanosecond,
    PcapModified,
    Pcapng,
    Snoop,
}

impl Format {
    pub fn name(self) -> &'static str {
        match self {
            Format::Pcap => "pcap",
            Format::PcapNanosecond => "pcap-nanosecond",
            Format::PcapModified => "pcap-modified",
            Format::Pcapng => "pcapng",
            Format::Snoop => "snoop",
        }
    }
}

/// A number of four bytes in the file's order.
#[inline(always)]
pub fn word(bytes: &[u8], at: usize, big: bool) -> u32 {
    let four = [bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]];
    if big {
        u32::from_be_bytes(four)
    } else {
        u32::from_le_bytes(four)
    }
}
