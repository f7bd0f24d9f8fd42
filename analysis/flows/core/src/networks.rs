//! Names for the networks that a packet passes wrapped up: VLANs and tunnels.

use crate::link_layer::Vlans;
use crate::segment::{Address, FOUR};
use std::collections::HashMap;
use std::net::{Ipv4Addr, Ipv6Addr};

/// VLANs as they are; from `TUNNELS` on the number of a path through tunnels.
pub type Network = u32;

const TUNNELS: Network = 1 << 24;

/// One tunnel, whichever way the packet goes: its kind, its number if that kind has one, its ends.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Tunnel {
    kind: &'static str,
    number: Option<u32>,
    ends: [Address; 2],
    /// The VLANs outside.
    vlans: Vlans,
}

impl Tunnel {
    pub fn new(
        kind: &'static str,
        number: Option<u32>,
        one: Address,
        other: Address,
        vlans: Vlans,
    ) -> Tunnel {
        Tunnel { kind, number, ends: [one.min(other), one.max(other)], vlans }
    }
}

/// Tunnels from the outermost to the innermost, and the VLANs in it.
pub type Path = (Vec<Tunnel>, Vlans);

/// The paths that were met.
#[derive(Default)]
pub struct Networks {
    numbers: HashMap<Path, Network>,
    paths: Vec<Path>,
}

impl Networks {
    pub fn number(&mut self, path: Path) -> Network {
        if path.0.is_empty() {
            return path.1;
        }
        if let Some(number) = self.numbers.get(&path) {
            return *number;
        }
        let number = TUNNELS + self.paths.len() as Network;
        self.paths.push(path.clone());
        self.numbers.insert(path, number);
        number
    }

    /// The name of a network: empty if there is neither VLAN nor tunnel.
    pub fn name(&self, network: Network) -> String {
        if network < TUNNELS {
            return vlans_name(network);
        }
        let (tunnels, vlans) = &self.paths[(network - TUNNELS) as usize];
        let outer = tunnels.iter().flat_map(|tunnel| [vlans_name(tunnel.vlans), name(tunnel)]);
        let parts: Vec<String> = outer.chain([vlans_name(*vlans)]).collect();
        parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(", ")
    }
}

fn vlans_name(vlans: Vlans) -> String {
    match (vlans >> 12, vlans & 0xfff) {
        (0, 0) => String::new(),
        (0, inner) => format!("VLAN {inner}"),
        (outer, inner) => format!("VLAN {outer}, VLAN {inner}"),
    }
}

fn name(tunnel: &Tunnel) -> String {
    let number = tunnel.number.map_or(String::new(), |number| format!(" {number}"));
    let [one, other] = tunnel.ends.map(|end| address_name(&end));
    format!("{}{number} between {one} and {other}", tunnel.kind)
}

pub fn address_name(address: &Address) -> String {
    if address[0] == FOUR {
        Ipv4Addr::from(address[1] as u32).to_string()
    } else if address[0] == 0 && (2..1 << 32).contains(&address[1]) {
        // Before Rust 1.70, its library wrote these as ::0.0.0.2.
        match (address[1] >> 16, address[1] & 0xffff) {
            (0, low) => format!("::{low:x}"),
            (high, low) => format!("::{high:x}:{low:x}"),
        }
    } else {
        Ipv6Addr::from(u128::from(address[0]) << 64 | u128::from(address[1])).to_string()
    }
}
