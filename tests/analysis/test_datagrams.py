"""UDP and QUIC: flows with known rates, gaps and round trips."""

from __future__ import annotations

import struct
from pathlib import Path
from random import Random
from typing import Any

import pytest

from analysis import flows
from tests.analysis import frames
from tests.analysis.captures import MadeCapture
from tests.analysis.test_analyze import analyze
from tests.analysis.wrappings import vxlan, wrapped

HOSTS = ("10.0.0.1", "192.0.2.1")
IDENTIFIER = bytes.fromhex("8394c8f03e515708")


def put(capture: MadeCapture, at: float, payload: bytes, back: bool = False) -> None:
    ports = (443, 5000) if back else (5000, 443)
    datagram = struct.pack(">HHHH", *ports, 8 + len(payload), 0) + payload
    hosts = HOSTS[::-1] if back else HOSTS
    capture.add(at, frames.ipv4(hosts, datagram, len(datagram), protocol=17))


def long_header(version: int, kind: int = 0, size: int = 1200) -> bytes:
    head = bytes([0xC0 | kind << 4]) + struct.pack(">IB", version, 8) + IDENTIFIER + b"\0"
    return head.ljust(size, b"\1")


def short_header(spin: bool) -> bytes:
    return bytes([0x40 | 0x20 * spin]).ljust(1000, b"\1")


def quic(version: int, spins: bool = True, kind: int = 0, trip: float = 0.05) -> MadeCapture:
    """A handshake whose first Initial is lost, then packets every ms for twenty round trips."""
    capture, draw = MadeCapture(), Random(1)
    put(capture, 0, long_header(version, kind))
    put(capture, 1, long_header(version, kind))
    put(capture, 1 + trip, long_header(version, kind), back=True)
    put(capture, 1 + trip + 0.001, long_header(version, 2))
    for number in range(round(20 * trip * 1000)):
        spin = bool(number // round(trip * 1000) % 2) if spins else draw.random() < 0.5
        put(capture, 2 + number / 1000, short_header(spin), back=True)
    return capture


def only(capture: MadeCapture, folder: Path) -> dict[str, Any]:
    (flow,) = flows.read(capture.write(folder)).udp
    return flow


@pytest.mark.parametrize(
    ("version", "kind", "name"),
    [(1, 0, "1"), (0x6B3343CF, 1, "2"), (0xFF00001D, 0, "draft-29")],
)
def test_quic_has_version_identifier_and_round_trips(
    tmp_path: Path, version: int, kind: int, name: str
) -> None:
    capture = quic(version, kind=kind)
    flow = only(capture, tmp_path)
    assert flow["quic_version"] == name and flow["quic_identifier"] == IDENTIFIER.hex()
    assert flow["handshake_outer"] == 50_000_000 and flow["handshake_inner"] == 1_000_000
    assert flow["spin_samples"] == 18
    assert flow["spin_p50"] == pytest.approx(50e6, rel=0.01)
    text = " ".join(analyze(tmp_path / "made.pcap").output.split())
    assert f"QUIC {name}:" in text and "handshake 51 ms" in text and "spin bit 50" in text
    assert "10.0.0.1:5000 \N{RIGHTWARDS ARROW} 192.0.2.1:443, DCID 8394c8f03e515708" in text


def test_a_drawn_spin_bit_gives_no_round_trips(tmp_path: Path) -> None:
    flow = only(quic(1, spins=False), tmp_path)
    assert flow["spin_samples"] == 0 and flow["spin_p50"] is None


def test_other_udp_has_rates_and_gaps_also_in_a_tunnel(tmp_path: Path) -> None:
    """The capture has no TCP; within the tunnel the inner flow counts."""
    capture = MadeCapture()
    for number in range(10):
        put(capture, number / 10, b"\x80" + bytes(999))
    put(capture, 3.0, bytes(100), back=True)
    flow = only(capture, tmp_path)
    assert (flow["packets_a2b"], flow["bytes_a2b"], flow["packets_b2a"]) == (10, 10_000, 1)
    assert flow["longest_gap_a2b"] == 100_000_000 and flow["duration"] == 3 * 10**9
    assert flow["quic_version"] == "" and flow["handshake_outer"] is None
    text = " ".join(analyze(tmp_path / "made.pcap").output.split())
    assert "UDP: 1 flow" in text and "26.7 kbit/s and 267 bit/s back" in text
    tunnelled = only(wrapped(capture, vxlan(5)), tmp_path)
    assert tunnelled["network"] == "VXLAN 5 between 192.0.2.1 and 192.0.2.2"
    assert (tunnelled["host_a"], tunnelled["bytes_a2b"]) == ("10.0.0.1", 10_000)
