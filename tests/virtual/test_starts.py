"""Flows begin when their spec says and last as long as it says, each from its own start."""

import pytest

from analysis.flows.reader import read
from analysis.records import output
from experiments.spec import Condition, ExperimentSpec, Flow
from topologies.shapes import two_hosts
from topologies.spec import Channel
from topologies.units import Duration, Rate

pytestmark = pytest.mark.virtual
STARTS = ("0s", "3s", "500ms")


def started(number: int, start: str) -> Flow:
    return Flow(
        f"flow{number}",
        "h1",
        "h2",
        Duration.parse("2s"),
        port=5001 + number,
        start=Duration.parse(start),
    )


def test_each_flow_begins_at_its_start_and_lasts_its_own_duration(in_guest) -> None:
    flows = tuple(started(number, start) for number, start in enumerate(STARTS))
    network = two_hosts(Channel(Rate.parse("10mbit"), Duration.parse("5ms")))
    only = (Condition("only", "only"),)
    spec = ExperimentSpec("starts", "", network, flows, only, captures=("h1-eth0",))
    folder = in_guest(spec)[0] / "only"
    connections = read(folder / "h1-eth0.pcap").connections
    began = dict(zip(connections["port_b"], connections["first_packet"], strict=True))
    for flow in flows:
        after = (began[flow.port] - began[flows[0].port]) / 1e9
        assert after == pytest.approx(flow.start.seconds, abs=1e-3)  # 0.05 ms were measured
        summary = output.read_summary((folder / f"{flow.name}.client.txt").read_text())
        assert summary is not None and 2 <= summary.interval < 2.6
