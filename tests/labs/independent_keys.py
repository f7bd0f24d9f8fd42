"""The numbers that each lab asks for, worked out as its handout says, from raw files only.

By another hand than the keys: nothing of `analysis`, `labs/*/key.toml` or
`labs/definition/key.py` is used, and the reader of captures is a few lines of its own.
"""

import json
import re
import struct
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from math import inf
from pathlib import Path
from statistics import median
from typing import Any

_BITS = {"bits": 1e-3, "Kbits": 1.0, "Mbits": 1e3, "Gbits": 1e6}
"""Of iperf's units in kbit/s."""
_LINE = re.compile(r"([\d.]+)-\s*([\d.]+) sec\s+[\d.]+ ([KMG]?)Bytes\s+([\d.]+) (\w*bits)/sec(.*)")
_LOST = re.compile(r"(\d+)/\s*(\d+) \(")
SYN, ACK, CWR = 0x02, 0x10, 0x80


@dataclass(frozen=True)
class Line:
    """A line of iperf: its interval in s, its rate in kbit/s, and the rest of it."""

    begin: float
    end: float
    rate: float
    rest: str


@dataclass(frozen=True)
class Segment:
    """A TCP segment of a capture: time in s, flags, ports, numbers, and bytes of data."""

    time: float
    source: int
    target: int
    sequence: int
    acknowledged: int
    flags: int
    data: int


def segments(file: Path) -> Iterator[Segment]:
    """Yield the TCP segments over IPv4 of a pcap in microseconds or nanoseconds."""
    content = file.read_bytes()
    step = 1e-9 if content[:4] == b"\x4d\x3c\xb2\xa1" else 1e-6
    at = 24
    while at < len(content):
        seconds, fraction, kept, _ = struct.unpack_from("<IIII", content, at)
        frame, at = content[at + 16 : at + 16 + kept], at + 16 + kept
        if frame[12:14] != b"\x08\x00" or frame[23] != 6:
            continue
        header = 4 * (frame[14] & 15)
        tcp = 14 + header
        source, target, sequence, ack = struct.unpack_from("!HHII", frame, tcp)
        whole = struct.unpack_from("!H", frame, 16)[0]
        data = whole - header - 4 * (frame[tcp + 12] >> 4)
        yield Segment(
            seconds + step * fraction, source, target, sequence, ack, frame[tcp + 13], data
        )


def _grown(after: Mapping[str, Any], before: Mapping[str, Any], name: str) -> int:
    return int(after.get(name, 0) - before.get(name, 0))


@dataclass(frozen=True)
class Condition:
    """The folder of a condition, read as a student reads it."""

    folder: Path

    def lines(self, name: str) -> list[Line]:
        """Return iperf's lines with an interval."""
        found = _LINE.finditer((self.folder / f"{name}.txt").read_text())
        return [Line(float(m[1]), float(m[2]), float(m[4]) * _BITS[m[5]], m[6]) for m in found]

    def rate(self, flow: str = "flow1") -> float:
        """Return the rate of the server's last line."""
        return self.lines(f"{flow}.server")[-1].rate

    def json(self, name: str) -> Any:
        return json.loads((self.folder / f"{name}.json").read_text())

    def counted(self, host: str, name: str) -> float:
        """Return a counter of a host, after less before."""
        counters = self.json("counters")
        return counters["after"][host].get(name, 0) - counters["before"][host].get(name, 0)

    def queues(self) -> Iterator[tuple[str, str, Callable[[str], int]]]:
        """Yield port and kind of each discipline, and its counters, after less before."""
        both = self.json("qdiscs")
        for port, listed in both["after"].items():
            for after, before in zip(listed, both["before"][port], strict=True):
                yield port, after["kind"], partial(_grown, after, before)

    def sampled(self, host: str, value: str, port: str = "") -> float:
        """Return the median of a value of the socket, over lines of HOST.sockets.jsonl."""
        lines = (self.folder / f"{host}.sockets.jsonl").read_text().splitlines()
        sockets = (each for line in lines for each in json.loads(line)["sockets"])
        known = (each for each in sockets if each["rtt_us"])  # not before the handshake
        return median(each[value] for each in known if each["remote"].endswith(port))

    def capture(self, interface: str) -> list[Segment]:
        return list(segments(self.folder / f"{interface}.pcap"))

    def exchanges(self, flow: str) -> Any:
        return self.json(f"{flow}.exchanges")


_UNITS = {"bit": 1e-3, "kbit": 1.0, "mbit": 1e3, "us": 1e-3, "ms": 1.0, "s": 1e3, "%": 1.0, "": 1.0}
"""Of drawn values: rates in kbit/s, times in ms, shares in percent."""


@dataclass(frozen=True)
class LabFolder:
    """The runs of a variant, each in a folder of its name, and what was drawn."""

    folder: Path
    values: Mapping[str, str]

    def run(self, name: str, condition: str) -> Condition:
        """Return a condition of a run, of its first seed."""
        return Condition(next((self.folder / name / "raw").iterdir()) / condition)

    def drawn(self, name: str) -> float:
        number, unit = re.fullmatch(r"([\d.]+)(\D*)", self.values[name]).groups()  # type: ignore[union-attr]
        return float(number) * _UNITS[unit]


Answers = dict[str, float]


def larger_over_smaller(one: float, other: float) -> float:
    return max(one, other) / min(one, other)


def full_packets(rate: float, wait: float) -> float:
    """Of 1514 bytes, at kbit/s in ms."""
    return rate * wait / (8 * 1514)


def jain(rates: list[float]) -> float:
    return sum(rates) ** 2 / (len(rates) * sum(rate**2 for rate in rates))


def bbr_and_cubic(lab: LabFolder) -> Answers:
    shallow, middle, deep = (lab.run(name, "cubic") for name in ("shallow", "middle", "deep"))
    fits = full_packets(lab.drawn("bw"), lab.drawn("delay"))
    trip = deep.sampled("right", "rtt_us", ":5001") / 1000
    return {
        "fits": fits,
        "product": 400 / fits,
        "shallow_cubic": shallow.rate(),
        "shallow_bbr": shallow.rate("beside"),
        "factor": larger_over_smaller(shallow.rate(), shallow.rate("beside")),
        "middle_share": 100 * middle.rate("beside") / (middle.rate() + middle.rate("beside")),
        "deep_cubic": deep.rate(),
        "deep_bbr": deep.rate("beside"),
        "deep_factor": larger_over_smaller(deep.rate(), deep.rate("beside")),
        "trip": trip,
        "waiting": full_packets(lab.drawn("bw"), trip - lab.drawn("delay")),
    }


def bufferbloat(lab: LabFolder) -> Answers:
    long, managed = (lab.run(name, "together") for name in ("long", "managed"))
    trips = [each.sampled("right", "rtt_us", ":5001") / 1000 for each in (long, managed)]
    totals = [
        sum(
            each.rate(file.name.removesuffix(".server.txt"))
            for file in each.folder.glob("*.server.txt")
        )
        for each in (long, managed)
    ]
    return {
        "trip_long": trips[0],
        "trip_managed": trips[1],
        "factor": larger_over_smaller(*trips),
        "total_long": totals[0],
        "total_managed": totals[1],
        "packets_waiting": full_packets(lab.drawn("bw"), trips[0] - 2 * 10),
    }


def bufferbloat_home(lab: LabFolder) -> Answers:
    busy, router = (lab.run(name, "home") for name in ("busy", "router"))

    def middle(run: Condition, flow: str) -> float:
        listed = run.exchanges(flow)["exchanges"]
        begun = [each for each in listed if each["began"] is not None]
        ends = ((each["began"], each["ended"]) for each in begun)
        return 1000 * median(inf if ended is None else ended - began for began, ended in ends)

    call = busy.exchanges("call")
    in_time = sum(
        1
        for each in call["exchanges"]
        if each.get("ended") and each["ended"] - each["began"] <= call["deadline"]
    )
    ping = middle(busy, "ping")
    return {
        "ping_busy": ping,
        "late_busy": 100 * (1 - in_time / len(call["exchanges"])),
        "web_busy": middle(busy, "web"),
        "packets_waiting": full_packets(lab.drawn("bw"), ping - 2 * lab.drawn("delay")),
        "ping_router": middle(router, "ping"),
    }


def congestion_contest(lab: LabFolder) -> Answers:
    run = lab.run("simple", "own")
    simple, cubic = run.rate(), run.rate("beside")
    factor = larger_over_smaller(simple, cubic)
    return {"simple_rate": simple, "cubic_rate": cubic, "factor": factor}


def congestion_control(lab: LabFolder) -> Answers:
    cubic, reno = (lab.run("far", name) for name in ("cubic", "reno"))
    trip, window = reno.sampled("right", "rtt_us") / 1000, reno.sampled("right", "cwnd")
    return {
        "near_cubic": lab.run("near", "cubic").rate(),
        "far_cubic": cubic.rate(),
        "far_reno": reno.rate(),
        "factor": larger_over_smaller(cubic.rate(), reno.rate()),
        "trip": trip,
        "window": window,
        "window_rate": 8 * 1448 * window / trip,
    }


def ecn_and_red(lab: LabFolder) -> Answers:
    dropping, marking = (lab.run(name, "as_set") for name in ("dropping", "marking"))
    red = [grown("marked") for _, kind, grown in marking.queues() if kind == "red"]
    answers = [each for each in marking.capture("h1-eth0") if each.data and each.flags & CWR]
    trip = marking.sampled("h1", "rtt_us", ":5001") / 1000
    return {
        "repeated": dropping.counted("h1", "TcpRetransSegs"),
        "marks": max(red),
        "cuts": len(answers),
        "trip": trip,
        "packets_waiting": full_packets(lab.drawn("bw"), trip - 2 * lab.drawn("delay")),
    }


def fairness(lab: LabFolder) -> Answers:
    fifo, fair = (lab.run(name, "together") for name in ("fifo", "fair"))

    def rates(run: Condition) -> list[float]:
        return [
            run.rate(file.name.removesuffix(".server.txt"))
            for file in run.folder.glob("*.server.txt")
        ]

    lost = _LOST.search(fair.lines("udp.server")[-1].rest)
    assert lost
    return {
        "udp_fifo": fifo.rate("udp"),
        "udp_fair": fair.rate("udp"),
        "factor": larger_over_smaller(fifo.rate("udp"), fair.rate("udp")),
        "lost_fair": 100 * int(lost[1]) / int(lost[2]),
        "jain_fifo": jain(rates(fifo)),
        "jain_fair": jain(rates(fair)),
    }


def _first_trip(frames: list[Segment]) -> float:
    """ms from the first SYN to the first SYN with ACK."""
    request = next(each.time for each in frames if each.flags & (SYN | ACK) == SYN)
    answer = next(each.time for each in frames if each.flags & (SYN | ACK) == SYN | ACK)
    return 1000 * (answer - request)


def first_look(lab: LabFolder) -> Answers:
    run = lab.run("first", "reno")
    rate, trip = run.rate(), _first_trip(run.capture("h1-eth0"))
    return {"rate": rate, "trip": trip, "on_the_way": rate * trip / 8 / 1000}


def own_congestion_control(lab: LabFolder) -> Answers:
    reno, mine = (lab.run("lossy", name) for name in ("reno", "mine"))
    crowd = {
        name: lab.run("crowd", name).counted("right", "TcpRetransSegs") for name in ("reno", "mine")
    }
    return {
        "reno": reno.rate(),
        "mine": mine.rate(),
        "factor": larger_over_smaller(reno.rate(), mine.rate()),
        "window": mine.sampled("right", "cwnd"),
        "resent_reno": crowd["reno"],
        "resent_mine": crowd["mine"],
    }


def packet_loss(lab: LabFolder) -> Answers:
    none, few, many = (lab.run(name, "dropping") for name in ("none", "few", "many"))
    times = [run.lines("flow1.client")[-1].end for run in (none, few, many)]
    lost = sum(
        (1 if kind == "netem" else -1) * grown("drops")
        for _, kind, grown in few.queues()
        if kind in ("netem", "pfifo")
    )
    offered = (
        lost
        + sum(grown("packets") for _, kind, grown in few.queues() if kind == "netem")
        + sum(grown("drops") for _, kind, grown in few.queues() if kind == "pfifo")
    )
    return {
        "time_none": times[0],
        "time_few": times[1],
        "time_many": times[2],
        "slower": times[1] / times[0],
        "throughput": 1526 * 20000 / times[1] / 1000,
        "counted": 100 * lost / offered,
    }


def reliable_transport(lab: LabFolder) -> Answers:
    simple, own = lab.run("simple", "own").rate(), lab.run("own", "own").rate()
    factor = larger_over_smaller(simple, own)
    return {"simple_rate": simple, "own_rate": own, "factor": factor}


def reordering(lab: LabFolder) -> Answers:
    steady, varied, counting, patient = (
        lab.run(name, "cubic") for name in ("steady", "varied", "counting", "patient")
    )
    sent: dict[str, int] = {}
    lost: dict[str, int] = {}
    for port, kind, grown in varied.queues():
        if kind == "netem":
            sent[port], lost[port] = grown("bytes"), grown("drops")
    towards_left = max(sent, key=lambda port: sent[port])
    return {
        "steady_rate": steady.rate(),
        "varied_rate": varied.rate(),
        "factor": larger_over_smaller(steady.rate(), varied.rate()),
        "resent": varied.counted("right", "TcpRetransSegs"),
        "lost": lost[towards_left],
        "patient_factor": larger_over_smaller(patient.rate(), counting.rate()),
    }


def retransmission(lab: LabFolder) -> Answers:
    off, on = (lab.run("some", name) for name in ("sack_off", "sack_on"))
    again, sent = (off.counted("h1", name) for name in ("TcpRetransSegs", "TcpOutSegs"))
    lines = on.lines("flow1.client")
    seconds = [line.rate for line in lines[:-1] if line.end - line.begin > 0.99]
    return {
        "resent_rate": 100 * again / sent,
        "rate_on": on.rate(),
        "rate_off": off.rate(),
        "factor": larger_over_smaller(on.rate(), off.rate()),
        "rare_off": lab.run("rare", "sack_off").rate(),
        "slowest": min(seconds),
    }


def sack(lab: LabFolder) -> Answers:
    off, on = (lab.run("sack", name) for name in ("sack_off", "sack_on"))
    data = [each for each in on.capture("h1-eth0") if each.data and each.target == 5001]
    seen: set[tuple[int, int]] = set()
    repeated = 0
    for each in data:
        place = (each.sequence, each.data)
        repeated += each.data if place in seen else 0
        seen.add(place)
    without = [each.time for each in off.capture("h1-eth0") if each.data and each.target == 5001]
    gaps = [later - earlier for earlier, later in pairwise(without)]
    return {
        "goodput_off": off.rate(),
        "goodput_on": on.rate(),
        "factor": larger_over_smaller(off.rate(), on.rate()),
        "resent_off": off.counted("h1", "TcpRetransSegs"),
        "resent_share_on": 100 * repeated / sum(each.data for each in data),
        "timeouts_off": off.counted("h1", "TcpExtTCPTimeouts"),
        "timeouts_on": on.counted("h1", "TcpExtTCPTimeouts"),
        "silence_off": sum(gap for gap in gaps if gap >= 0.25),
    }


def unknown_capture(lab: LabFolder) -> Answers:
    run = lab.run("unknown", "cubic")
    frames = run.capture("right-eth0")
    trip = _first_trip(frames)
    data = [each for each in frames if each.data and each.target == 5001]
    once = sum({(each.sequence, each.data): each.data for each in data}.values())
    end = max(data, key=lambda each: (each.sequence - data[0].sequence) % 2**32)
    acknowledged = next(
        each.time
        for each in frames
        if each.source == 5001 and (each.acknowledged - end.sequence - end.data) % 2**32 < 2**31
    )
    rate = 8 * once / (acknowledged - data[0].time) / 1000
    return {"trip": trip, "rate": rate, "window_most": 8 * 65535 / trip}


OF_LAB: Mapping[str, Callable[[LabFolder], Answers]] = {
    each.__name__: each
    for each in (
        bbr_and_cubic,
        bufferbloat,
        bufferbloat_home,
        congestion_contest,
        congestion_control,
        ecn_and_red,
        fairness,
        first_look,
        own_congestion_control,
        packet_loss,
        reliable_transport,
        reordering,
        retransmission,
        sack,
        unknown_capture,
    )
}
