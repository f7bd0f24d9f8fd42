"""Odd captures of known truth, made with Scapy.

Ports used again half-open, mirrored packets, time that goes back.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

import pytest
from polars.testing import assert_frame_equal
from scapy.layers.inet import IP, TCP
from scapy.layers.inet6 import IPv6
from scapy.layers.l2 import Ether
from scapy.packet import Packet, Raw
from scapy.utils import wrpcap

from analysis import flows
from tests.analysis.looking import kinds

OLD, NEW = (1_000_000, 5_000_000), (700_000_000, 900_000_000)
"""First sequence numbers of client and server, of two connections with the same ends."""
SIZE = 500
START = 1000
"""Seconds since 1970: tcptrace takes the time 0 for none."""
_LINK = Ether(src="02:00:00:00:00:01", dst="02:00:00:00:00:02")


@dataclass
class OddWire:
    """Packets of one client and one server in the order sent; numbers are as on the wire."""

    six: bool = False
    firsts: tuple[int, int] = (300, 40_000)
    """The first IPv4 identification of either end; 0 stays 0, as with RFC 6864."""

    def __post_init__(self) -> None:
        self.packets: list[Packet] = []
        self._next = list(self.firsts)

    def put(
        self, at: float, flags: str, seq: int, ack: int = 0, size: int = 0, server: bool = False
    ) -> None:
        hosts, ports = ("10.0.0.1", "10.0.0.2"), (40000, 80)
        if self.six:
            hosts = ("fd00::1", "fd00::2")
        (source, target), (sport, dport) = (hosts[::-1], ports[::-1]) if server else (hosts, ports)
        number = self._next[server]
        self._next[server] += number > 0
        below = IPv6(src=source, dst=target) if self.six else IP(src=source, dst=target, id=number)
        numbers = {"seq": seq % 2**32, "ack": ack % 2**32}
        packet = _LINK / below / TCP(sport=sport, dport=dport, flags=flags, window=60000, **numbers)
        packet = packet / Raw(bytes(size)) if size else packet
        packet.time = START + at
        self.packets.append(packet)

    def handshake(self, at: float, firsts: tuple[int, int]) -> None:
        self.put(at, "S", firsts[0])
        self.put(at + 0.02, "SA", firsts[1], firsts[0] + 1, server=True)
        self.put(at + 0.0201, "A", firsts[0] + 1, firsts[1] + 1)

    def ask(self, at: float, firsts: tuple[int, int], bytes_before: int = 0) -> None:
        """A segment of the client and its ACK."""
        first = firsts[0] + 1 + bytes_before
        self.put(at, "PA", first, firsts[1] + 1, SIZE)
        self.put(at + 0.02, "A", firsts[1] + 1, first + SIZE, server=True)

    def challenged(self, at: float) -> None:
        """The client forgot the old connection: RFC 5961, section 4.2, with its figure."""
        self.put(at, "S", NEW[0])
        self.put(at + 0.02, "A", OLD[1] + 1, OLD[0] + 1 + SIZE, server=True)
        self.put(at + 0.0201, "R", OLD[0] + 1 + SIZE)

    def close(self, at: float, firsts: tuple[int, int], size: int = SIZE) -> None:
        client, server = firsts[0] + 1 + size, firsts[1] + 1
        self.put(at, "FA", client, server)
        self.put(at + 0.02, "FA", server, client + 1, server=True)
        self.put(at + 0.0201, "A", client + 1, server + 1)

    def mirrored(self) -> list[Packet]:
        """Each packet and 4 us later the same once more."""
        twice = [(original, original.copy()) for original in self.packets]
        for original, copy in twice:
            copy.time = original.time + 4e-6
        return [packet for pair in twice for packet in pair]


Read = Callable[..., flows.Reading]


@pytest.fixture
def read(tmp_path: Path) -> Read:
    """Writes packets as they stand, and reads them with the engine."""

    def written(made: Sequence[Packet], **settings: Any) -> flows.Reading:
        path = tmp_path / "odd.pcap"
        wrpcap(str(path), made)
        return flows.read(path, **{"packets": True, **settings})

    return written


def _marks(reading: flows.Reading) -> list[tuple[int, int, int, int]]:
    """SYNs and resets of either end, for each connection."""
    names = ("syns_a2b", "syns_b2a", "resets_sent_a2b", "resets_sent_b2a")
    return list(reading.connections.select(names).iter_rows())


def _numbers(reading: flows.Reading) -> list[int]:
    assert reading.packets is not None
    return reading.packets["connection"].to_list()


# Ports used again while the other end still holds the old connection


def reused(old: bool = True, rounds: int = 1) -> OddWire:
    wire = OddWire()
    if old:
        wire.handshake(0.0, OLD)
        wire.ask(0.1, OLD)
    for number in range(rounds):
        wire.challenged(5.0 + number)
    wire.handshake(9.0, NEW)
    wire.ask(9.1, NEW)
    wire.close(9.2, NEW)
    return wire


@pytest.mark.parametrize("packets", [False, True])
@pytest.mark.parametrize("rounds", [1, 2])
def test_the_challenge_ack_and_its_reset_are_the_old_connections(
    read: Read, packets: bool, rounds: int
) -> None:
    reading = read(reused(rounds=rounds).packets, packets=packets)
    assert _marks(reading) == [(1, 1, rounds, 0), (rounds + 1, 1, 0, 0)]
    assert reading.connections["complete"].to_list() == ["reset", "yes"]
    assert reading.connections["total_packets_b2a"].to_list() == [2 + rounds, 3]
    assert reading.connections["unique_bytes_sent_a2b"].to_list() == [SIZE, SIZE]
    assert reading.connections["syns_again_a2b"].to_list() == [0, rounds]


def test_each_packet_of_a_reused_port_is_in_its_connection(read: Read) -> None:
    reading = read(reused().packets)
    assert _numbers(reading) == [1] * 5 + [2] + [1] * 2 + [2] * 8
    assert kinds(reading)[3:6] == ["none", "none", "syn"]
    assert reading.packets is not None
    assert reading.packets["sequence"].to_list()[5:8] == [0, 1, 1 + SIZE]


def test_what_is_left_of_a_connection_before_the_capture_stands_alone(read: Read) -> None:
    for packets in (False, True):
        reading = read(reused(old=False, rounds=2).packets, packets=packets)
        assert _marks(reading) == [(3, 1, 0, 0), (0, 0, 0, 2)]
        assert reading.connections["host_a"].to_list() == ["10.0.0.1", "10.0.0.2"]
        assert reading.connections["bytes_acknowledged_a2b"].to_list() == [SIZE, 0]


def test_old_data_and_a_syn_with_yet_another_number_do_not_mix_with_the_new_connection(
    read: Read,
) -> None:
    wire = OddWire()
    wire.handshake(0.0, OLD)
    wire.ask(0.1, OLD)
    wire.put(5.0, "S", NEW[0] - 99_000_000)
    wire.put(5.02, "PA", OLD[1] + 1, OLD[0] + 1 + SIZE, SIZE, server=True)
    wire.challenged(6.0)
    wire.handshake(7.0, NEW)
    reading = read(wire.packets)
    assert _numbers(reading) == [1, 1, 1, 1, 1, 2, 1, 3, 1, 1, 3, 3, 3]
    assert reading.connections["actual_data_pkts_b2a"].to_list() == [1, 0, 0]


def test_the_server_may_have_begun_the_old_connection(read: Read) -> None:
    wire = OddWire()
    wire.put(0.0, "S", OLD[1], server=True)
    wire.put(0.02, "SA", OLD[0], OLD[1] + 1)
    wire.put(0.04, "A", OLD[1] + 1, OLD[0] + 1, server=True)
    wire.ask(0.1, OLD)
    wire.challenged(5.0)
    wire.handshake(9.0, NEW)
    reading = read(wire.packets)
    assert _marks(reading) == [(1, 1, 0, 1), (2, 1, 0, 0)]


@pytest.mark.parametrize("flags", ["RA", "R"])
def test_a_syn_that_is_refused_is_one_connection_whatever_was_before(
    read: Read, flags: str
) -> None:
    wire = reused()
    wire.put(20.0, "S", 77)
    wire.put(20.02, flags, 0, 78 if flags == "RA" else 0, server=True)
    reading = read(wire.packets)
    assert _marks(reading)[2:] == [(1, 0, 0, 1)]


def test_a_syn_whose_answer_is_not_captured_begins_one_connection(read: Read) -> None:
    wire = OddWire()
    wire.handshake(0.0, NEW)
    for number in range(4):
        wire.ask(0.1 + number, NEW, number * SIZE)
    kept = [
        wire.packets[0],
        *wire.packets[6:],
    ]  # the first that comes is an ACK of bytes that the capture lacks
    reading = read(kept)
    assert _marks(reading) == [(1, 0, 0, 0)]
    assert set(_numbers(reading)) == {1}


def test_tcptrace_splits_as_it_does(read: Read) -> None:
    """tcptrace 6.6.7: the SYN belongs to the old connection; the third begins a new one."""
    reading = read(reused().packets, compatible=True)
    assert _marks(reading) == [(2, 1, 1, 0), (1, 1, 0, 0)]


# A mirror port


def mirrored(**settings: Any) -> list[Packet]:
    wire = OddWire(**settings)
    wire.handshake(0.0, OLD)
    for number in range(3):
        wire.ask(0.1 + number / 10, OLD, number * SIZE)
    wire.close(0.5, OLD, 3 * SIZE)
    return wire.mirrored()


def test_copied_syns_and_fins_are_copies(read: Read) -> None:
    for packets in (False, True):
        reading = read(mirrored(), packets=packets)
        row = reading.connections.row(0, named=True)
        assert [
            row[f"{name}_{way}"] for name in ("syns_again", "fins_again") for way in ("a2b", "b2a")
        ] == [0] * 4
        # SYN, ACK, requests, FIN and ACK; SYN-ACK, ACKs and FIN.
        assert (row["copies_a2b"], row["copies_b2a"]) == (1 + 1 + 3 + 1 + 1, 1 + 3 + 1)
        assert row["retransmissions_a2b"] == 0
        assert (row["SYN/FIN_pkts_sent_a2b"], row["SYN/FIN_pkts_sent_b2a"]) == ("1/1", "1/1")
    assert kinds(reading, forward=False)[:2] == ["none", "copy"]


@pytest.mark.parametrize("settings", [{"six": True}, {"firsts": (0, 0)}])
def test_without_an_identification_copied_syns_and_fins_are_known_by_their_time(
    read: Read, settings: Any
) -> None:
    row = read(mirrored(**settings)).connections.row(0, named=True)
    assert [
        row[f"{name}_{way}"] for name in ("syns_again", "fins_again") for way in ("a2b", "b2a")
    ] == [0] * 4


def test_a_syn_and_a_fin_that_are_really_sent_again_are_no_copies(read: Read) -> None:
    wire = OddWire()
    wire.put(0.0, "S", OLD[0])
    wire.handshake(1.0, OLD)
    wire.put(2.0, "FA", OLD[0] + 1, OLD[1] + 1)
    wire.put(2.4, "FA", OLD[0] + 1, OLD[1] + 1)
    row = read(wire.mirrored()).connections.row(0, named=True)
    assert (row["syns_again_a2b"], row["fins_again_a2b"], row["copies_a2b"]) == (1, 1, 5)


# Time that goes back


@pytest.mark.parametrize("packets", [False, True])
def test_records_before_their_predecessor_are_counted(read: Read, packets: bool) -> None:
    wire = OddWire()
    wire.handshake(0.0, OLD)
    for number in range(4):
        wire.ask(0.1 + number / 10, OLD, number * SIZE)
    wire.packets[5].time = (
        START - 1
    )  # the middle of a connection, which neither ends nor begins before its time
    wire.packets[8].time = START + 0.25
    facts = read(wire.packets, packets=packets).file
    assert (facts.backwards, facts.longest_back) == (2, 1_120_000_000)


def test_in_order_none_goes_back(read: Read) -> None:
    facts = read(reused().packets).file
    assert (facts.backwards, facts.longest_back) == (0, 0)


# By chance


def _by_chance(seed: int) -> list[Packet]:
    """Packets of one pair of ends, with the numbers of three connections, in any order."""
    chance, wire = Random(seed), OddWire(six=seed % 5 == 0)
    near = (0, 1, 1 + SIZE, 2**20 - 1, 2**20, 2**20 + 1, -1)
    for number in range(chance.randint(4, 25)):
        server, (client, other) = chance.random() < 0.4, chance.choice([OLD, NEW, (2**32 - 9, 7)])
        seq, ack = ((other, client) if server else (client, other))[:2]
        flags = chance.choice(["S", "S", "S", "SA", "A", "A", "R", "RA", "PA", "FA", "P", "SR"])
        at, size = 1.0 + number * chance.choice([0.001, 0.3]), SIZE if "P" in flags else 0
        wire.put(at, flags, seq + chance.choice(near), ack + chance.choice(near), size, server)
        if chance.random() < 0.2:
            wire.packets.append(wire.packets[-1].copy())
    return wire.packets


def test_small_connections_are_the_same_with_and_without_packets(tmp_path: Path) -> None:
    path, alone = tmp_path / "chance.pcap", 0
    for seed in range(150):
        wrpcap(str(path), _by_chance(seed))
        one = flows.read(path, packets=True)
        # Without rows the packets of small connections are only kept.
        kept = flows.read(path)
        assert_frame_equal(one.connections, kept.connections, check_exact=True)
        alone += one.connections["syns_a2b"].to_list().count(0)
    assert alone > 30
