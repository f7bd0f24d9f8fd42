"""Runs over a made link of known truth: what it was to do, and what it does instead.

    run = MadeNetwork(rate=1.01).write(tmp_path)

is a run of two hosts whose link was to be a line of 10 Mbit/s and 5 ms with a queue of 20 packets,
and is one per cent faster. h1 sends a little faster than the link, so that its queue fills.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.analysis import frames
from tests.analysis.captures import START
from tests.analysis.frames import ACK, SYN, Record
from topologies.data import to_data
from topologies.shapes import two_hosts
from topologies.spec import Channel
from topologies.units import Duration, Packets, Rate

HOSTS = {"h1": "10.0.0.1", "h2": "10.0.0.2"}
PORTS = {"h1": (40000, 5001), "h2": (5001, 40000)}
ASKED = Channel(Rate.parse("10mbit"), Duration.parse("5ms"), queue=Packets(20))
FULL, SHORT, OPENING = 1514, 66, 74
COUNT = 400
GAP = 1_100_000
"""Full packets that h1 sends, one each so many ns: the link takes 1 211 200 for one."""


@dataclass(frozen=True)
class MadePacket:
    """A packet: when its host sent it (ns), and its length in bytes."""

    source: str
    number: int
    sent: int
    length: int
    flags: int = ACK

    def record(self, time: int, service: int = 0) -> Record:
        """As a capture has it that saw it at `time`, with this byte of DSCP and ECN."""
        payload = self.length - SHORT if self.flags == ACK else 0
        extra = b"\1" * (12 if self.flags == ACK else 20)
        head = frames.tcp(PORTS[self.source], 1000 * self.number, 1, self.flags, 512, extra)
        addresses = tuple(HOSTS.values()) if self.source == "h1" else tuple(HOSTS.values())[::-1]
        inner = head + b"x" * payload
        packet = frames.ipv4(addresses, inner, len(inner), number=self.number, ecn=service)
        frame = frames.link_header(frames.ETHERNET, 4) + packet
        return Record(START + time, frame[:128], len(frame))


@dataclass
class MadeNetwork:
    """The link's truth: how many times its rate, what more delay (ns), how many places more.

    With `pairs` two packets leave at once. Of the full packets, `random` numbers are lost and
    counted, `vanished` are lost and not counted. `buffer_limited` are seconds of the ten that the
    sender was busy, `busy` is the share of them in which the link was said to carry something.
    `asked` is what the run asked for. `service` is the byte of DSCP and ECN of all packets, as they
    leave, and as one in ten arrives; the ports count those marks but `uncounted` of them.
    """

    asked: Channel = ASKED
    rate: float = 1.0
    delay: int = 0
    queue: int = 0
    pairs: bool = False
    random: Sequence[int] = ()
    vanished: Sequence[int] = ()
    buffer_limited: float = 0.0
    busy: float = 0.0
    service: tuple[int, int] = (0, 0)
    uncounted: int = 0
    flow: dict[str, Any] = field(default_factory=dict)
    counters: dict[str, float] = field(default_factory=dict)
    dropped: dict[str, int] = field(default_factory=lambda: {"h1": 0, "h2": 0})

    def write(self, folder: Path) -> Path:
        """The run's directory."""
        trial = folder / "raw" / "seed-1" / "only"
        trial.mkdir(parents=True)
        self._captures(trial)
        _json(folder / "spec.json", self._spec())
        _json(folder / "manifest.json", {"format": 1, "seeds": [1], "status": "complete"})
        environment = {"clock": "virtual", "asked_and_found": [_SETTING]}
        _json(trial.parent / "environment.json", environment)
        _json(trial / "evidence.json", {"held": True, "warnings": [], "proofs": [_PROOF]})
        lines = [self._sample(at) for at in range(11)]
        (trial / "h1.sockets.jsonl").write_text("\n".join(map(json.dumps, lines)) + "\n")
        return folder

    def _spec(self) -> dict[str, Any]:
        flow = {"name": "flow1", "sender": "h1", "receiver": "h2", "port": 5001, **self.flow}
        return {
            "name": "made",
            "topology": to_data(two_hosts(self.asked)),
            "flows": [flow],
            "conditions": [{"name": "only", "label": "only", "sysctls": []}],
            "captures": ["h1-eth0", "h2-eth0"],
        }

    def _sample(self, at: int) -> dict[str, Any]:
        socket = {
            "remote": "10.0.0.2:5001",
            "cwnd": 10,
            "rtt_us": 20000,
            "min_rtt_us": 10118,
            "busy_us": 1e6 * at,
            "sndbuf_limited_us": 1e5 * at * self.buffer_limited,
            "rwnd_limited_us": 0,
        }
        return {"time": 1_700_000_000 + at, "sockets": [socket]}

    def _captures(self, trial: Path) -> None:
        opening = MadePacket("h1", 0, 0, OPENING, SYN)
        came = self._line([opening])[0][0]
        answer = MadePacket("h2", 1, came, OPENING, SYN | ACK)
        data = [MadePacket("h1", 2 + at, 10**8 + at * GAP, FULL) for at in range(COUNT)]
        acks = [MadePacket("h2", 2 + at, 10**8 + at * 10**7, SHORT) for at in range(30)]
        ways = {"h1": [opening, *data], "h2": [answer, *acks]}
        both = {host: self._line(packets) for host, packets in ways.items()}
        for host in HOSTS:
            left, marked = self.service
            seen = [packet.record(packet.sent, left) for packet in ways[host]]
            other = "h2" if host == "h1" else "h1"
            seen += [
                packet.record(time, left if packet.number % 10 else marked)
                for packet, time in zip(ways[other], both[other][0], strict=True)
                if time >= 0
            ]
            seen.sort(key=lambda record: record.time)
            (trial / f"{host}-eth0.pcap").write_bytes(frames.pcap(seen))
            lost = f"{self.dropped[host]} packets dropped by kernel\n"
            (trial / f"{host}-eth0.tcpdump.txt").write_text(lost)
        self._counted(trial, ways, both)

    def _line(self, packets: Sequence[MadePacket]) -> tuple[list[int], int]:
        """When each packet comes, -1 for never, and how many the queue dropped."""
        free, gone, came, dropped = 0, [], [], 0
        delay, rate = self.asked.delay.base + self.delay, self.rate * self.asked.bandwidth.base
        for packet in packets:
            due = packet.sent + delay
            here = sum(time > due for time in gone)
            if packet.number - 2 in (*self.random, *self.vanished) and packet.length == FULL:
                came.append(-1)
            elif here > self.asked.queue.base + self.queue:
                dropped += 1
                came.append(-1)
            else:
                free = max(free, due) + round(packet.length * 8e9 / rate)
                gone.append(free)
                came.append(free)
        return (_in_pairs(came) if self.pairs else came), dropped

    def _counted(
        self,
        trial: Path,
        ways: dict[str, list[MadePacket]],
        both: dict[str, tuple[list[int], int]],
    ) -> None:
        """qdiscs.json and counters.json."""
        ports = {"h1": "s1-eth2", "h2": "s1-eth1"}
        after = {}
        for host, port in ports.items():
            lost = len(self.random) if host == "h1" else 0
            passed, dropped = len(ways[host]) - lost, both[host][1]
            marks = self._marks(ways[host], both[host][0])
            carried = self.busy * self.asked.bandwidth.base * 10 / 8
            left = {"packets": passed - dropped, "drops": dropped, "bytes": carried}
            after[port] = [
                {**left, "kind": "netem", "handle": "1:", "drops": lost + dropped},
                {**left, "kind": "tbf", "handle": "2:"},
                {**left, "kind": self._queue, "handle": "3:", "ecn_mark": marks},
            ]
        _json(trial / "qdiscs.json", {"before": {}, "after": after})
        arrived = {host: sum(time >= 0 for time in both[host][0]) for host in ports}
        counts = {
            "h1": {"TcpOutSegs": len(ways["h1"]), "IpInReceives": arrived["h2"]},
            "h2": {"TcpOutSegs": len(ways["h2"]), "IpInReceives": arrived["h1"], **self.counters},
        }
        _json(trial / "counters.json", {"before": {}, "after": counts})

    @property
    def _queue(self) -> str:
        """tc's name of the queue: one that marks, if packets arrive with another byte."""
        return "pie" if self.service[0] != self.service[1] else "pfifo"

    def _marks(self, packets: Sequence[MadePacket], came: Sequence[int]) -> int:
        """Return how many packets the port says that it marked."""
        there = zip(packets, came, strict=True)
        tenths = sum(packet.number % 10 == 0 and time >= 0 for packet, time in there)
        return (tenths if self.service[1] & 3 == 3 else 0) - self.uncounted


_SETTING = {"interface": "s1-eth2", "field": "rate", "asked": "10mbit", "found": "10mbit"}
_PROOF = {"claim": "it holds", "observed": ["so"], "source": "made", "held": True}


def _in_pairs(came: Sequence[int]) -> list[int]:
    """Every second packet leaves with the one after it."""
    there = [at for at, time in enumerate(came) if time >= 0]
    paired = list(came)
    for first, second in zip(there[::2], there[1::2], strict=False):
        paired[first] = max(came[first], came[second] - 500)
    return paired


def _json(path: Path, content: object) -> None:
    path.write_text(json.dumps(content))
