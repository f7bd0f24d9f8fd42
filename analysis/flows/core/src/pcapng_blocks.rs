//! pcapng: sections, interfaces and packet blocks. Format: draft-ietf-opsawg-pcapng.

use crate::packet_records::{word, Dropped, Fault, Record, Sink, LARGEST};
use crate::stream::Source;

const SECTION: u32 = 0x0a0d_0d0a;
const INTERFACE: u32 = 1;
const PACKET: u32 = 2;
const SIMPLE: u32 = 3;
const STATISTICS: u32 = 5;
const ENHANCED: u32 = 6;
/// Later times than this, the year 2116, are taken for it: differences of times then never
/// overflow.
const LATEST: i64 = 1 << 62;
/// More interfaces than this in a section are taken as damage.
const MOST_INTERFACES: usize = 65536;

#[derive(Clone, Copy)]
struct Interface {
    link: u16,
    snaplen: u32,
    /// Units in a second.
    resolution: u128,
    /// Seconds to add.
    offset: i64,
    /// Packets that its statistics say were lost so far.
    lost: u64,
}

/// What a section has stated so far.
#[derive(Default)]
pub struct Section {
    big: bool,
    interfaces: Vec<Interface>,
    /// The time of the last packet: simple packet blocks have none of their own.
    time: i64,
}

impl Section {
    /// Reads the blocks that are there, also of the sections that follow; what is wrong if what
    /// remains is no block.
    pub fn read(&mut self, source: &mut Source, sink: &mut impl Sink) -> Option<Fault> {
        while source.need(12) {
            let kind = word(source.window(), 0, self.big);
            if kind == SECTION {
                match word(source.window(), 8, true) {
                    0x1a2b_3c4d => self.big = true,
                    0x4d3c_2b1a => self.big = false,
                    _ => return Some(Fault::Block),
                }
                self.interfaces.clear();
            }
            let length = word(source.window(), 4, self.big);
            if !(12..=LARGEST).contains(&length) {
                return Some(Fault::Length);
            }
            let whole = (length as usize + 3) & !3;
            if !source.need(whole) {
                return Some(Fault::Cut);
            }
            let body = &source.window()[8..length as usize - 4];
            match self.block(kind, body, sink) {
                Ok(true) => source.take(whole),
                Ok(false) => return None,
                Err(fault) => return Some(fault),
            }
        }
        if source.window().is_empty() {
            None
        } else {
            Some(Fault::Cut)
        }
    }

    /// Whether to go on after this block.
    fn block(&mut self, kind: u32, body: &[u8], sink: &mut impl Sink) -> Result<bool, Fault> {
        match kind {
            INTERFACE => self.interface(body, sink),
            ENHANCED => self.packet(
                body,
                if body.len() >= 4 { word(body, 0, self.big) as usize } else { 0 },
                sink,
            ),
            PACKET if body.len() >= 4 => {
                self.packet(body, usize::from(half(body, 0, self.big)), sink)
            }
            SIMPLE => self.simple(body, sink),
            STATISTICS => self.statistics(body, sink),
            _ => Ok(true),
        }
    }

    fn interface(&mut self, body: &[u8], sink: &mut impl Sink) -> Result<bool, Fault> {
        if body.len() < 8 || self.interfaces.len() >= MOST_INTERFACES {
            return Err(Fault::Block);
        }
        let (link, snaplen) = (half(body, 0, self.big), word(body, 4, self.big));
        let mut interface = Interface { link, snaplen, resolution: 1_000_000, offset: 0, lost: 0 };
        self.options(&body[8..], &mut interface);
        sink.accounts().interface(link, snaplen);
        self.interfaces.push(interface);
        Ok(true)
    }

    /// if_tsresol (9) and if_tsoffset (14); whatever is cut off or unknown is passed over.
    fn options(&self, mut rest: &[u8], interface: &mut Interface) {
        while rest.len() >= 4 {
            let (code, length) = (half(rest, 0, self.big), usize::from(half(rest, 2, self.big)));
            let padded = (length + 3) & !3;
            if code == 0 || rest.len() < 4 + length {
                return;
            }
            if code == 9 && length >= 1 {
                interface.resolution = resolution(rest[4]);
            }
            if code == 14 && length >= 8 {
                let (first, second) =
                    (u64::from(word(rest, 4, self.big)), u64::from(word(rest, 8, self.big)));
                interface.offset =
                    (if self.big { first << 32 | second } else { second << 32 | first }) as i64;
            }
            rest = &rest[(4 + padded).min(rest.len())..];
        }
    }

    /// Enhanced and old packet blocks have the same layout after their first four bytes.
    fn packet(
        &mut self,
        body: &[u8],
        interface: usize,
        sink: &mut impl Sink,
    ) -> Result<bool, Fault> {
        if body.len() < 20 {
            return Err(Fault::Block);
        }
        let about = *self.interfaces.get(interface).ok_or(Fault::Block)?;
        let captured = word(body, 12, self.big) as usize;
        if captured > body.len() - 20 {
            return Err(Fault::Length);
        }
        let units = u64::from(word(body, 4, self.big)) << 32 | u64::from(word(body, 8, self.big));
        let before = std::mem::replace(&mut self.time, about.nanoseconds(units));
        let length = word(body, 16, self.big).max(captured as u32);
        let padded = 20 + ((captured + 3) & !3);
        if body.len() >= padded + 12 {
            if let Some(count) = self.number(&body[padded..], 4).filter(|count| *count > 0) {
                let since = if before == 0 { self.time } else { before };
                sink.accounts().lost(Dropped::Before { count, since, until: self.time });
            }
        }
        Ok(sink.record(&Record {
            time: self.time,
            link: about.link,
            interface: interface as u16,
            length,
            bytes: &body[20..20 + captured],
        }))
    }

    /// An interface's packets lost by it or the system, isb_ifdrop (5) and isb_osdrop (7).
    fn statistics(&mut self, body: &[u8], sink: &mut impl Sink) -> Result<bool, Fault> {
        if body.len() < 12 {
            return Err(Fault::Block);
        }
        let lost = [5, 7].iter().filter_map(|code| self.number(&body[12..], *code)).sum();
        if let Some(interface) = self.interfaces.get_mut(word(body, 0, self.big) as usize) {
            interface.lost = interface.lost.max(lost);
        }
        let count = self.interfaces.iter().map(|interface| interface.lost).sum();
        sink.accounts().lost(Dropped::InAll { count });
        Ok(true)
    }

    /// A number of 64 bits among options.
    #[cold]
    fn number(&self, mut rest: &[u8], wanted: u16) -> Option<u64> {
        while rest.len() >= 4 {
            let (code, length) = (half(rest, 0, self.big), usize::from(half(rest, 2, self.big)));
            if code == 0 || rest.len() < 4 + length {
                return None;
            }
            if code == wanted && length == 8 {
                let halves = [4, 8].map(|at| u64::from(word(rest, at, self.big)));
                let [high, low] = if self.big { halves } else { [halves[1], halves[0]] };
                return Some(high << 32 | low);
            }
            rest = &rest[(4 + ((length + 3) & !3)).min(rest.len())..];
        }
        None
    }

    fn simple(&mut self, body: &[u8], sink: &mut impl Sink) -> Result<bool, Fault> {
        let about = *self.interfaces.first().ok_or(Fault::Block)?;
        if body.len() < 4 {
            return Err(Fault::Block);
        }
        let length = word(body, 0, self.big);
        let most = if about.snaplen == 0 { length } else { length.min(about.snaplen) };
        let captured = (most as usize).min(body.len() - 4);
        sink.accounts().timeless();
        Ok(sink.record(&Record {
            time: self.time,
            link: about.link,
            interface: 0,
            length,
            bytes: &body[4..4 + captured],
        }))
    }
}

impl Interface {
    #[inline]
    fn nanoseconds(&self, units: u64) -> i64 {
        let since = match self.resolution {
            1_000_000_000 => u128::from(units),
            1_000_000 => u128::from(units) * 1000,
            other => u128::from(units) * 1_000_000_000 / other,
        };
        let since = i64::try_from(since).unwrap_or(i64::MAX);
        since.saturating_add(self.offset.saturating_mul(1_000_000_000)).clamp(0, LATEST)
    }
}

fn half(bytes: &[u8], at: usize, big: bool) -> u16 {
    let two = [bytes[at], bytes[at + 1]];
    if big {
        u16::from_be_bytes(two)
    } else {
        u16::from_le_bytes(two)
    }
}

/// Units in a second: a power of ten, or with the highest bit set of two. What a u64 cannot use is
/// as fine as it can.
fn resolution(byte: u8) -> u128 {
    let power = u32::from(byte & 0x7f);
    if byte & 0x80 != 0 {
        1 << power.min(64)
    } else {
        10u128.pow(power.min(20))
    }
}
