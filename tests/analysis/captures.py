"""Captures with known truth, one line a packet.

    capture = Capture()
    flow = capture.flow().open(rtt=0.04)
    flow.a.send(at=0.1, size=1000)
    flow.b.ack(at=0.14)
    path = capture.write(tmp_path)

Numbers are relative: an end's SYN is 0 and its first byte 1. Times are seconds after `START`, in
nanoseconds exactly. The packets are those that one place sees, in the order of their times;
nothing answers by itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from analysis.flows import read
from analysis.flows.ends import MatchedConnection, match_readings
from tests.analysis import frames
from tests.analysis.frames import ACK, ETHERNET, FIN, PSH, RST, SYN, Record

START = 1_700_000_000 * 10**9
"""The time 0 of every made capture, in ns since 1970."""
MSS = 1000
"""Bytes of a made segment, unless a test says otherwise."""


def nanoseconds(seconds: float) -> int:
    """Seconds after `START` as ns since 1970."""
    return START + round(seconds * 1e9)


@dataclass
class MadeCapture:
    """What one interface saw; `tags` are VLAN numbers.

    Of each packet `snaplen` bytes are captured.
    """

    link: int = ETHERNET
    tags: Sequence[int] = ()
    snaplen: int = 2**18
    records: list[Record] = field(default_factory=list)

    def flow(self, **settings: Any) -> MadeFlow:
        """A connection in this capture; the fields of Flow are its settings."""
        return MadeFlow(self, **settings)

    def add(
        self,
        at: float,
        packet: bytes,
        wire: int | None = None,
        version: int = 4,
        interface: int = 0,
    ) -> None:
        """An IP packet of `wire` bytes (as many as there are, if None) at second `at`."""
        head = frames.link_header(self.link, version, self.tags)
        length = len(head) + (len(packet) if wire is None else wire)
        self.records.append(
            Record(nanoseconds(at), (head + packet)[: self.snaplen], length, interface)
        )

    def sorted(self) -> list[Record]:
        return sorted(self.records, key=lambda record: record.time)

    def pcap(self, **settings: Any) -> bytes:
        """The capture as a libpcap file; `settings` are those of frames.pcap."""
        return frames.pcap(self.sorted(), link=self.link, **settings)

    def write(self, folder: Path, content: bytes | None = None, name: str = "made.pcap") -> Path:
        """Writes `content` (a pcap file of this capture, if None) into `folder`."""
        path = folder / name
        path.write_bytes(self.pcap() if content is None else content)
        return path


@dataclass
class MadeFlow:
    """One connection from a to b. `firsts` are the two SYNs' absolute sequence numbers."""

    capture: MadeCapture
    hosts: tuple[str, str] = ("10.0.0.1", "10.0.0.2")
    ports: tuple[int, int] = (40000, 5001)
    firsts: tuple[int, int] = (1_000_000, 9_000_000)
    mss: int = 1460
    sack: bool = True
    timestamps: bool = True
    scales: tuple[int | None, int | None] = (7, 7)
    extensions: Sequence[tuple[int, bytes]] = ()
    interface: int = 0
    padded: int = 0
    """Least length of a frame in bytes, 60 on Ethernet."""

    def __post_init__(self) -> None:
        self.version = 6 if ":" in self.hosts[0] else 4
        self.a, self.b = MadeEnd(self, 0), MadeEnd(self, 1)

    def open(self, at: float = 0.0, rtt: float = 0.04, seen_at_b: bool = False) -> MadeFlow:
        """The three-way handshake as the client's interface sees it.

        With `seen_at_b` as the server's does.
        """
        self.a.syn(at)
        self.b.syn(at if seen_at_b else at + rtt)
        self.a.ack(at + rtt)
        return self


class MadeEnd:
    """One end of a connection.

    `next` is the number of its next new byte, `stamp` its last timestamp. `acknowledged` is for
    whoever wants to remember what this end has acknowledged.
    """

    def __init__(self, flow: MadeFlow, side: int) -> None:
        self.flow, self.side = flow, side
        self.next = self.stamp = self.packets = self.acknowledged = 0

    @property
    def peer(self) -> MadeEnd:
        return self.flow.b if self.side == 0 else self.flow.a

    def syn(self, at: float, flags: int = 0, **fields: Any) -> None:
        """A SYN, or a SYN-ACK where the peer's SYN came first."""
        flow = self.flow
        asked = {"mss": flow.mss, "scale": flow.scales[self.side], "sack_permitted": flow.sack}
        self.segment(at, 0, 0, SYN | flags | (ACK if self.peer.next else 0), asked=asked, **fields)
        self.next = max(self.next, 1)

    def send(self, at: float, size: int = MSS, seq: int | None = None, **fields: Any) -> int:
        """A segment of `size` bytes from `seq` (the next new byte, if None). Returns its number."""
        first = max(self.next, 1) if seq is None else seq
        self.segment(at, first, size, ACK | PSH, **fields)
        self.next = max(self.next, first + size)
        return first

    def say(self, at: float, content: bytes, seq: int | None = None) -> None:
        """A segment with this payload."""
        self.send(at, len(content), seq, content=content)

    def burst(self, at: float, count: int, gap: float = 0.0001, size: int = MSS) -> None:
        """`count` new segments, one each `gap` seconds."""
        for index in range(count):
            self.send(at + index * gap, size)

    def ack(
        self, at: float, to: int | None = None, sacks: Sequence[tuple[int, int]] = (), **fields: Any
    ) -> None:
        """An ACK of all bytes before `to` (of all that the peer has sent, if None).

        `sacks` are in the peer's numbers.
        """
        self.segment(at, max(self.next, 1), 0, ACK, to=to, sacks=sacks, **fields)

    def fin(self, at: float, seq: int | None = None, **fields: Any) -> None:
        first = self.next if seq is None else seq
        self.segment(at, first, 0, FIN | ACK, **fields)
        self.next = max(self.next, first + 1)

    def rst(self, at: float, **fields: Any) -> None:
        self.segment(at, self.next, 0, RST | ACK, **fields)

    def segment(
        self,
        at: float,
        seq: int,
        size: int,
        flags: int,
        to: int | None = None,
        window: int = 512,
        sacks: Sequence[tuple[int, int]] = (),
        stamp: int | None = None,
        echo: int | None = None,
        asked: dict[str, Any] | None = None,
        **under: Any,
    ) -> None:
        """Any segment.

        `window` is the field as it is sent, `stamp` and `echo` the timestamps option (ms).
        """
        flow, own, other = self.flow, self.flow.firsts[self.side], self.flow.firsts[1 - self.side]
        self.stamp = round(at * 1000) + 1 if stamp is None else stamp
        stamps = (
            (self.stamp, self.peer.stamp if echo is None else echo) if flow.timestamps else None
        )
        blocks = [(other + left, other + right) for left, right in sacks]
        extra = frames.options(timestamps=stamps, sacks=blocks, **(asked or {}))
        acknowledged = other + (self.peer.next if to is None else to) if flags & ACK else 0
        ports = flow.ports if self.side == 0 else flow.ports[::-1]
        head = frames.tcp(
            ports, own + seq, acknowledged, flags, window, extra, under.pop("urgent", 0)
        )
        self._put(at, head, seq, size, **under)

    def _put(self, at: float, head: bytes, seq: int, size: int, **under: Any) -> None:
        flow = self.flow
        hosts = flow.hosts if self.side == 0 else flow.hosts[::-1]
        self.packets += 1
        content = under.pop("content", None) or frames.content(seq, size)
        inner, length = head + content, len(head) + size
        if flow.version == 4:
            packet = frames.ipv4(hosts, inner, length, **{"number": self.packets, **under})
        else:
            packet = frames.ipv6(hosts, inner, length, extensions=flow.extensions, **under)
        wire = len(packet) - len(inner) + length
        missing = max(
            flow.padded - wire - len(frames.link_header(flow.capture.link, flow.version)), 0
        )
        flow.capture.add(at, packet + b"\0" * missing, wire + missing, flow.version, flow.interface)


RTT = 0.04
"""Of `opened` flows, in seconds."""


def opened(**settings: object) -> MadeFlow:
    """A connection whose handshake the sender a saw, in a capture of its own."""
    return MadeCapture().flow(**settings).open(rtt=RTT)


def match_captures(
    near: Path, far: Path, mss: int | None = None, aligned: bool = False
) -> tuple[MatchedConnection, ...]:
    """Match the connections of two files."""
    readings = [read(path, packets=True) for path in (near, far)]
    return match_readings(readings[0], readings[1], mss, aligned)
