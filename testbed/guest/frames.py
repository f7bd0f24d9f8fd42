"""Frames of Ethernet as bytes: read down to TCP's flags, answered by RST and ICMP, damaged."""

import struct
from dataclasses import dataclass
from functools import cached_property
from random import Random

ETHERNET = 14
_IPV4, _IPV6 = 0x0800, 0x86DD
TCP, UDP, ICMP, ICMPV6 = 6, 17, 1, 58
_FIN, _SYN, _RST, _ACK = 0x01, 0x02, 0x04, 0x10
_TCP_HEADER, _UDP_HEADER = struct.Struct(">HHIIBBHHH"), 8
_TTL = 64
_QUOTED = 512  # bytes of a packet that an ICMP message quotes at most
_UNREACHABLE: dict[str, tuple[tuple[int, int], tuple[int, int]]] = {  # type and code, by version
    "closed": ((3, 3), (1, 4)),
    "host": ((3, 1), (1, 3)),
    "network": ((3, 0), (1, 0)),
    "prohibited": ((3, 13), (1, 1)),
    "too big": ((3, 4), (2, 0)),
}


@dataclass(frozen=True)
class EthernetFrame:
    """A frame with its fields. One that is no packet of IP has the protocol -1."""

    data: bytes

    @cached_property
    def kind(self) -> int:
        return int.from_bytes(self.data[12:ETHERNET])

    @cached_property
    def head(self) -> int:
        """Bytes of IP's header."""
        return (self.data[ETHERNET] & 15) * 4 if self.kind == _IPV4 else 40

    @cached_property
    def protocol(self) -> int:
        if self.kind == _IPV4:
            return self.data[23]
        return self.data[20] if self.kind == _IPV6 else -1

    @cached_property
    def size(self) -> int:
        """Bytes of IP, also of a frame that was cut."""
        if self.kind == _IPV4:
            return int.from_bytes(self.data[16:18])
        return 40 + int.from_bytes(self.data[18:20]) if self.kind == _IPV6 else len(self.data)

    @cached_property
    def ends(self) -> tuple[bytes, bytes]:
        """Addresses of source and target; empty of what is no IP."""
        if self.protocol < 0:
            return b"", b""
        first, length = (26, 4) if self.kind == _IPV4 else (22, 16)
        middle = first + length
        return self.data[first:middle], self.data[middle : middle + length]

    @cached_property
    def _inner(self) -> int:
        return ETHERNET + self.head

    @cached_property
    def ports(self) -> tuple[int, ...]:
        """Ports of source and target; none of what is neither TCP nor UDP."""
        if self.protocol not in (TCP, UDP):
            return ()
        return struct.unpack_from(">HH", self.data, self._inner)

    @cached_property
    def flags(self) -> int:
        """TCP's flags; 0 of others."""
        return self.data[self._inner + 13] if self.protocol == TCP else 0

    @cached_property
    def payload(self) -> int:
        """Bytes behind the header of TCP or UDP."""
        if self.protocol == UDP:
            return self.size - self.head - _UDP_HEADER
        offset = (self.data[self._inner + 12] >> 4) * 4 if self.protocol == TCP else 0
        return self.size - self.head - offset

    @cached_property
    def numbers(self) -> tuple[int, int]:
        """The sequence number behind this segment of TCP, and the acknowledged one."""
        first, acknowledged = struct.unpack_from(">II", self.data, self._inner + 4)
        of_flags = sum(bool(self.flags & bit) for bit in (_FIN, _SYN))
        return (first + self.payload + of_flags) & 0xFFFFFFFF, acknowledged

    @cached_property
    def first(self) -> int:
        """The sequence number of this segment of TCP."""
        return int.from_bytes(self.data[self._inner + 4 : self._inner + 8])

    def reset(self, number: int) -> bytes:
        """Return this segment as a RST with that sequence number."""
        return self.data[:ETHERNET] + _reset(self.ends, self.ports, number, self.numbers[1])

    def reset_back(self) -> bytes:
        """Return the packet with the RST that its receiver would answer."""
        ack, number = self.numbers
        return _reset(self.ends[::-1], self.ports[::-1], number if self.flags & _ACK else 0, ack)

    def unreachable(self, answer: str, mtu: int) -> bytes:
        """Return the packet of ICMP that quotes this one."""
        is_ipv4 = self.kind == _IPV4
        kind, code = _UNREACHABLE[answer][0 if is_ipv4 else 1]
        rest = struct.pack(">I", mtu if answer == "too big" else 0)
        quoted = self.data[ETHERNET : ETHERNET + _QUOTED]
        body = struct.pack(">BBH", kind, code, 0) + rest + quoted
        return _packet(*self.ends[::-1], ICMP if is_ipv4 else ICMPV6, body, 2)

    def damaged(self, chance: Random) -> bytes:
        """Return the frame with one bit flipped behind IP's header."""
        data = bytearray(self.data)
        place = chance.randrange(min(self._inner, len(data) - 1), len(data))
        data[place] ^= 1 << chance.randrange(8)
        return bytes(data)


def framed(packet: bytes, source: str, target: str) -> bytes:
    """Return a packet of IP in a frame between two MAC addresses."""
    kind = _IPV4 if packet[0] >> 4 == 4 else _IPV6
    return bytes.fromhex((target + source).replace(":", "")) + kind.to_bytes(2) + packet


def checksum(data: bytes) -> int:
    """Return the Internet checksum (RFC 1071)."""
    padded = data + b"\0" * (len(data) % 2)
    total: int = sum(struct.unpack(f">{len(padded) // 2}H", padded))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


def _reset(ends: tuple[bytes, ...], ports: tuple[int, ...], number: int, ack: int) -> bytes:
    body = _TCP_HEADER.pack(*ports, number, ack, 5 << 4, _RST | _ACK, 0, 0, 0)
    return _packet(ends[0], ends[1], TCP, body, 16)


def _packet(source: bytes, target: bytes, protocol: int, body: bytes, place: int) -> bytes:
    """Return a packet of IP; the checksum is at a place of its body."""
    length = len(body)
    pseudo = source + target + struct.pack(">II", length, protocol)
    whole = checksum(body if protocol == ICMP else pseudo + body)
    body = body[:place] + whole.to_bytes(2) + body[place + 2 :]
    if len(source) == 16:
        return struct.pack(">IHBB", 6 << 28, length, protocol, _TTL) + source + target + body
    dont_fragment = 1 << 14
    head = struct.pack(">BBHHHBBH", 0x45, 0, 20 + length, 0, dont_fragment, _TTL, protocol, 0)
    head += source + target
    return head[:10] + checksum(head).to_bytes(2) + head[12:] + body
