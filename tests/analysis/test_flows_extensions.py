"""Fast Open, Multipath TCP and AccECN in captures of known truth, made with Scapy."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from scapy.layers.inet import IP, TCP
from scapy.layers.l2 import Ether
from scapy.packet import Packet, Raw
from scapy.utils import wrpcap

from analysis import flows
from tests.analysis.looking import only_connection
from tests.analysis.test_analyze import analyze

_KEY = bytes.fromhex("1122334455667788")
"""The key of b in MP_CAPABLE."""
Option = tuple[int | str, Any]


def segment(
    at: float,
    flags: str,
    seq: int,
    ack: int = 0,
    options: Sequence[Option] = (),
    size: int = 0,
    server: bool = False,
    port: int = 40000,
) -> Packet:
    hosts, ports = ("10.0.0.1", "10.0.0.2"), (port, 80)
    (source, target), (sport, dport) = (hosts[::-1], ports[::-1]) if server else (hosts, ports)
    head = TCP(sport=sport, dport=dport, flags=flags, seq=seq, ack=ack, options=list(options))
    packet = Ether() / IP(src=source, dst=target) / head / Raw(bytes(size))
    packet.time = 1000 + at
    return packet


def opening(
    asked: Sequence[Option], answered: Sequence[Option], size: int = 0, taken: int = 0
) -> list[Packet]:
    """A SYN with `size` bytes, of which the SYN-ACK takes some, and the ACK."""
    return [
        segment(0.0, "S", 100, options=asked, size=size),
        segment(0.1, "SA", 900, 101 + taken, options=answered, server=True),
        segment(0.1001, "A", 101 + size, 901),
    ]


def written(folder: Path, packets: Sequence[Packet]) -> Path:
    path = folder / "made.pcap"
    wrpcap(str(path), list(packets))
    return path


@pytest.mark.parametrize(
    ("asked", "size", "taken", "word", "sentence"),
    [
        ((34, b""), 0, 0, "request", "Fast Open: asked for a cookie."),
        ((34, b"12345678"), 500, 500, "cookie", "500 B in the SYN, accepted."),
        ((34, b"12345678"), 500, 0, "cookie", "500 B in the SYN, rejected."),
        ((34, b"12345678"), 500, 200, "cookie", "500 B in the SYN, 200 B accepted."),
        ((254, b"\xf9\x8912345678"), 500, 500, "cookie", "500 B in the SYN, accepted."),
        ((254, b"\x00\x0012345678"), 0, 0, "", ""),
    ],
)
def test_fast_open(
    tmp_path: Path, asked: Option, size: int, taken: int, word: str, sentence: str
) -> None:
    path = written(tmp_path, opening([asked], [(34, b"87654321")], size, taken))
    row = only_connection(flows.read(path))
    assert (row["fastopen_a2b"], row["fastopen_b2a"]) == (word, "cookie")
    assert row["syn_data_a2b"] == size
    assert row["syn_data_accepted_a2b"] == (taken if size else None)
    output = analyze(path).output
    assert sentence in output and ("Fast Open" in output) == bool(sentence)


def test_data_of_a_syn_without_an_answer_is_neither_accepted_nor_refused(tmp_path: Path) -> None:
    path = written(tmp_path, opening([(34, b"12345678")], [], 500)[:1])
    row = only_connection(flows.read(path))
    assert (row["syn_data_a2b"], row["syn_data_accepted_a2b"]) == (500, None)
    assert "500 B in the SYN, not answered." in analyze(path).output


@pytest.mark.parametrize(("version", "digest"), [(1, "sha256"), (0, "sha1")])
def test_multipath_names_the_subflows_of_a_connection(
    tmp_path: Path, version: int, digest: str
) -> None:
    """The token of a join is the beginning of the hash of the key (RFC 8684, 6824)."""
    token = hashlib.new(digest, _KEY).digest()[:4]
    capable = bytes((version, 0x81))
    packets = opening([(30, capable)], [(30, capable + _KEY)])
    join = [(30, b"\x10\x00" + token + b"\x01\x02\x03\x04")]
    for port, options in ((40001, join), (40002, [(30, b"\x10\x00" + bytes(8))])):
        packets.append(segment(0.2, "S", 100, options=options, port=port))
        answer = [(30, b"\x10\x00" + bytes(12))]
        packets.append(segment(0.3, "SA", 900, 101, options=answer, server=True, port=port))
        packets.append(segment(0.3001, "A", 101, 901, port=port))
    path = written(tmp_path, packets)
    rows = list(flows.read(path).connection_table.as_rows())
    assert [row["mptcp_a2b"] for row in rows] == ["capable", "join", "join"]
    assert [row["mptcp_version_b2a"] for row in rows] == [version, None, None]
    assert rows[0]["mptcp_key_b2a"] == _KEY.hex()
    assert [row["mptcp_token_a2b"] for row in rows] == [None, int.from_bytes(token, "big"), 0]
    output = " ".join(analyze(path).output.split())
    assert f"Multipath TCP, version {version}: joined by connection 2." in output
    assert "Multipath TCP: a subflow of connection 1." in output
    assert "a subflow of a connection that is not in the capture." in output


def test_a_server_without_multipath_refuses_it(tmp_path: Path) -> None:
    path = written(tmp_path, opening([(30, b"\x01\x81")], []))
    row = only_connection(flows.read(path))
    assert (row["mptcp_a2b"], row["mptcp_b2a"]) == ("capable", "")
    assert "Multipath TCP: asked for, refused." in analyze(path).output


def test_options_of_accurate_ecn_are_counted(tmp_path: Path) -> None:
    """Both SYNs agree on it, and ACKs have the option in either order of its counters."""
    packets = [
        segment(0.0, "SECN", 100),
        segment(0.1, "SAC", 900, 101, server=True, options=[(172, bytes(9))]),
        segment(0.1001, "A", 101, 901),
        segment(0.2, "PA", 101, 901, size=100),
        segment(0.3, "A", 901, 201, server=True, options=[(174, bytes(9))]),
    ]
    path = written(tmp_path, packets)
    row = only_connection(flows.read(path))
    assert (row["ecn_counter_a2b"], row["ecn_counter_b2a"]) == ("accurate", "accurate")
    assert (row["accecn_options_a2b"], row["accecn_options_b2a"]) == (0, 2)
    assert "ECN is accurate: 2 options of counters." in analyze(path).output
