"""The live network is its spec: queues fill on every shape, settings are proved, tools agree."""

import dataclasses
import json
import re
import statistics
from pathlib import Path

import pytest

from experiments.spec import Condition, ExperimentSpec, Flow, Proof
from tests.virtual.conftest import read
from topologies.errors import TcplabError
from topologies.shapes import chain, dumbbell, parking_lot, star, two_hosts
from topologies.spec import Channel, TopologySpec
from topologies.units import Duration, Packets, Rate

pytestmark = pytest.mark.virtual
ROOT = Path(__file__).resolve().parents[2]
MBIT = Rate.parse("100mbit")
ROUND_TRIP = Duration.parse("20ms")


def channel(hops: int) -> Channel:
    """100 Mbit/s and 200 packets of queue; `hops` such channels each way have 20 ms round trip."""
    return Channel(MBIT, Duration(ROUND_TRIP.base // 2 // hops), queue=Packets(200))


@pytest.mark.parametrize(
    ("topology", "sender", "receiver", "bottleneck"),
    [
        (two_hosts(channel(1)), "h1", "h2", "s1-eth2"),
        (dumbbell(2, channel(1)), "h1", "r1", "s1-eth3"),
        (chain(3, channel(3)), "h1", "h2", "r1-eth1"),
        (star(channel(1)), "left", "right", "center-eth1"),
        (parking_lot(2, channel(2)), "h1", "h2", "r1-eth1"),
    ],
    ids=lambda value: getattr(value, "name", None),
)
def test_the_queue_of_the_bottleneck_fills(
    in_guest, topology: TopologySpec, sender: str, receiver: str, bottleneck: str
) -> None:
    """Small queues of TCP let 200 packets fill it: 200 * 1514 * 8 / 10^8 = 24.2 ms, above 20."""
    flow = Flow("flow1", sender, receiver, Duration.parse("8s"))
    spec = ExperimentSpec("bottleneck", "", topology, (flow,), (Condition("only", "only"),))
    folder = in_guest(spec)[0] / "only"
    lines = [
        json.loads(line) for line in (folder / f"{sender}.sockets.jsonl").read_text().splitlines()
    ]
    rows = [row for line in lines for row in line["sockets"] if row["state"] == "ESTAB"]
    rtts = [row["rtt_us"] / 1000 for row in rows]
    netem, _tbf, queue = read(folder / "qdiscs.json")["after"][bottleneck]
    assert 19_990 <= rows[-1]["min_rtt_us"] < 20_500
    assert 36 < statistics.median(rtts) < 44.5
    assert 43 < max(rtts) < 46
    assert queue["drops"] > 0
    assert netem["drops"] == queue["drops"], "the delay line itself dropped packets"


def test_the_condition_is_proved_from_both_syns(in_guest, short_sack: ExperimentSpec) -> None:
    folder, _ = in_guest(short_sack)
    for name, word in (("sack_off", "no sackOK"), ("sack_on", ": sackOK")):
        evidence = read(folder / name / "evidence.json")
        assert evidence["held"]
        assert all(
            word in seen and "(0 seen)" not in seen for seen in evidence["proofs"][0]["observed"]
        )
        assert (
            evidence["sysctls"]["h1"]["net.ipv4.tcp_sack"]
            == evidence["sysctls"]["h2"]["net.ipv4.tcp_dsack"]
        )
    assert (folder / "sack_off" / "h2-eth0.pcap").stat().st_size > 10_000


def test_a_condition_that_did_not_hold_is_noticed(in_guest, short_sack: ExperimentSpec) -> None:
    claimed = Condition(
        "claimed", "claimed", (("net.ipv4.tcp_sack", "0"),), (Proof("sack_permitted", "on"),)
    )
    folder, _ = in_guest(dataclasses.replace(short_sack, conditions=(claimed,), headline=None))
    assert read(folder / "claimed" / "evidence.json")["held"] is False


def test_counters_captures_and_queues_agree(in_guest, short_sack: ExperimentSpec) -> None:
    """The kernel's counters against what was captured: segments sent by h1, and lost on the way."""
    folder = in_guest(short_sack)[0] / "sack_on"
    counters, qdiscs = read(folder / "counters.json"), read(folder / "qdiscs.json")
    sent = counters["after"]["h1"]["TcpOutSegs"] - counters["before"]["h1"]["TcpOutSegs"]
    sent += counters["after"]["h1"]["TcpRetransSegs"] - counters["before"]["h1"]["TcpRetransSegs"]
    received = counters["after"]["h2"]["TcpInSegs"] - counters["before"]["h2"]["TcpInSegs"]
    line_before, line_after = qdiscs["before"]["s1-eth2"][0], qdiscs["after"]["s1-eth2"][0]
    assert line_after["drops"] - line_before["drops"] == sent - received > 0
    assert line_after["packets"] - line_before["packets"] == received
    for name in ("h1", "h2"):
        assert "0 packets dropped by kernel" in (folder / f"{name}-eth0.tcpdump.txt").read_text()


def test_a_setting_the_kernel_has_not_is_an_error_that_names_it(in_guest, short_sack) -> None:
    wrong = Condition("wrong", "wrong", (("net.ipv4.tcp_congestion_control", "nonesuch"),))
    with pytest.raises(TcplabError, match="tcp_congestion_control cannot be set to nonesuch"):
        in_guest(dataclasses.replace(short_sack, conditions=(wrong,), headline=None))


def test_the_sampler_says_what_ss_says(in_guest) -> None:
    seen = read(in_guest({"job": "compare_with_ss"}, module="tests.virtual.jobs")[0] / "both.json")
    ours = next(row for row in seen["ours"] if row["remote"] == "127.0.0.1:5001")
    lines = seen["ss"].splitlines()
    at = next(
        number
        for number, line in enumerate(lines)
        if line.split()[4] == "127.0.0.1:5001" and "\t" not in line[:1]
    )
    state, details = lines[at].split()[0], lines[at + 1]
    assert ours["state"] == state
    assert f" {ours['congestion_control']} " in f" {details.strip()} "
    for name, ours_name in {
        "cwnd": "cwnd",
        "mss": "mss",
        "bytes_sent": "bytes_sent",
        "segs_out": "segs_out",
    }.items():
        assert int(re.search(rf"\b{name}:(\d+)", details)[1]) == ours[ours_name]
    rtt, variance = re.search(r"\brtt:([\d.]+)/([\d.]+)", details).groups()
    assert (float(rtt) * 1000, float(variance) * 1000) == pytest.approx(
        (ours["rtt_us"], ours["rttvar_us"]), abs=1
    )
