//! Puts fragments of IP packets together (RFC 791, RFC 8200, section 4.5). As Linux does, a packet
//! is given up if fragments overlap (RFC 5722), after 30 seconds, or, the oldest first, if all
//! that wait take more than 4 MiB.

use crate::ip_layer::{FragmentPart, IpLayer};
use crate::networks::Path;
use crate::segment::Address;
use std::collections::{BTreeMap, HashMap, VecDeque};

/// Nanoseconds for which the fragments of a packet wait for each other.
const PATIENCE: i64 = 30_000_000_000;
const MOST: usize = 4 << 20;
/// What a fragment takes beside its bytes.
const OVERHEAD: usize = 256;
/// The longest payload: the field for the length has 16 bits.
const LONGEST: u32 = 65535;

/// What the fragments of one packet have in common, and where they were seen.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Key {
    identification: u32,
    /// 0 in IPv6, where it does not count.
    protocol: u8,
    ends: [Address; 2],
    path: Path,
}

/// The bytes that were captured of a fragment, and how many there were.
struct Piece {
    length: u32,
    bytes: Vec<u8>,
}

#[derive(Default)]
struct Waiting {
    begun: i64,
    /// Records of this packet so far, copies of fragments included.
    records: u64,
    size: usize,
    /// The header of the whole packet, from the first fragment.
    header: Option<Vec<u8>>,
    pieces: BTreeMap<u32, Piece>,
    present: u32,
    total: Option<u32>,
    congested: bool,
    /// Fragments overlapped, or cannot belong together: the packet is never whole.
    spoilt: bool,
}

#[derive(Default)]
pub struct Fragments {
    waiting: HashMap<Key, Waiting>,
    /// The keys, the oldest first, with the time of their beginning.
    order: VecDeque<(i64, Key)>,
    size: usize,
    /// Records that are part of a packet which another record made whole.
    pub joined: u64,
}

impl Fragments {
    /// Takes the fragment that `bytes` begin with; the whole packet if this was the last that
    /// lacked.
    pub fn join(
        &mut self,
        time: i64,
        bytes: &[u8],
        layer: &IpLayer,
        part: &FragmentPart,
        path: &Path,
    ) -> Option<Vec<u8>> {
        self.forget(time);
        let protocol = if bytes[0] >> 4 == 4 { layer.protocol } else { 0 };
        let ends = [layer.source, layer.destination];
        let key = Key { identification: part.identification, protocol, ends, path: path.clone() };
        let order = &mut self.order;
        let waiting = self.waiting.entry(key.clone()).or_insert_with(|| {
            order.push_back((time, key.clone()));
            Waiting { begun: time, ..Waiting::default() }
        });
        self.size += waiting.take(bytes, layer, part);
        if !waiting.is_whole() {
            self.bound();
            return None;
        }
        let waiting = self.waiting.remove(&key)?;
        self.size -= waiting.size;
        self.joined += waiting.records - 1;
        waiting.whole()
    }

    /// Gives up what has waited too long.
    fn forget(&mut self, time: i64) {
        while self.order.front().map_or(false, |(begun, _)| time - begun > PATIENCE) {
            self.drop_oldest();
        }
    }

    fn bound(&mut self) {
        while self.size > MOST {
            self.drop_oldest();
        }
    }

    fn drop_oldest(&mut self) {
        if let Some((begun, key)) = self.order.pop_front() {
            // The key may have been completed, and come again since.
            if self.waiting.get(&key).map_or(false, |waiting| waiting.begun == begun) {
                self.size -= self.waiting.remove(&key).map_or(0, |waiting| waiting.size);
            }
        }
    }
}

impl Waiting {
    /// The memory that the fragment takes.
    fn take(&mut self, bytes: &[u8], layer: &IpLayer, part: &FragmentPart) -> usize {
        self.records += 1;
        let length = layer.end - layer.start as u32;
        let end = part.offset.saturating_add(length);
        if self.spoilt || self.has(part.offset, end) {
            return self.grow(0);
        }
        if self.contradicts(part, length) {
            self.spoilt = true;
            self.pieces.clear();
            return self.grow(0);
        }
        self.congested |= congested(bytes);
        if part.offset == 0 {
            let mut header = bytes[..part.header].to_vec();
            header[part.names_next] = layer.protocol;
            self.header = Some(header);
        }
        if !part.has_more {
            self.total = Some(end);
        }
        let there = bytes.len().min(layer.end as usize);
        let bytes = bytes.get(layer.start..there).unwrap_or(&[]).to_vec();
        let size = bytes.len();
        self.present += length;
        self.pieces.insert(part.offset, Piece { length, bytes });
        self.grow(size)
    }

    fn grow(&mut self, bytes: usize) -> usize {
        self.size += OVERHEAD + bytes;
        OVERHEAD + bytes
    }

    /// Whether a fragment holds all of it: a copy, as from a mirror port.
    fn has(&self, begin: u32, end: u32) -> bool {
        self.pieces
            .range(..=begin)
            .next_back()
            .map_or(false, |(at, piece)| end <= at + piece.length && begin < end)
    }

    fn contradicts(&self, part: &FragmentPart, length: u32) -> bool {
        let end = part.offset.saturating_add(length);
        let before = self.pieces.range(..=part.offset).next_back();
        let after = self.pieces.range(part.offset..).next();
        let last = self.pieces.iter().next_back().map_or(0, |(at, piece)| at + piece.length);
        length == 0
            || end > LONGEST
            || part.has_more && length % 8 != 0
            || before.map_or(false, |(at, piece)| at + piece.length > part.offset)
            || after.map_or(false, |(at, _)| *at < end)
            || self.total.map_or(false, |total| end > total || !part.has_more)
            || !part.has_more && last > end
    }

    fn is_whole(&self) -> bool {
        !self.spoilt && self.header.is_some() && self.total == Some(self.present)
    }

    /// The packet, up to the first byte that was not captured; None if it is too long to be one.
    fn whole(self) -> Option<Vec<u8>> {
        let mut packet = self.header?;
        let version = packet[0] >> 4;
        let length = if version == 4 { packet.len() } else { packet.len() - 40 };
        let length = (length as u32 + self.present).try_into().ok().map(u16::to_be_bytes)?;
        let at = if version == 4 { 2 } else { 4 };
        packet[at..at + 2].copy_from_slice(&length);
        if version == 4 {
            packet[6..8].copy_from_slice(&[0, 0]);
        }
        if self.congested {
            packet[1] |= if version == 4 { 3 } else { 0x30 };
        }
        for piece in self.pieces.into_values() {
            packet.extend_from_slice(&piece.bytes);
            if piece.bytes.len() < piece.length as usize {
                break;
            }
        }
        Some(packet)
    }
}

/// Whether a router marked it: then the whole packet is marked (RFC 3168, section 5.3).
fn congested(bytes: &[u8]) -> bool {
    let service = if bytes[0] >> 4 == 4 { bytes[1] } else { bytes[1] >> 4 };
    service & 3 == 3
}
