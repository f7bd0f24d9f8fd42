//! Numbers for the pairs of ends that talk to each other, which replace the addresses.

use crate::segment::{Address, Ends};
use hashbrown::HashTable;
use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;

/// Pairs that are found by their ports alone, if none since had ports that fall on the same place.
const RECENT: usize = 1024;

pub struct Pairs {
    /// The ends as in the first packet of each pair.
    known: Vec<Ends>,
    places: HashTable<u32>,
    seeds: [u64; 2],
    recent: Vec<u32>,
}

impl Default for Pairs {
    fn default() -> Pairs {
        let state = RandomState::new();
        Pairs {
            known: Vec::new(),
            places: HashTable::new(),
            seeds: [state.hash_one(1u8), state.hash_one(2u8)],
            recent: vec![0; RECENT],
        }
    }
}

impl Pairs {
    /// The pair's number, from 0, and whether the ends are the other way round than in its first
    /// packet.
    #[inline(always)]
    pub fn find(&mut self, ends: &Ends) -> (u32, bool) {
        let place = (ends.ports ^ ends.ports >> 16) as usize % RECENT;
        let recent = self.recent[place];
        if let Some(known) = self.known.get(recent as usize) {
            if known.same(ends) {
                return (recent, false);
            }
            if known.opposite(ends) {
                return (recent, true);
            }
        }
        let found = self.look_up(ends);
        self.recent[place] = found;
        (found, !self.known[found as usize].same(ends))
    }

    fn look_up(&mut self, ends: &Ends) -> u32 {
        let hash = hash(ends, &self.seeds);
        let known = &self.known;
        let found = self.places.find(hash, |at| {
            let known = &known[*at as usize];
            known.same(ends) || known.opposite(ends)
        });
        match found {
            Some(at) => *at,
            None => self.add(ends, hash),
        }
    }

    #[cold]
    fn add(&mut self, ends: &Ends, hash: u64) -> u32 {
        let at = self.known.len() as u32;
        self.known.push(*ends);
        let (known, seeds) = (&self.known, &self.seeds);
        self.places.insert_unique(hash, at, |at| self::hash(&known[*at as usize], seeds));
        at
    }

    /// The ends of this pair, as sent by its first packet's source, or `turned`.
    pub fn ends(&self, pair: u32, turned: bool) -> Ends {
        let Ends { source, destination, ports } = self.known[pair as usize];
        if turned {
            Ends { source: destination, destination: source, ports: ports.rotate_left(16) }
        } else {
            Ends { source, destination, ports }
        }
    }
}

/// The same for both directions. Seeds of the process keep chosen addresses from falling together.
fn hash(ends: &Ends, seeds: &[u64; 2]) -> u64 {
    let one = fold(&ends.source, ends.ports >> 16, seeds);
    let two = fold(&ends.destination, ends.ports & 0xffff, seeds);
    multiply(one.wrapping_add(two), seeds[0] | 1)
}

fn fold(address: &Address, port: u32, seeds: &[u64; 2]) -> u64 {
    multiply(address[1] ^ seeds[0], address[0] ^ seeds[1] ^ u64::from(port) << 16)
}

fn multiply(left: u64, right: u64) -> u64 {
    let product = u128::from(left) * u128::from(right);
    product as u64 ^ (product >> 64) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_ways_are_one_pair() {
        let mut pairs = Pairs::default();
        let ends = |port: u32| Ends { source: [1, 2], destination: [3, 4], ports: port << 16 | 80 };
        let turned = Ends { source: [3, 4], destination: [1, 2], ports: 80 << 16 | 7 };
        assert_eq!(pairs.find(&ends(7)), (0, false));
        assert_eq!(pairs.find(&ends(8)), (1, false));
        assert_eq!(pairs.find(&turned), (0, true));
        assert!(pairs.ends(0, true).same(&turned) && pairs.ends(1, false).same(&ends(8)));
    }
}
