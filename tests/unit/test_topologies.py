"""Shapes, their checks, addresses and routes: pure data, no network."""

import dataclasses
from itertools import permutations

import pytest

from topologies.addresses import address_of, forwarding, interfaces, ipv6_of, neighbours, routes
from topologies.data import digest, from_data, to_data
from topologies.errors import UsageError
from topologies.shapes import chain, dumbbell, parking_lot, separate_pairs, star, two_hosts
from topologies.spec import Channel, Link, Node, TopologySpec
from topologies.units import Duration, Packets

CHANNEL = Channel("10mbit", "5ms")
SHAPES = [
    two_hosts(CHANNEL),
    dumbbell(3, CHANNEL),
    chain(3, CHANNEL),
    star(CHANNEL),
    parking_lot(3, CHANNEL),
    separate_pairs([CHANNEL] * 3, [CHANNEL] * 3),
]
EACH = pytest.mark.parametrize("topology", SHAPES, ids=lambda topology: topology.name)


@EACH
def test_addresses_and_interfaces_are_unique(topology: TopologySpec) -> None:
    addressed = interfaces(topology)
    for field in (lambda end: end.address, lambda end: end.mac, lambda end: end.port.name):
        assert len({field(interface) for interface in addressed}) == len(addressed)
    assert all(len(port.name) <= 15 for port in topology.ports)


@EACH
def test_every_host_reaches_every_other_over_its_routes(topology: TopologySpec) -> None:
    """Follows the tables as a kernel would: own segment, or the gateway of the route to it."""
    by_address = {interface.address: interface for interface in interfaces(topology)}
    for source, target in permutations(topology.named("host"), 2):
        segment = by_address[address_of(topology, target)].segment
        assert _follow(topology, source, segment, by_address)


def _follow(topology: TopologySpec, node: str, segment: int, by_address: dict) -> bool:
    for _hop in range(len(topology.nodes)):
        own = {each.port.name: each for each in interfaces(topology) if each.port.node == node}
        if segment in {each.segment for each in own.values()}:
            return True
        ways = {route.network: route for route in routes(topology, node)}
        route = ways[f"10.{segment}.0.0/16"]
        gateway = by_address[route.gateway]
        assert (gateway.address, gateway.mac) in neighbours(topology, own[route.interface])
        node = gateway.port.node
    return False


@EACH
def test_a_spec_survives_the_way_through_data(topology: TopologySpec) -> None:
    again = from_data(TopologySpec, to_data(topology))
    assert again == topology
    assert digest(again) == digest(topology)


@EACH
def test_no_host_shapes_what_it_sends(topology: TopologySpec) -> None:
    for port in topology.ports:
        assert port.channel is None or port.node not in topology.named("host")


def test_a_round_trip_is_the_sum_of_the_delay_lines() -> None:
    assert two_hosts(CHANNEL).round_trip("h1", "h2") == Duration.parse("10ms")
    assert chain(3, CHANNEL).round_trip("h1", "h2") == Duration.parse("30ms")
    assert parking_lot(2, CHANNEL).round_trip("a1", "b1") == Duration.parse("10ms")
    assert dumbbell(2, CHANNEL).round_trip("h1", "h2") == Duration(0)


def test_the_bottleneck_is_the_slowest_channel() -> None:
    narrow = dataclasses.replace(CHANNEL, bandwidth="1mbit")
    nodes = (Node("a", "host"), Node("r", "router"), Node("t", "router"), Node("b", "host"))
    links = (Link("a", "r"), Link("r", "t", CHANNEL, CHANNEL), Link("t", "b", rightward=narrow))
    assert TopologySpec("mixed", nodes, links).bottleneck("a", "b") == narrow


def test_a_way_without_any_rate_is_refused() -> None:
    with pytest.raises(UsageError, match="bandwidth"):
        dumbbell(2, CHANNEL).bottleneck("h1", "h2")


@pytest.mark.parametrize(
    ("nodes", "links", "message"),
    [
        ((Node("a", "host"), Node("a", "host")), (), "two nodes"),
        ((Node("a", "host"),), (Link("a", "b"),), "not a node"),
        ((Node("a", "host"), Node("b", "host")), (Link("a", "b", rightward=CHANNEL),), "host a"),
        (
            (Node("a", "host"), Node("b", "host"), Node("c", "host")),
            (Link("a", "b"), Link("b", "c")),
            "No link connects c with a",
        ),
        ((Node("r", "router"), Node("t", "router")), (), "connects"),
    ],
)
def test_a_topology_that_cannot_be_is_refused(nodes: tuple, links: tuple, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        TopologySpec("broken", nodes, links)


@pytest.mark.parametrize("name", ["", "a" * 10, "h 1", "h;1", "hé", "../h"])
def test_a_name_that_the_kernel_or_a_shell_would_misread_is_refused(name: str) -> None:
    with pytest.raises(UsageError):
        Node(name, "host")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"colour": "red"}, "colour"),
        ({"nodes": "all"}, "nodes"),
        ({"name": 3}, "name"),
        ({"nodes": [{"name": "a", "kind": "hub"}]}, "kind"),
        ({"links": [{"left": "a"}]}, "right"),
    ],
)
def test_reading_data_is_strict_and_names_the_place(change: dict, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        from_data(TopologySpec, to_data(SHAPES[0]) | change)


@pytest.mark.parametrize("count", [0, -1, 1000])
def test_sizes_of_shapes_are_bounded(count: int) -> None:
    for shape in (dumbbell, chain, parking_lot):
        with pytest.raises(UsageError):
            shape(count, CHANNEL)


@EACH
def test_a_switch_with_a_choice_knows_the_port_of_everybody_behind_it(topology) -> None:
    for switch in topology.named("switch"):
        ways = forwarding(topology, switch)
        ports = [port.name for port in topology.ports if port.node == switch]
        assert {port for _, port in ways} == (set(ports) if len(ports) > 2 else set())
        hosts = {end.mac: end.port.node for end in interfaces(topology)}
        for mac, port in ways:
            if topology.kind(hosts[mac]) == "host":
                assert topology.path(switch, hosts[mac])[0].name == port


def test_separate_pairs_have_a_path_each() -> None:
    """A packet of one pair leaves through no port that another pair's packets leave through."""
    slow = Channel("1mbit", "5ms", "1%")
    pairs = separate_pairs([slow, CHANNEL], [CHANNEL, CHANNEL])
    first, second = (
        {port.name for port in (*pairs.path(left, right), *pairs.path(right, left))}
        for left, right in (("h1", "r1"), ("h2", "r2"))
    )
    assert not first & second
    assert pairs.bottleneck("h1", "r1") == slow
    assert pairs.bottleneck("r1", "h1") == pairs.bottleneck("h2", "r2") == CHANNEL


@pytest.mark.parametrize(("there", "back"), [(0, 0), (41, 41), (2, 1)])
def test_pairs_without_a_way_back_are_refused(there: int, back: int) -> None:
    with pytest.raises(UsageError, match="way back"):
        separate_pairs([CHANNEL] * there, [CHANNEL] * back)


@pytest.mark.parametrize(("discipline", "least"), [("sfq", 2), ("red", 10)])
def test_a_queue_that_tc_cannot_make_is_refused(discipline: str, least: int) -> None:
    with pytest.raises(UsageError, match=f"too short for {discipline}. Choose one of {least}"):
        dataclasses.replace(CHANNEL, queue=Packets(least - 1), discipline=discipline)
    dataclasses.replace(CHANNEL, queue=Packets(least), discipline=discipline)


def test_a_farther_receiver_of_a_dumbbell_has_a_longer_round_trip() -> None:
    channel = Channel("10mbit", "20ms")
    spec = dumbbell(2, channel, (Duration(0), Duration.parse("60ms")))
    trips = [str(spec.round_trip(f"h{pair}", f"r{pair}")) for pair in (1, 2)]
    assert trips == ["40ms", "100ms"]
    assert spec.bottleneck("h2", "r2") == channel


def test_a_router_of_hundreds_of_segments_has_addresses_and_one_route_for_all() -> None:
    names = [f"h{number}" for number in range(300)]
    nodes = (*(Node(name, "host") for name in names), Node("r1", "router"))
    large = TopologySpec("large", nodes, tuple(Link("r1", name) for name in names))
    assert address_of(large, "h299") == "11.43.0.2"
    assert ipv6_of("11.43.0.2") == "fd00:0:0:12b::2"
    (route,) = routes(large, "h299")
    assert (route.network, route.gateway) == ("0.0.0.0/0", "11.43.0.1")
    assert hash(large) == hash(dataclasses.replace(large))
