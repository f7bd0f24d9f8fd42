"""Names for the networks that a packet passes wrapped up: VLANs and tunnels."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator
from dataclasses import dataclass

TUNNELS = 1 << 24
"""From here on a network is the number of a path through tunnels; below, it is its VLANs."""
_FOUR = b"\1" + bytes(7)
"""What the address of an IPv4 packet begins with; see segment.py."""


@dataclass(frozen=True, slots=True)
class Tunnel:
    """One tunnel, whichever way the packet goes: its kind, its number if it has one, its ends."""

    kind: str
    number: int | None
    ends: tuple[bytes, bytes]
    """The lower address first."""
    vlans: int
    """The VLANs outside."""


Path = tuple[tuple[Tunnel, ...], int]
"""Tunnels from the outermost to the innermost, and the VLANs in it."""


class TunnelNetworks:
    """The paths that were met."""

    def __init__(self) -> None:
        self._numbers: dict[Path, int] = {}

    def number(self, path: Path) -> int:
        if not path[0]:
            return path[1]
        return self._numbers.setdefault(path, TUNNELS + len(self._numbers))

    def name(self, network: int) -> str:
        """The name of a network: empty if there is neither VLAN nor tunnel."""
        if network < TUNNELS:
            return ", ".join(_vlans(network))
        tunnels, vlans = list(self._numbers)[network - TUNNELS]
        parts = [part for tunnel in tunnels for part in (*_vlans(tunnel.vlans), _name(tunnel))]
        return ", ".join([*parts, *_vlans(vlans)])


def _vlans(vlans: int) -> Iterator[str]:
    outer, inner = vlans >> 12, vlans & 0xFFF
    yield from (f"VLAN {number}" for number in ([outer] if outer else []) + ([inner] * bool(vlans)))


def _name(tunnel: Tunnel) -> str:
    number = "" if tunnel.number is None else f" {tunnel.number}"
    one, other = map(address_name, tunnel.ends)
    return f"{tunnel.kind}{number} between {one} and {other}"


def address_name(octets: bytes) -> str:
    """Of the 16 octets that an address takes in the ends."""
    if octets.startswith(_FOUR):
        return str(ipaddress.IPv4Address(octets[12:]))
    address = ipaddress.IPv6Address(octets)
    return f"::ffff:{address.ipv4_mapped}" if address.ipv4_mapped else str(address)
