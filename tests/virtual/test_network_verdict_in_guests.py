"""Networks of the lab kernel are judged good, and a run that is repeated is the same."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from analysis.measures.readings import TrialReadings
from analysis.network import counts
from analysis.network.verdict import Usability, judge_network
from analysis.records.run_directory import run_of
from experiments.spec import Condition, ExperimentSpec, Flow, sending_with
from topologies.data import to_data
from topologies.shapes import chain, dumbbell, two_hosts
from topologies.spec import Channel, TopologySpec
from topologies.units import Duration, Packets, Rate, Share

pytestmark = pytest.mark.virtual

InGuest = Callable[..., tuple[Path, Any]]
Ends = list[tuple[str, str]]


def channel(
    rate: str, delay: str, queue: int, loss: str = "0%", discipline: Any = "fifo"
) -> Channel:
    return Channel(
        Rate.parse(rate),
        Duration.parse(delay),
        Share.parse(loss),
        queue=Packets(queue),
        discipline=discipline,
    )


NETWORKS: dict[str, tuple[TopologySpec, Ends]] = {
    "two hosts": (two_hosts(channel("10mbit", "10ms", 20)), [("h1", "h2")]),
    "fast": (two_hosts(channel("400mbit", "2ms", 50, "1%")), [("h1", "h2")]),
    "slow": (two_hosts(channel("200kbit", "0s", 5)), [("h1", "h2")]),
    "dumbbell": (
        dumbbell(2, channel("20mbit", "5ms", 40, "0%", "fq_codel")),
        [("h1", "r1"), ("h2", "r2")],
    ),
    "chain": (chain(3, channel("10mbit", "3ms", 30, "0.5%")), [("h1", "h2")]),
}
MEASURED = ("Spacing of packets on a busy link", "Packets that waited for a link")


@pytest.mark.parametrize("name", NETWORKS)
def test_a_network_of_the_lab_kernel_is_good(in_guest: InGuest, name: str) -> None:
    topology, ends = NETWORKS[name]
    flows = tuple(
        Flow(f"flow{at}", *pair, Duration.parse("3s"), port=5000 + at)
        for at, pair in enumerate(ends, 1)
    )
    captures = tuple(f"{host}-eth0" for pair in ends for host in pair)
    spec = ExperimentSpec("judged", "", topology, flows, (Condition("only", "only"),), captures)
    folder, _ = in_guest(spec)
    verdict = judge_network(run_of(folder, to_data(spec)))
    outcomes = {check.what: check.outcome for check in verdict.checks}
    assert verdict.verdict == Usability.GOOD, verdict.reasons
    assert {outcomes[what] for what in MEASURED} == {"ok"}


@pytest.mark.parametrize("algorithm", ["dctcp", "cubic"])
def test_a_queue_that_marks_packets_is_good(in_guest: InGuest, algorithm: str) -> None:
    usual = sending_with(algorithm)
    marked = replace(usual, sysctls=(*usual.sysctls, ("net.ipv4.tcp_ecn", "1")))
    spec = ExperimentSpec(
        "marked",
        "",
        two_hosts(channel("20mbit", "5ms", 200, discipline="fq_codel")),
        (Flow("flow1", "h1", "h2", Duration.parse("3s")),),
        (marked,),
        ("h1-eth0", "h2-eth0"),
    )
    folder, _ = in_guest(spec)
    counted = json.loads((folder / algorithm / "counters.json").read_text())["after"]["h2"]
    assert counted["IpExtInCEPkts"] > 0
    verdict = judge_network(run_of(folder, to_data(spec)))
    assert verdict.verdict == Usability.GOOD, verdict.reasons
    (trial,) = run_of(folder, to_data(spec)).trials
    readings = TrialReadings(run_of(folder, to_data(spec)), trial)
    assert readings.ports["marked"] == readings.receiver["ce_packets"] > 0
    (check,) = [check for check in verdict.checks if check.what == counts.MARKS]
    assert check.measured == f"{readings.receiver['ce_packets']:,.0f} arrived"
    assert readings.sender["back.ece_packets"] > 0


def test_a_wrong_network_is_not_good(in_guest: InGuest) -> None:
    """What was run is held against another network than the one that was asked for."""
    run, asked = (
        ExperimentSpec(
            "judged",
            "",
            two_hosts(channel(rate, delay, queue)),
            (Flow("flow1", "h1", "h2", Duration.parse("3s")),),
            (Condition("only", "only"),),
            ("h1-eth0", "h2-eth0"),
        )
        for rate, delay, queue in (("10mbit", "10ms", 20), ("9.9mbit", "11ms", 15))
    )
    folder, _ = in_guest(run)
    verdict = judge_network(run_of(folder, to_data(asked)))
    wrong = {check.what for check in verdict.checks if check.outcome == "not as asked"}
    assert {"Round trip of a lone packet", "Rate of a busy link"} <= wrong
