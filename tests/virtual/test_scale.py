"""A guest with many hosts and flows is as right as one with two: batches lose nothing."""

import re

import pytest

from experiments.spec import Condition, ExperimentSpec, Flow, Proof
from tests.virtual.conftest import digests, read
from topologies.addresses import address_of, interfaces, neighbours, routes
from topologies.data import to_data
from topologies.shapes import chain, dumbbell, parking_lot
from topologies.spec import Channel, TopologySpec
from topologies.units import Duration, Packets, Rate

pytestmark = pytest.mark.virtual
CHANNEL = Channel(Rate.parse("100mbit"), Duration.parse("5ms"), queue=Packets(1000))
PAIRS, FLOWS = 10, 40


@pytest.fixture(scope="module")
def many() -> ExperimentSpec:
    """40 flows over the ten pairs of a dumbbell, half of them each way, several to a host."""
    flows = tuple(_flow(number) for number in range(FLOWS))
    reno = (("net.ipv4.tcp_congestion_control", "reno"),)
    condition = Condition(
        "reno", "reno", reno, (Proof("congestion_control", "reno"), Proof("sack_permitted", "on"))
    )
    return ExperimentSpec(
        "many", "", dumbbell(PAIRS, CHANNEL), flows, (condition,), ("h1-eth0", "r1-eth0")
    )


def _flow(number: int) -> Flow:
    ends = [f"{side}{number % PAIRS + 1}" for side in ("hr" if number < FLOWS // 2 else "rh")]
    return Flow(f"flow{number}", *ends, Duration.parse("2s"), port=5001 + number // PAIRS)


def test_many_flows_all_have_results_and_all_settings_are_right(in_guest, many) -> None:
    folder, _ = in_guest(many)
    environment, evidence = (
        read(folder / "environment.json"),
        read(folder / "reno" / "evidence.json"),
    )
    rows = environment["asked_and_found"]
    assert {row["interface"] for row in rows} == {port.name for port in many.topology.ports}
    assert [row for row in rows if row["asked"] != row["found"]] == []
    assert {
        sysctls["net.ipv4.tcp_congestion_control"] for sysctls in evidence["sysctls"].values()
    } == {"reno"}
    assert len(evidence["sysctls"]) == 2 * PAIRS
    assert evidence["held"] and evidence["warnings"] == []
    proved = [row["claim"] for row in evidence["proofs"]]
    assert len([claim for claim in proved if claim.endswith("sends with reno")]) == FLOWS
    seen = [claim for claim in proved if "SYNs offer selective acknowledgement" in claim]
    assert (
        len(seen) == FLOWS // PAIRS
    )  # those whose receiver has a capture; the others by their sockets
    assert len([claim for claim in proved if "selective acknowledgement" in claim]) == FLOWS
    for flow in many.flows:
        output = (folder / "reno" / f"{flow.name}.server.txt").read_text()
        assert address_of(many.topology, flow.sender) in output and re.search(
            r"\d+(\.\d+)? \w?bits/sec", output
        ), output
    counters = read(folder / "reno" / "counters.json")["after"]
    assert sum(host["TcpPassiveOpens"] for host in counters.values()) == FLOWS


def test_many_flows_repeat_from_their_seed(in_guest, many: ExperimentSpec) -> None:
    assert digests(in_guest(many)[0]) == digests(in_guest(many)[0])


def test_the_kernel_has_the_addresses_of_the_spec_and_nothing_is_left(in_guest) -> None:
    shapes = [
        dumbbell(2, CHANNEL),
        parking_lot(2, CHANNEL),
        chain(2, CHANNEL),
        dumbbell(2, CHANNEL),
    ]
    folder, _ = in_guest([to_data(shape) for shape in shapes], module="tests.virtual.scale_jobs")
    for shape, seen in zip(shapes, read(folder / "seen.json"), strict=True):
        for node, has in seen["nodes"].items():
            _check_node(shape, node, has)
        assert seen["messages"]["echo"] == "42\n"
        assert "false" in seen["messages"]["false"]
        assert "route add 10.200.0.0/16 via 192.0.2.1" in seen["messages"]["route"]
        assert seen["after"]["links"] == seen["before"]["links"]
        assert seen["after"]["bridges"] == seen["before"]["bridges"] == ""


def _check_node(shape: TopologySpec, node: str, has: dict) -> None:
    own = [interface for interface in interfaces(shape) if interface.port.node == node]
    addresses = {
        (row["ifname"], end["local"], end["prefixlen"])
        for row in has["address"]
        for end in row["addr_info"]
    }
    assert addresses == {
        ("lo", "127.0.0.1", 8),
        *((interface.port.name, interface.address, 16) for interface in own),
    }
    present = {
        (row["dev"], row["dst"], row["lladdr"])
        for row in has["neighbour"]
        if row["state"] == ["PERMANENT"]
    }
    assert present == {
        (interface.port.name, *pair) for interface in own for pair in neighbours(shape, interface)
    }
    ways = {(row["dst"], row["gateway"], row["dev"]) for row in has["route"] if "gateway" in row}
    assert ways == {(way.network, way.gateway, way.interface) for way in routes(shape, node)}
    assert all("UP" in row["flags"] for row in has["address"])
