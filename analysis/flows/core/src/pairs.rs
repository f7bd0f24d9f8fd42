//! Numbers for the pairs of ends that talk to each other, which replace the addresses.
//!
//! Ends in two networks (VLANs, tunnels) are two pairs. But the two directions of a pair may pass
//! different ones: the first packet of a direction that none was seen of belongs to the pair of its
//! own network, and if there is none, to the newest pair of these ends that lacks this direction.

use crate::networks::Network;
use crate::segment::{Address, Ends};
use hashbrown::HashTable;
use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};

/// Pairs that are found by their ports alone, if none since had ports that fall on the same place.
const RECENT: usize = 1024;
/// No network: no packet was seen.
const UNSEEN: Network = Network::MAX;

/// The ends as in the first packet of a pair, and the network of the other direction. It has a line
/// of the processor's cache for itself.
#[derive(Clone)]
#[repr(align(64))]
struct Known {
    ends: Ends,
    back: Network,
}

impl Known {
    /// Whether packets with these ends go this pair's way, and if so, whether they are turned.
    #[inline(always)]
    fn way(&self, ends: &Ends) -> Option<bool> {
        if self.ends.network == ends.network && self.ends.same(ends) {
            Some(false)
        } else if self.back == ends.network && self.ends.opposite(ends) {
            Some(true)
        } else {
            None
        }
    }

    /// Whether the pair lacks the direction of these ends.
    fn lacks(&self, ends: &Ends) -> bool {
        self.back == UNSEEN && self.ends.opposite(ends) && !self.ends.same(ends)
    }
}

pub struct Pairs {
    known: Vec<Known>,
    /// By the ends and the network of either direction.
    places: HashTable<(u32, Network)>,
    /// By the ends alone: the newest pair.
    newest: HashTable<u32>,
    seeds: [u64; 2],
    recent: Vec<u32>,
}

impl Default for Pairs {
    fn default() -> Pairs {
        let state = RandomState::new();
        let seed = |number: u8| {
            let mut hasher = state.build_hasher();
            hasher.write_u8(number);
            hasher.finish()
        };
        Pairs {
            known: Vec::new(),
            places: HashTable::new(),
            newest: HashTable::new(),
            seeds: [seed(1), seed(2)],
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
        if let Some(turned) = self.known.get(recent as usize).and_then(|known| known.way(ends)) {
            return (recent, turned);
        }
        let (found, turned) = self.look_up(ends);
        self.recent[place] = found;
        (found, turned)
    }

    fn look_up(&mut self, ends: &Ends) -> (u32, bool) {
        let hash = hash(ends, &self.seeds);
        let (known, in_network) = (&self.known, in_network(hash, ends.network));
        let pair = |at: u32| &known[at as usize];
        let goes = |place: &(u32, Network)| pair(place.0).way(ends).is_some();
        if let Some((at, _)) = self.places.find(in_network, goes) {
            return (*at, pair(*at).way(ends) == Some(true));
        }
        let lacks = |place: &(u32, Network)| place.1 == ends.network && pair(place.0).lacks(ends);
        let alike = self.places.find(in_network, lacks).map(|place| place.0);
        let newest = || self.newest.find(hash, |at| pair(*at).lacks(ends)).copied();
        match alike.or_else(newest) {
            Some(at) => (self.answered(at, ends.network, hash), true),
            None => (self.add(ends, hash), false),
        }
    }

    /// The pair's other direction was seen.
    #[cold]
    fn answered(&mut self, at: u32, network: Network, hash: u64) -> u32 {
        let known = &mut self.known[at as usize];
        known.back = network;
        if known.ends.network != network {
            self.place(at, network, hash);
        }
        at
    }

    #[cold]
    fn add(&mut self, ends: &Ends, hash: u64) -> u32 {
        let at = self.known.len() as u32;
        self.known.push(Known { ends: *ends, back: UNSEEN });
        self.place(at, ends.network, hash);
        let known = &self.known;
        let alike = |other: &u32| {
            let other = &known[*other as usize].ends;
            other.same(ends) || other.opposite(ends)
        };
        let seeds = &self.seeds;
        match self.newest.find_mut(hash, alike) {
            Some(newest) => *newest = at,
            None => {
                let hash_of = |at: &u32| self::hash(&known[*at as usize].ends, seeds);
                self.newest.insert_unique(hash, at, hash_of);
            }
        }
        at
    }

    fn place(&mut self, at: u32, network: Network, hash: u64) {
        let (known, seeds) = (&self.known, &self.seeds);
        self.places.insert_unique(in_network(hash, network), (at, network), |place| {
            in_network(self::hash(&known[place.0 as usize].ends, seeds), place.1)
        });
    }

    /// Forgets all but these pairs, which ascend and are numbered anew, from 0.
    pub fn keep(&mut self, kept: &[u32]) {
        let known = kept.iter().map(|at| self.known[*at as usize].clone()).collect::<Vec<_>>();
        *self = Pairs { seeds: self.seeds, ..Pairs::default() };
        for Known { ends, back } in known {
            let hash = hash(&ends, &self.seeds);
            let at = self.add(&ends, hash);
            if back != UNSEEN {
                self.answered(at, back, hash);
            }
        }
    }

    /// The ends of this pair, as sent by its first packet's source, or `turned`.
    pub fn ends(&self, pair: u32, turned: bool) -> Ends {
        let Ends { source, destination, ports, network } = self.known[pair as usize].ends;
        if turned {
            let ports = ports.rotate_left(16);
            Ends { source: destination, destination: source, ports, network }
        } else {
            Ends { source, destination, ports, network }
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

fn in_network(hash: u64, network: Network) -> u64 {
    multiply(hash ^ u64::from(network), 0x9e37_79b9_7f4a_7c15)
}

fn multiply(left: u64, right: u64) -> u64 {
    let product = u128::from(left) * u128::from(right);
    product as u64 ^ (product >> 64) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    const AWAY: Ends =
        Ends { source: [1, 2], destination: [3, 4], ports: 7 << 16 | 80, network: 0 };
    const BACK: Ends =
        Ends { source: [3, 4], destination: [1, 2], ports: 80 << 16 | 7, network: 0 };

    fn within(ends: Ends, network: Network) -> Ends {
        Ends { network, ..ends }
    }

    #[test]
    fn both_ways_are_one_pair() {
        let mut pairs = Pairs::default();
        assert_eq!(pairs.find(&AWAY), (0, false));
        assert_eq!(pairs.find(&Ends { ports: 8 << 16 | 80, ..AWAY }), (1, false));
        assert_eq!(pairs.find(&BACK), (0, true));
        assert!(pairs.ends(0, true).same(&BACK) && pairs.ends(0, false).same(&AWAY));
    }

    #[test]
    fn networks_are_kept_apart() {
        let mut pairs = Pairs::default();
        assert_eq!(pairs.find(&within(AWAY, 1)), (0, false));
        assert_eq!(pairs.find(&within(AWAY, 2)), (1, false));
        assert_eq!(pairs.find(&within(BACK, 2)), (1, true));
        assert_eq!(pairs.find(&within(BACK, 1)), (0, true));
        assert_eq!(pairs.find(&within(AWAY, 2)), (1, false));
    }

    #[test]
    fn kept_pairs_are_found_by_their_new_numbers() {
        let mut pairs = Pairs::default();
        for port in 0..10 {
            pairs.find(&Ends { ports: port << 16 | 80, ..AWAY });
        }
        pairs.find(&BACK);
        pairs.keep(&[3, 7]);
        assert_eq!(pairs.find(&BACK), (1, true));
        assert_eq!(pairs.find(&Ends { ports: 3 << 16 | 80, ..AWAY }), (0, false));
        assert_eq!(pairs.find(&Ends { ports: 5 << 16 | 80, ..AWAY }), (2, false));
    }

    #[test]
    fn an_answer_may_pass_another_network() {
        let mut pairs = Pairs::default();
        assert_eq!(pairs.find(&within(AWAY, 1)), (0, false));
        assert_eq!(pairs.find(&within(BACK, 2)), (0, true));
        assert_eq!(pairs.find(&within(BACK, 2)), (0, true));
        assert_eq!(pairs.find(&within(AWAY, 2)), (1, false));
    }
}
