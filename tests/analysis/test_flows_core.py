"""The compiled engine of analysis.flows: against tcptrace, over every format, and over damaged files."""

from __future__ import annotations

import gzip
import random
import struct
from itertools import pairwise
from pathlib import Path

import polars
import pytest

from analysis import flows
from analysis.flows.columns import KINDS, PACKETS, TCPTRACE, connection_names
from tests.analysis.crafted_captures import ACK, FIN, RST, SYN, Talk, pcap, pcapng
from tests.analysis.tcptrace_columns import differences, tcptrace_rows
from topologies.errors import TcplabError, UsageError

pytest.importorskip("analysis.flows._core", reason="the compiled engine is not installed: there is no cargo here")

DATA = Path(__file__).parent / "data" / "run"
CAPTURES = sorted(DATA.rglob("*.pcap"))
RIGHTED = {"wavg_owin", "avg_segm_size"}
"""tcptrace's columns that are ours to put right, beside all whose names begin with these."""
RIGHTED_BEGINNINGS = ("RTT_full_sz", "RTT full_sz", "RTT_min", "min_retr", "avg_retr", "RTT_avg", "sdv_retr", "RTT_sdv")
KIND = {name: number for number, (name, _) in enumerate(KINDS)}


def kinds(reading: flows.Reading, forward: bool = True) -> list[str]:
    """The kinds of one direction's packets, without those that are nothing special."""
    assert reading.packets is not None
    chosen = reading.packets.filter(polars.col("forward") == forward)["kind"].to_list()
    return [KINDS[kind][0] for kind in chosen if kind not in (KIND["none"], KIND["new"])]


def written(path: Path, talk: Talk) -> flows.Reading:
    path.write_bytes(pcap(talk.packets))
    return flows.read(path, packets=True, engine="compiled")


@pytest.mark.parametrize("capture", CAPTURES, ids=lambda path: "-".join(path.parts[-2:]))
def test_with_tcptraces_definitions_every_column_is_tcptraces(capture: Path, tmp_path: Path) -> None:
    rows = tcptrace_rows(capture, tmp_path)
    assert rows and differences(rows, flows.read(capture, compatible=True).connections) == []


@pytest.mark.parametrize("capture", CAPTURES, ids=lambda path: "-".join(path.parts[-2:]))
def test_with_our_definitions_only_what_tcptrace_has_wrong_differs(capture: Path, tmp_path: Path) -> None:
    found = differences(tcptrace_rows(capture, tmp_path), flows.read(capture).connections)
    names = {name.removesuffix("_a2b").removesuffix("_b2a") for _, name, _, _ in found}
    assert {name for name in names if not name.startswith(RIGHTED_BEGINNINGS)} <= RIGHTED


def test_there_are_147_columns_of_tcptrace_and_the_frames_hold_every_column() -> None:
    assert len([name for column in TCPTRACE for name in column.names()]) == 147
    reading = flows.read(CAPTURES[0], packets=True)
    assert reading.connections.columns == connection_names()
    assert reading.packets is not None and reading.packets.columns == [column.name for column in PACKETS]


@pytest.fixture
def packets() -> list[tuple[int, bytes]]:
    talk = Talk()
    talk.handshake()
    talk.data(5)
    return talk.packets


def test_every_format_gives_the_same_frames(tmp_path: Path, packets: list[tuple[int, bytes]]) -> None:
    plain = pcap(packets)
    forms = {
        "micro": pcap(packets, nano=False), "big": pcap(packets, order=">"), "ng": pcapng(packets),
        "ng-big": pcapng(packets, order=">"), "sections": pcapng(packets[:3]) + pcapng(packets[3:], order=">"),
        "gzip": gzip.compress(plain[:200]) + gzip.compress(plain[200:]), "plain": plain,
    }  # fmt: skip
    readings = []
    for name, content in forms.items():
        (tmp_path / name).write_bytes(content)
        readings.append(flows.read(tmp_path / name, packets=True))
    for one, other in pairwise(readings):
        assert one.file.fault is None and one.file.tcp_segments == len(packets)
        assert one.connections.equals(other.connections)
        assert one.packets is not None and other.packets is not None and one.packets.equals(other.packets)


LINKS = {
    "ethernet": (1, bytes(12) + b"\x08\x00"), "vlan": (1, bytes(12) + b"\x88\xa8\x00\x01\x81\x00\x00\x02\x08\x00"),
    "cooked": (113, bytes(14) + b"\x08\x00"), "cooked 2": (276, b"\x08\x00" + bytes(18)), "raw": (101, b""),
    "ipv4": (228, b""), "null": (0, b"\x02\x00\x00\x00"), "loop": (108, b"\x00\x00\x00\x02"), "ppp": (9, b"\x00\x21"),
}  # fmt: skip


@pytest.mark.parametrize("name", LINKS)
def test_every_link_type_gives_the_same_connections(
    name: str, tmp_path: Path, packets: list[tuple[int, bytes]]
) -> None:
    link, header = LINKS[name]
    (tmp_path / "a").write_bytes(pcap(packets))
    (tmp_path / "b").write_bytes(pcap([(time, header + packet[14:]) for time, packet in packets], link=link))
    one, other = flows.read(tmp_path / "a"), flows.read(tmp_path / "b")
    assert other.file.link_types == (link,) and one.connections.equals(other.connections)


SIX = b"\x60\x00\x00\x00"
ADDRESS = b"\x20\x01\x0d\xb8" + bytes(8)


def six(packet: bytes, jumbo: bool) -> bytes:
    """The same segment in IPv6, behind a hop-by-hop header that is empty or holds a jumbo payload's length."""
    addresses, tcp = ADDRESS + packet[26:30] + ADDRESS + packet[30:34], packet[34:]
    length = len(tcp) + 8
    hops = b"\x06\x00\xc2\x04" + struct.pack(">I", length) if jumbo else b"\x06\x00\x01\x04" + bytes(4)
    header = SIX + struct.pack(">HBB", 0 if jumbo else length, 0, 64)
    return bytes(12) + b"\x86\xdd" + header + addresses + hops + tcp


@pytest.mark.parametrize("jumbo", [False, True])
def test_ipv6_gives_what_ipv4_gives(jumbo: bool, tmp_path: Path, packets: list[tuple[int, bytes]]) -> None:
    (tmp_path / "four").write_bytes(pcap(packets))
    (tmp_path / "six").write_bytes(pcap([(time, six(packet, jumbo)) for time, packet in packets]))
    four, other = flows.read(tmp_path / "four").connections, flows.read(tmp_path / "six").connections
    assert other["host_a"].to_list() == ["2001:db8::a00:1"]
    assert four.drop("host_a", "host_b").equals(other.drop("host_a", "host_b"))


def test_without_an_ip_length_the_wires_length_counts(tmp_path: Path, packets: list[tuple[int, bytes]]) -> None:
    """Big TCP: a packet above 64 KiB has a total length of 0."""
    (tmp_path / "a").write_bytes(pcap(packets))
    lost = [(time, packet[:16] + b"\x00\x00" + packet[18:]) for time, packet in packets]
    (tmp_path / "b").write_bytes(pcap(lost))
    assert flows.read(tmp_path / "a").connections.equals(flows.read(tmp_path / "b").connections)


def test_later_fragments_are_counted_and_left_out(tmp_path: Path, packets: list[tuple[int, bytes]]) -> None:
    time, last = packets[-1]
    fragment = last[:20] + b"\x00\x10" + last[22:]
    (tmp_path / "a").write_bytes(pcap([*packets, (time, fragment)]))
    facts = flows.read(tmp_path / "a").file
    assert facts.ignored == {"later fragment": 1} and facts.tcp_segments == len(packets) == facts.packets - 1


def test_padding_is_no_payload_and_what_is_cut_off_is(tmp_path: Path) -> None:
    talk = Talk()
    talk.handshake()
    talk.data(1)
    (tmp_path / "a").write_bytes(pcap([(time, packet + bytes(6)) for time, packet in talk.packets]))
    row = flows.read(tmp_path / "a").connections.row(0, named=True)
    assert row["actual_data_bytes_a2b"] == 1448 and row["truncated_data_a2b"] == 0
    (tmp_path / "b").write_bytes(pcap(talk.packets, snaplen=96))
    row = flows.read(tmp_path / "b").connections.row(0, named=True)
    assert row["actual_data_bytes_a2b"] == 1448 and row["truncated_data_a2b"] == 1448 - (96 - 54)


@pytest.mark.parametrize("cut", [-1, -60], ids=["in the packet", "in the record's header"])
def test_what_precedes_the_damage_is_read(cut: int, tmp_path: Path, packets: list[tuple[int, bytes]]) -> None:
    content = pcap(packets)[:cut]
    (tmp_path / "a").write_bytes(content)
    reading = flows.read(tmp_path / "a")
    assert reading.file.fault and "cut short" in reading.file.fault
    assert reading.file.packets == len(packets) - 1
    assert reading.file.fault_offset == len(pcap(packets[:-1]))
    with pytest.raises(TcplabError, match="cut short"):
        flows.read(tmp_path / "a", partial=False)


def test_a_length_beyond_sense_is_a_fault_and_allocates_nothing(
    tmp_path: Path, packets: list[tuple[int, bytes]]
) -> None:
    good = pcap(packets)
    (tmp_path / "a").write_bytes(good + struct.pack("<IIII", 1, 1, 0xFFFFFF00, 0xFFFFFF00) + bytes(100))
    reading = flows.read(tmp_path / "a")
    assert reading.file.fault and "impossible length" in reading.file.fault
    assert reading.file.fault_offset == len(good) and reading.file.packets == len(packets)


def test_random_damage_never_breaks_it(tmp_path: Path, packets: list[tuple[int, bytes]]) -> None:
    chance = random.Random(7)
    for content in (pcap(packets), pcapng(packets)):
        for _ in range(150):
            damaged = bytearray(content)
            for _ in range(chance.choice([1, 10, 200])):
                damaged[chance.randrange(24, len(damaged))] = chance.choice([0, 255, chance.randrange(256)])
            (tmp_path / "a").write_bytes(damaged)
            reading = flows.read(tmp_path / "a", packets=True, compatible=chance.random() < 0.5)
            assert reading.file.packets <= len(packets) * 50


def test_what_is_no_capture_is_an_error_with_a_remedy(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"hello, world, this is text")
    for path in (tmp_path / "a", tmp_path / "missing", tmp_path):
        with pytest.raises(TcplabError) as raised:
            flows.read(path)
        assert str(path) in raised.value.problem and raised.value.remedy
    with pytest.raises(UsageError, match="no engine"):
        flows.read(CAPTURES[0], engine="fast")  # type: ignore[arg-type]


def test_numbers_go_on_beyond_the_end_of_their_32_bits(tmp_path: Path) -> None:
    talk = Talk(sequence=2**32 - 3000)
    talk.handshake()
    talk.data(6)
    reading = written(tmp_path / "a", talk)
    row = reading.connections.row(0, named=True)
    assert row["unique_bytes_sent_a2b"] == 6 * 1448 and row["rexmt_data_pkts_a2b"] == 0
    assert row["max_owin_a2b"] == 1448 + 1 and row["retransmissions_a2b"] == 0
    assert reading.packets is not None and reading.packets["sequence"].max() == 5 * 1448 + 1


def test_resets_are_counted_beyond_255_and_as_tcptrace_does_on_demand(tmp_path: Path) -> None:
    talk = Talk()
    talk.handshake()
    for _ in range(300):
        talk.send(True, ACK | RST)
    (tmp_path / "a").write_bytes(pcap(talk.packets))
    assert flows.read(tmp_path / "a").connections["resets_sent_a2b"].to_list() == [300]
    assert flows.read(tmp_path / "a", compatible=True).connections["resets_sent_a2b"].to_list() == [300 % 256]


def test_ports_used_again_are_another_connection_and_a_pause_is_not(tmp_path: Path) -> None:
    talk = Talk()
    talk.handshake()
    talk.time += 600 * 10**9
    talk.data(1)
    talk.send(True, ACK | FIN)
    talk.send(False, ACK | FIN)
    again = Talk(sequence=900_000, time=talk.time + 10**9)
    again.handshake()
    talk.packets += again.packets
    assert written(tmp_path / "a", talk).connections.height == 2
    assert flows.read(tmp_path / "a", compatible=True).connections.height == 3


def test_three_duplicates_make_a_fast_retransmission_and_sack_a_sack_one(tmp_path: Path) -> None:
    for sack, kind in ((False, "fast"), (True, "sack")):
        talk = Talk()
        talk.handshake(sack=sack)
        talk.window_with_a_hole(sack=sack)
        assert kinds(written(tmp_path / "a", talk)) == [kind]


def test_after_a_silence_the_timer_sends_the_first_and_a_probe_the_last(tmp_path: Path) -> None:
    talk = Talk()
    talk.handshake(sack=True)
    first = talk.a
    talk.data(4, acknowledged=False)
    talk.time += 90_000_000
    talk.send(True, ACK, 1448, sequence=first + 3 * 1448)
    talk.time += 400_000_000
    talk.send(True, ACK, 1448, sequence=first)
    assert kinds(written(tmp_path / "a", talk)) == ["tlp", "rto"]


def test_a_duplicate_report_makes_a_retransmission_spurious(tmp_path: Path) -> None:
    talk = Talk()
    talk.handshake(sack=True)
    talk.window_with_a_hole(sack=True)
    hole = talk.a - 5 * 1448
    talk.send(False, ACK, acknowledgement=talk.a, blocks=((hole, hole + 1448),))
    reading = written(tmp_path / "a", talk)
    assert kinds(reading) == ["spurious"]
    row = reading.connections.row(0, named=True)
    assert (row["retransmissions_spurious_a2b"], row["retransmissions_sack_a2b"]) == (1, 0)
    assert row["retransmitted_segments_spurious_a2b"] == 1 and row["dsacks_b2a"] == 1


def test_at_the_receiver_a_filled_gap_is_late_and_a_second_arrival_a_copy(tmp_path: Path) -> None:
    talk = Talk(at_receiver=True)
    talk.handshake(sack=True)
    first = talk.a
    talk.send(True, ACK, 1448, sequence=first + 1448)
    talk.time += 45_000_000
    talk.send(True, ACK, 1448, sequence=first)
    talk.send(True, ACK, 1448, sequence=first)
    reading = written(tmp_path / "a", talk)
    assert kinds(reading) == ["late", "copy"]
    row = reading.connections.row(0, named=True)
    assert (row["vantage"], row["retransmissions_a2b"], row["reordered_a2b"]) == ("b", 0, 0)


def test_a_byte_below_the_acknowledged_is_a_keepalive_and_into_a_closed_window_a_probe(tmp_path: Path) -> None:
    talk = Talk()
    talk.handshake()
    talk.data(2)
    talk.send(True, ACK, sequence=talk.a - 1)
    talk.send(False, ACK, window=0)
    talk.send(True, ACK, sequence=talk.a - 1)
    assert kinds(written(tmp_path / "a", talk)) == ["keepalive", "probe"]


def test_a_syn_again_is_of_its_own_kind(tmp_path: Path) -> None:
    talk = Talk()
    talk.send(True, SYN, sequence=talk.a - 1)
    talk.time += 10**9
    talk.handshake()
    assert kinds(written(tmp_path / "a", talk)) == ["syn"]
