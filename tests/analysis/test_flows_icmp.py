"""Errors of ICMP that quote connections, and tunnels on ports that the user names."""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import count
from pathlib import Path

import pytest
from scapy.layers.inet import ICMP, IP, TCP, UDP
from scapy.layers.inet6 import ICMPv6DestUnreach, ICMPv6PacketTooBig, ICMPv6TimeExceeded, IPv6
from scapy.layers.l2 import Ether
from scapy.layers.vxlan import VXLAN
from scapy.packet import Packet, Raw
from scapy.utils import wrpcap

from analysis import flows
from tests.analysis.test_analyze import analyze

_ROUTER = {4: "10.0.0.254", 6: "fd00::ff"}
_HOSTS = {4: ("10.0.0.1", "10.0.0.2"), 6: ("fd00::1", "fd00::2")}
SIZE = 1460
_NUMBERS = count(1)
"""Of IPv4 packets: a capture of equal ones has copies."""
_LINK = Ether(src="02:00:00:00:00:01", dst="02:00:00:00:00:02")


def ip(version: int, source: str, target: str) -> Packet:
    if version == 6:
        return IPv6(src=source, dst=target)
    return IP(src=source, dst=target, id=next(_NUMBERS))


def sent(version: int, flags: str, seq: int, ack: int, size: int = 0, back: bool = False) -> Packet:
    hosts, ports = _HOSTS[version], (40000, 80)
    (source, target), (sport, dport) = (hosts[::-1], ports[::-1]) if back else (hosts, ports)
    head = TCP(sport=sport, dport=dport, flags=flags, seq=seq, ack=ack, options=[("MSS", SIZE)])
    return ip(version, source, target) / head / Raw(bytes(size))


def written(folder: Path, packets: Sequence[Packet], times: Sequence[float] = ()) -> Path:
    """A capture of these packets, one each half second if no `times` are given."""
    path = folder / "made.pcap"
    frames = [_LINK / packet for packet in packets]
    for number, frame in enumerate(frames):
        frame.time = 1000 + (times[number] if times else number / 2)
    wrpcap(str(path), frames)
    return path


def handshake(version: int) -> list[Packet]:
    return [
        sent(version, "S", 100, 0),
        sent(version, "SA", 900, 101, back=True),
        sent(version, "A", 101, 901),
    ]


def too_big(version: int, quoted: Packet) -> Packet:
    """The router's error about a packet, whose first bytes it quotes."""
    quote = bytes(quoted)[: 28 if version == 4 else 48]
    error = ICMP(type=3, code=4, nexthopmtu=1280) if version == 4 else ICMPv6PacketTooBig(mtu=1280)
    return ip(version, _ROUTER[version], _HOSTS[version][0]) / error / Raw(quote)


@pytest.mark.parametrize("version", [4, 6])
def test_an_mtu_that_the_sender_does_not_heed_explains_the_black_hole(
    tmp_path: Path, version: int
) -> None:
    data = [sent(version, "PA", 101, 901, SIZE) for _ in range(6)]
    errors = [too_big(version, data[0]) for _ in range(2)]
    times = (0, 0.04, 0.0401, 0.1, 0.12, 0.4, 0.42, 1.0, 2.2, 4.6, 9.4)
    packets = [*handshake(version), data[0], errors[0], data[1], errors[1], *data[2:]]
    path = written(tmp_path, packets, times)
    read = flows.read(path)
    word = "fragmentation needed" if version == 4 else "packet too big"
    assert [(each["packet"], each["error"], each["mtu"]) for each in read.icmp] == [
        (5, word, 1280),
        (7, word, 1280),
    ]
    first = read.icmp[0]
    assert (first["connection"], first["forward"], first["sequence"]) == (1, True, 101)
    assert (first["time"], first["reporter"]) == (1_000_120_000_000, _ROUTER[version])
    output = " ".join(analyze(path).output.split())
    assert f"ICMP: {_ROUTER[version]} reports {word} (MTU 1,280) 2 times, packets 5 to 7." in output
    assert f"{_ROUTER[version]} reports an MTU of 1,280" in output
    events = json.loads(analyze(path, "--events", "--json").stdout)["captures"][0]["events"]
    reported = [event for event in events if event["event"] == "icmp"]
    assert [event["number"] for event in reported] == [5, 7]
    assert [event["number"] for event in events] == sorted(event["number"] for event in events)
    assert f"{word}, MTU 1280, by {_ROUTER[version]}" in analyze(path, "--events").output


def test_an_error_belongs_to_the_latest_connection_that_had_begun(tmp_path: Path) -> None:
    """Ports are used again: each error is about the connection of its time, and one about none."""
    other = IP(src="10.0.0.9", dst="10.0.0.2") / TCP(sport=1, dport=2, seq=7)
    later = sent(4, "S", 50_000_000, 0)
    about = [
        ip(4, _ROUTER[4], "10.0.0.1") / ICMP(type=11, code=0) / Raw(bytes(quoted)[:28])
        for quoted in (sent(4, "A", 101, 901), later, other)
    ]
    closed = sent(4, "R", 101, 901)
    path = written(tmp_path, [*handshake(4), about[0], closed, later, about[1], about[2]])
    read = flows.read(path)
    assert [each["connection"] for each in read.icmp] == [1, 2, None]
    assert {each["error"] for each in read.icmp} == {"time exceeded"}
    chosen = json.loads(analyze(path, "--connection", 2, "--json").stdout)["captures"][0]
    assert [each["connection"] for each in chosen["icmp"]] == [2, None]


@pytest.mark.parametrize(
    ("error", "word"),
    [
        (ICMP(type=3, code=3), "port unreachable"),
        (ICMP(type=3, code=13), "prohibited"),
        (ICMPv6DestUnreach(code=4), "port unreachable"),
        (ICMPv6TimeExceeded(), "time exceeded"),
    ],
)
def test_errors_about_udp_stand_with_their_flow(tmp_path: Path, error: Packet, word: str) -> None:
    version = 4 if isinstance(error, ICMP) else 6
    one, other = _HOSTS[version]
    datagram = ip(version, one, other) / UDP(sport=5000, dport=53) / Raw(b"question")
    back = ip(version, other, one) / error / Raw(bytes(datagram)[: 28 if version == 4 else 48])
    path = written(tmp_path, [datagram, back])
    (found,) = flows.read(path).icmp
    assert (found["error"], found["protocol"], found["connection"]) == (word, "UDP", None)
    assert f"{word} once" in " ".join(analyze(path).output.split())


def test_an_echo_and_a_quote_of_another_protocol_are_no_errors(tmp_path: Path) -> None:
    echo = ip(4, "10.0.0.1", "10.0.0.2") / ICMP(type=8)
    about = ip(4, "10.0.0.2", "10.0.0.1") / ICMP(type=3, code=1) / Raw(bytes(echo)[:28])
    cut = ip(4, "10.0.0.2", "10.0.0.1") / ICMP(type=3, code=1) / Raw(bytes(22))
    assert flows.read(written(tmp_path, [echo, about, cut])).icmp == ()


def test_a_tunnel_on_another_port_is_read_if_the_user_names_it(tmp_path: Path) -> None:
    outer = IP(src="192.0.2.1", dst="192.0.2.2")
    packets = [
        outer / UDP(sport=50000, dport=14789) / VXLAN(vni=7, flags=8) / Ether() / packet
        for packet in handshake(4)
    ]
    path = written(tmp_path, packets)
    assert len(flows.read(path).connection_table) == 0
    read = flows.read(path, decode_as={14789: "vxlan"})
    (row,) = read.connection_table.as_rows()
    assert row["network"] == "VXLAN 7 between 192.0.2.1 and 192.0.2.2"
    result = analyze(path, "--decode-as", "14789=vxlan")
    assert result.exit_code == 0 and "In VXLAN 7 between" in result.output
    assert "No TCP connection" in analyze(path, "--decode-as", "14789=geneve").output


@pytest.mark.parametrize("text", ["14789", "14789=ssh", "70000=vxlan", "x=vxlan", "=gre"])
def test_what_is_no_port_with_a_tunnel_is_refused(tmp_path: Path, text: str) -> None:
    result = analyze(written(tmp_path, handshake(4)), "--decode-as", text, status=2)
    assert "14789=vxlan" in " ".join(result.output.split())
