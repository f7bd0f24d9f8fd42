"""Takes the wrapping off packets that hold TCP within.

Fragments, the authentication header, and tunnels. Every layer is a packet of its own, which is
looked at in turn.
"""

from __future__ import annotations

from analysis.flows.plain.fragments import FragmentStore
from analysis.flows.plain.ip_layer import IpLayer, NoSegment, number
from analysis.flows.plain.link_layer import (
    CUT_OFF,
    DAMAGED_IP,
    FRAGMENT,
    NOT_IP,
    NOT_TCP,
    typed_place,
)
from analysis.flows.plain.networks import Path, Tunnel, TunnelNetworks
from analysis.flows.plain.rare_links import labels

_LAYERS = 8
_TCP, _UDP, _GRE, _AUTHENTICATION = 6, 17, 47, 51
Inner = tuple[int, int, str, int | None]
"""Where the IP header below a tunnel begins, its VLANs, and the tunnel's kind and number."""


class Wrappings:
    """What is known of wrapped packets."""

    def __init__(self) -> None:
        self.fragments = FragmentStore()
        self.networks = TunnelNetworks()

    def inner(self, time: int, packet: bytes, wire: int, vlans: int) -> tuple[bytes, int, Path]:
        """The IP packet with TCP that is wrapped in this one, its length on the wire, its path.

        Raises NoSegment.
        """
        path: Path = ((), vlans)
        for _ in range(_LAYERS):
            layer = IpLayer.read(packet, wire)
            if layer.part is not None:
                whole = self.fragments.join(time, packet, layer, layer.part, path)
                if whole is None:
                    raise NoSegment(FRAGMENT)
                packet, wire = whole, len(whole)
            elif layer.protocol == _AUTHENTICATION:
                packet = _without_authentication(packet, layer)
            elif layer.protocol == _TCP:
                return packet, wire, path
            else:
                at, path = _enter(packet, layer, path)
                packet, wire = packet[at:], max(layer.end - at, 0)
        raise NoSegment(NOT_TCP)


def _without_authentication(packet: bytes, layer: IpLayer) -> bytes:
    """IPv4's authentication header (RFC 4302) taken out; in IPv6 it is an extension header."""
    start = layer.start
    if len(packet) < start + 2:
        raise NoSegment(CUT_OFF)
    size = (packet[start + 1] + 2) * 4
    if len(packet) < start + size:
        raise NoSegment(CUT_OFF)
    length = layer.end - size
    if layer.end > 65535 or length < 0:
        raise NoSegment(DAMAGED_IP)
    made = bytearray(packet[:start] + packet[start + size :])
    made[9], made[2:4] = packet[start], length.to_bytes(2, "big")
    return bytes(made)


def _enter(packet: bytes, layer: IpLayer, path: Path) -> tuple[int, Path]:
    """Where the inner packet begins, and the path with its tunnel."""
    at = layer.start
    if layer.protocol in (4, 41):
        inner: Inner = (at, 0, _within(packet, layer.protocol), None)
    elif layer.protocol == _GRE:
        inner = _routing_encapsulation(packet, at)
    elif layer.protocol == _UDP:
        _hold(packet, at + 8)
        reader = {4789: _vxlan, 8472: _vxlan, 6081: _geneve, 2152: _user_plane}.get(
            number(packet, at + 2, 2)
        )
        if reader is None:
            raise NoSegment(NOT_TCP)
        inner = reader(packet, at + 8)
    else:
        raise NoSegment(NOT_TCP)
    place, vlans, kind, identifier = inner
    _hold(packet, place)
    low, high = sorted((layer.source, layer.destination))
    return place, ((*path[0], Tunnel(kind, identifier, (low, high), path[1])), vlans)


def _hold(packet: bytes, end: int) -> None:
    if len(packet) < end:
        raise NoSegment(CUT_OFF)


def _within(packet: bytes, protocol: int) -> str:
    is_four = packet[0] >> 4 == 4
    if protocol == 4:
        return "IPIP" if is_four else "4in6"
    return "6in4" if is_four else "6in6"


def _routing_encapsulation(packet: bytes, at: int) -> Inner:
    """GRE (RFC 2784) with key and sequence number (RFC 2890).

    Also as NVGRE (RFC 7637) and ERSPAN (draft-foschiano-erspan).
    """
    _hold(packet, at + 4)
    marks, kind = number(packet, at, 2), number(packet, at + 2, 2)
    if marks & 0x4007:  # routing (RFC 1701), or PPTP's version
        raise NoSegment(NOT_TCP)
    key = at + (8 if marks & 0x8000 else 4)
    end = key + (4 if marks & 0x2000 else 0) + (4 if marks & 0x1000 else 0)
    _hold(packet, end)
    identifier = number(packet, key) if marks & 0x2000 else None
    if kind in (0x0800, 0x86DD):
        return end, 0, "GRE", identifier
    if kind == 0x6558:
        return *_typed(packet, end + 12), "GRE", identifier
    if kind in (0x8847, 0x8848):
        place = labels(packet, end)
        if place is None:
            raise NoSegment(NOT_IP)
        return place, 0, "GRE", identifier
    if kind == 0x88BE:
        return *_typed(packet, end + (8 if marks & 0x1000 else 0) + 12), "ERSPAN", identifier
    if kind == 0x22EB:
        _hold(packet, end + 12)
        return (
            *_typed(packet, end + (20 if packet[end + 11] & 1 else 12) + 12),
            "ERSPAN",
            identifier,
        )
    raise NoSegment(NOT_TCP)


def _typed(packet: bytes, at: int) -> tuple[int, int]:
    place = typed_place(packet, at)
    if place is None:
        raise NoSegment(NOT_IP)
    return place


def _vxlan(packet: bytes, at: int) -> Inner:
    """VXLAN (RFC 7348)."""
    _hold(packet, at + 8)
    if not packet[at] & 8:
        raise NoSegment(NOT_TCP)
    return *_typed(packet, at + 8 + 12), "VXLAN", number(packet, at + 4) >> 8


def _geneve(packet: bytes, at: int) -> Inner:
    """Geneve (RFC 8926)."""
    _hold(packet, at + 8)
    kind, identifier = number(packet, at + 2, 2), number(packet, at + 4) >> 8
    if packet[at] & 0xC0 or kind not in (0x0800, 0x86DD, 0x6558):
        raise NoSegment(NOT_TCP)
    end = at + 8 + (packet[at] & 0x3F) * 4
    place, vlans = _typed(packet, end + 12) if kind == 0x6558 else (end, 0)
    return place, vlans, "Geneve", identifier


def _user_plane(packet: bytes, at: int) -> Inner:
    """GTP-U (3GPP TS 29.281): version 1, a G-PDU, with optional fields and extension headers.

    Its tunnel's number is another for each direction.
    """
    _hold(packet, at + 8)
    if packet[at] & 0xF0 != 0x30 or packet[at + 1] != 0xFF:
        raise NoSegment(NOT_TCP)
    end = at + 8
    if packet[at] & 7:
        _hold(packet, end + 4)
        following = packet[end + 3] if packet[at] & 4 else 0
        end += 4
        while following:
            _hold(packet, end + 1)
            size = packet[end] * 4
            if not size:
                raise NoSegment(NOT_TCP)
            end += size
            _hold(packet, end)
            following = packet[end - 1]
    return end, 0, "GTP-U", None
