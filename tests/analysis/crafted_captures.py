"""Small captures made by hand: a conversation over Ethernet and IPv4, and the files to put it in."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass, field

FIN, SYN, RST, ACK = 1, 2, 4, 16
MSS = 1448
ROUND_TRIP = 40_000_000
Packets = Sequence[tuple[int, bytes]]


@dataclass
class Talk:
    """Packets between a (10.0.0.1:1000) and b (10.0.0.2:2000); `a` and `b` are the next sequence numbers."""

    sequence: int = 100_000
    time: int = 1_700_000_000_000_000_000
    at_receiver: bool = False
    packets: list[tuple[int, bytes]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.a, self.b, self.identification = self.sequence + 1, 500_001, 0

    def handshake(self, sack: bool = False) -> None:
        """SYN, SYN-ACK, ACK; the round trip is on b's side of the capture unless it is taken at the receiver."""
        before, after = (0, ROUND_TRIP) if self.at_receiver else (ROUND_TRIP, 0)
        options = b"\x02\x04\x05\xb4" + (b"\x04\x02\x01\x01" if sack else b"")
        self.send(True, SYN, sequence=self.a - 1, options=options)
        self.time += before
        self.send(False, SYN | ACK, sequence=self.b - 1, options=options)
        self.time += after
        self.send(True, ACK)

    def data(self, count: int, acknowledged: bool = True) -> None:
        """`count` segments from a, each acknowledged after a round trip."""
        for _ in range(count):
            self.send(True, ACK, MSS)
            if acknowledged:
                self.time += ROUND_TRIP
                self.send(False, ACK)

    def window_with_a_hole(self, sack: bool) -> None:
        """Five segments of which the first is lost; four duplicates come back, and it is sent again."""
        first = self.a
        self.data(5, acknowledged=False)
        self.time += ROUND_TRIP
        for count in range(1, 5):
            blocks = ((first + MSS, first + MSS * (count + 1)),) if sack else ()
            self.send(False, ACK, acknowledgement=first, blocks=blocks)
        self.send(True, ACK, MSS, sequence=first)

    def send(
        self,
        forward: bool,
        flags: int,
        payload: int = 0,
        sequence: int | None = None,
        acknowledgement: int | None = None,
        window: int = 60_000,
        blocks: Sequence[tuple[int, int]] = (),
        options: bytes = b"",
    ) -> None:
        """One segment, 10 us after the last; without numbers it goes on where its side is."""
        if sequence is None:
            sequence = self.a if forward else self.b
            self.a, self.b = (self.a + payload, self.b) if forward else (self.a, self.b + payload)
        acknowledgement = (self.b if forward else self.a) if acknowledgement is None else acknowledgement
        if blocks:
            edges = b"".join(struct.pack(">II", left % 2**32, right % 2**32) for left, right in blocks)
            options += b"\x01\x01\x05" + bytes([2 + len(edges)]) + edges
        self.identification += 1
        self.packets.append(
            (self.time, self._packet(forward, flags, payload, sequence, acknowledgement, window, options))
        )
        self.time += 10_000

    def _packet(
        self, forward: bool, flags: int, payload: int, sequence: int, acknowledgement: int, window: int, options: bytes
    ) -> bytes:
        ends = (
            (b"\x0a\x00\x00\x01\x0a\x00\x00\x02", 1000, 2000)
            if forward
            else (b"\x0a\x00\x00\x02\x0a\x00\x00\x01", 2000, 1000)
        )
        addresses, source, destination = ends
        size = 20 + len(options)
        ip = struct.pack(">BBHHHBBH", 0x45, 0, 20 + size + payload, self.identification, 0x4000, 64, 6, 0) + addresses
        numbers = (sequence % 2**32, acknowledgement % 2**32 if flags & ACK else 0)
        tcp = struct.pack(">HHIIBBHHH", source, destination, *numbers, size * 4, flags, window, 0, 0) + options
        return bytes(12) + b"\x08\x00" + ip + tcp + bytes(payload)


def pcap(packets: Packets, order: str = "<", nano: bool = True, link: int = 1, snaplen: int = 65535) -> bytes:
    """A pcap file with these (time in ns, bytes)."""
    parts = [struct.pack(order + "IHHiIII", 0xA1B23C4D if nano else 0xA1B2C3D4, 2, 4, 0, 0, snaplen, link)]
    for time, packet in packets:
        fraction = time % 10**9 // (1 if nano else 1000)
        captured = packet[:snaplen]
        parts.append(struct.pack(order + "IIII", time // 10**9, fraction, len(captured), len(packet)) + captured)
    return b"".join(parts)


def pcapng(packets: Packets, order: str = "<") -> bytes:
    """A pcapng section with one Ethernet interface that counts nanoseconds."""
    section = struct.pack(order + "IHHq", 0x1A2B3C4D, 1, 0, -1)
    interface = struct.pack(order + "HHIHHB3xHH", 1, 0, 0, 9, 1, 9, 0, 0)
    parts = [_block(order, 0x0A0D0D0A, section), _block(order, 1, interface)]
    for time, packet in packets:
        head = struct.pack(order + "IIIII", 0, time >> 32, time & 0xFFFFFFFF, len(packet), len(packet))
        parts.append(_block(order, 6, head + packet + bytes(-len(packet) % 4)))
    return b"".join(parts)


def _block(order: str, kind: int, body: bytes) -> bytes:
    length = 12 + len(body)
    return struct.pack(order + "II", kind, length) + body + struct.pack(order + "I", length)
