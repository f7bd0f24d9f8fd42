"""Faults of a network, proved by what both ends captured."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from experiments.programs.links import NetworkFault, channel
from experiments.programs.network import Network
from experiments.programs.program import ProgramFailed
from experiments.programs.start import NetworkOptions, started, twice
from testbed.guest.frames import UDP, EthernetFrame
from testbed.guest.packet_ring import frames_of
from tests.virtual.conftest import ROOT
from topologies.errors import TcplabError, UsageError
from topologies.shapes import chain, star, two_hosts
from topologies.spec import Link, Node, TopologySpec

pytestmark = pytest.mark.virtual
LINK = channel(delay="20ms")
GAP = 10_000_000  # nanoseconds between two datagrams
ECHO = """
import socket
with socket.create_server(("", 7000), family=socket.AF_INET6, dualstack_ipv6=True) as server:
    while True:
        stream, _ = server.accept()
        while piece := stream.recv(65536):
            stream.sendall(piece)
"""


def send(target: str, first: int, number: int, size: int) -> None:
    """Send numbered datagrams, one every 10 ms."""
    import socket
    import time

    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
        for each in range(first, first + number):
            sender.sendto(each.to_bytes(4, "big") + bytes(size - 4), (target, 9000))
            time.sleep(0.01)


def talk(server: str, rounds: int, pause: float = 0.1, amount: int = 1000) -> list[str]:
    """Exchange messages with the echo server; return the error that ended it, if any."""
    import socket
    import time

    try:
        with socket.create_connection((server, 7000), timeout=60) as stream:
            for _ in range(rounds):
                stream.sendall(bytes(amount))
                left = amount
                while left:
                    left -= len(stream.recv(left))
                time.sleep(pause)
    except OSError as error:
        return [type(error).__name__]
    return []


@contextmanager
def network_of(topology: TopologySpec, **options: Any) -> Iterator[Network]:
    with started(topology, 1, None, NetworkOptions(project=ROOT, **options)) as network:
        yield network


def datagrams(network: Network, host: str) -> dict[int, list[int]]:
    """Return the times of each numbered datagram at a host, in the order of their first ones."""
    found: dict[int, list[int]] = {}
    for time, data in frames_of(network.capture_file(host)):
        frame = EthernetFrame(data)
        if frame.protocol == UDP and frame.ports[1] == 9000:
            number = int.from_bytes(data[42:46], "big")
            found.setdefault(number, []).append(time)
    return found


def crossed(network: Network, first: int, number: int = 6, size: int = 100) -> dict[int, list[int]]:
    """Send datagrams from h1; return the delays of those that h2 got, in their order there."""
    network.h1.call(send, "h2", first, number, size)
    network.sleep("200ms")
    sent, got = datagrams(network, "h1"), datagrams(network, "h2")
    assert [each for each in sent if each >= first] == [*range(first, first + number)]
    return {
        each: [at - sent[each][0] for at in times] for each, times in got.items() if each >= first
    }


Put = Callable[[Network], NetworkFault]
ONE_WAY: list[tuple[Put, list[int], int]] = [  # the fault, what h2 gets of 1 to 6, the hits
    (lambda n: n.link.drop("right", nth=3), [1, 2, 4, 5, 6], 1),
    (lambda n: n.link.drop("right", nth=2, count=3), [1, 5, 6], 3),
    (lambda n: n.link.drop("left"), [1, 2, 3, 4, 5, 6], 0),
    (lambda n: n.link.drop("right", larger="128B"), [1, 2, 3, 4, 5, 6], 0),
    (lambda n: n.link.drop("right", larger="127B"), [], 6),
    (lambda n: n.link.drop(smaller="129B", port=9000, protocol="udp"), [], 6),
    (lambda n: n.link.drop(port=9001), [1, 2, 3, 4, 5, 6], 0),
    (lambda n: n.link.drop(address="10.0.0.2"), [], 6),
    (lambda n: n.link.drop("right", flag="SYN"), [1, 2, 3, 4, 5, 6], 0),
    (lambda n: n.link.down("right", at="15ms", for_="20ms"), [1, 2, 5, 6], 2),
    (lambda n: n.link.reorder("right", nth=2, behind=2), [1, 3, 4, 2, 5, 6], 1),
    (lambda n: n.link.stall("right", at="5ms", for_="30ms"), [1, 2, 3, 4, 5, 6], 3),
    (lambda n: n.link.delay("right", by="25ms", nth=1), [2, 3, 1, 4, 5, 6], 1),
    (lambda n: n.link_between("h1", "h2").drop("right", nth=1), [2, 3, 4, 5, 6], 1),
    (lambda n: n.link_between("h1", "s1").drop("right", nth=1), [2, 3, 4, 5, 6], 1),
    (lambda n: n.partition({"h1"}, {"h2"}), [], 6),
]


def test_faults_hit_the_packets_that_they_name(ready_lab) -> None:
    with network_of(two_hosts(LINK)) as network:
        for number, (put, expected, hits) in enumerate(ONE_WAY):
            first = 100 * (number + 1)
            fault = put(network)
            got = crossed(network, first + 1)
            assert [each - first for each in got] == expected, number
            assert fault.hits == hits, number
            network.heal()
        assert len(crossed(network, 10_000)) == 6


def test_held_packets_go_on_when_the_stall_ends_and_copies_with_the_first(ready_lab) -> None:
    with network_of(two_hosts(LINK)) as network:
        usual = crossed(network, 1)
        assert {times[0] // 1000 for times in usual.values()} == {20_011}
        begun = network.now_ns
        stall = network.link.stall("right")
        network.h1.call(send, "h2", 100, 6, 100)
        network.sleep("1s")
        stall.heal()
        network.sleep("100ms")
        got = [times for each, times in datagrams(network, "h2").items() if each >= 100]
        assert len(got) == 6 and stall.hits == 6
        assert got[0][0] - network.begun_ns - begun == pytest.approx(1.08e9, rel=0.03)
        network.link.duplicate("right", nth=2)
        twice_got = crossed(network, 200)
        assert [len(times) for times in twice_got.values()] == [1, 2, 1, 1, 1, 1]


def test_corrupt_packets_arrive_and_fail_their_checksum(ready_lab) -> None:
    with network_of(two_hosts(LINK)) as network:
        network.h2.start(["python3", "-c", ECHO], port=7000)
        fault = network.link.corrupt("right", nth=3, flag="data")
        assert network.h1.call(talk, "h2", 6) == []
        (connection,) = network.capture("h1").connections
        assert fault.hits == 1 and connection.retransmissions == 1
        counted = network.h2.run(["cat", "/proc/net/snmp"]).stdout.splitlines()
        names, values = (line.split() for line in counted if line.startswith("Tcp:"))
        assert dict(zip(names, values, strict=True))["InCsumErrors"] == "1"


def test_the_first_syn_is_lost_and_a_fin_too(ready_lab) -> None:
    with network_of(two_hosts(LINK)) as network:
        network.h2.start(["python3", "-c", ECHO], port=7000)
        faults = [network.link.drop("right", nth=1, flag=flag) for flag in ("SYN", "FIN")]
        assert network.h1.call(talk, "h2", 2) == []
        network.sleep("2s")
        (connection,) = network.capture("h1").connections
        assert [fault.hits for fault in faults] == [1, 1]
        assert (connection["syns_a2b"], connection["fins_a2b"]) == (2, 2)


def test_a_connection_is_reset_now_or_at_a_packet(ready_lab) -> None:
    with network_of(two_hosts(LINK)) as network:
        network.h2.start(["python3", "-c", ECHO], port=7000)
        for put in (
            lambda: network.link.reset("right", nth=4, flag="data"),
            lambda: network.link.reset("left", nth=4, flag="data"),
        ):
            fault = put()
            assert network.h1.call(talk, "h2", 20) == ["ConnectionResetError"]
            network.h2.start(["python3", "-c", ECHO], port=7000)
            assert fault.hits == 1
        ends = [
            (row["resets_sent_a2b"], row["resets_sent_b2a"])
            for row in network.capture("h2").connections
        ]
        assert all(ours >= 1 for ours, _ in ends)


@pytest.mark.parametrize("amount", [1000, 3_000_000])
def test_an_order_resets_both_ends_at_once(ready_lab, amount: int) -> None:
    """Also amid a transfer, when segments are on the way."""
    words = f"from {__name__} import talk; print(talk('h2', 9, 1.0, {amount}))"
    with network_of(two_hosts(LINK)) as network:
        server = network.h2.start(["python3", "-c", ECHO], port=7000)
        client = network.h1.start(["python3", "-c", words], env={"PYTHONPATH": str(ROOT)})
        network.sleep("1.21s")
        begun = network.now
        (connection,) = network.capture("h1").connections
        network.reset(connection)
        client.wait("1s").check()
        assert client.stdout == "['ConnectionResetError']\n"
        with pytest.raises(ProgramFailed, match="ConnectionResetError"):
            server.wait("1s").check()
        assert client.ended == pytest.approx(begun, abs=1.0)
        assert server.ended == pytest.approx(begun, abs=0.01)
        with pytest.raises(UsageError, match="No host has the connection"):
            network.reset({**connection.values, "port_a": 1})  # type: ignore[arg-type]


REFUSALS = [
    ("closed", "ConnectionRefusedError"),
    ("host", "OSError"),
    ("network", "OSError"),
    ("prohibited", "OSError"),
]


@pytest.mark.parametrize("family", ["h2", "ip6-h2"])
def test_connections_are_refused_in_each_way(ready_lab, family: str) -> None:
    with network_of(chain(1, LINK)) as network:
        network.h2.start(["python3", "-c", ECHO], port=7000)
        begun = network.now
        for answer, error in REFUSALS:
            fault = network.link.refuse("right", answer=answer, port=7000, for_="5s")
            assert network.h1.call(talk, family, 1)[0] in (error, "PermissionError")
            assert fault.hits >= 1
            fault.heal()
        assert network.now - begun < 1
        assert network.h1.call(talk, family, 1) == []


def test_large_packets_vanish_or_their_sender_learns_the_mtu(ready_lab) -> None:
    with network_of(chain(1, LINK)) as network:
        network.h2.start(["python3", "-c", ECHO], port=7000)
        network.link.drop("right", larger="1400B", for_="30s")
        assert network.h1.call(talk, "h2", 1, 0.0, 100) == []
        begun = network.now
        assert network.h1.call(talk, "h2", 1, 0.0, 5000) == []
        assert network.now - begun > 25
        fault = network.link.refuse("right", answer="too big", larger="1400B")
        begun = network.now
        assert network.h1.call(talk, "h2", 1, 0.0, 5000) == []
        assert fault.hits > 0 and network.now - begun < 1


def test_hosts_of_different_groups_part_and_heal(ready_lab) -> None:
    nodes = (*(Node(f"n{number}", "host") for number in (1, 2, 3)), Node("s1", "switch"))
    links = tuple(Link("s1", f"n{number}", LINK) for number in (1, 2, 3))
    pairs = [("n1", "n2"), ("n1", "n3"), ("n2", "n3"), ("n3", "n1")]
    with network_of(TopologySpec("three", nodes, links)) as network:
        for host in network.hosts:
            host.start(["python3", "-c", ECHO], port=7000)

        def reached() -> list[bool]:
            return [
                network.host(one).run(["python3", "-c", CONNECT, other], check=False).status == 0
                for one, other in pairs
            ]

        parted = network.partition({"n1"}, ["n2", "n3"])
        assert reached() == [False, False, True, False]
        parted.heal()
        one_way = network.link_between("n1", "n2").down("right")
        assert reached() == [False, True, True, True]
        one_way.heal()
        assert reached() == [True] * 4
        for wrong in ([{"n1"}], [{"n1"}, {"n1", "n2"}], [{"n1"}, set()]):
            with pytest.raises(UsageError, match="two or more groups"):
                network.partition(*wrong)
        with pytest.raises(UsageError, match="no host 'n4'"):
            network.partition({"n1"}, {"n4"})


CONNECT = "import socket, sys; socket.create_connection((sys.argv[1], 7000), 2)"


def test_faults_and_translation_share_a_port(ready_lab) -> None:
    with network_of(chain(1, LINK)) as network:
        network.h2.start(["python3", "-c", ECHO], port=7000)
        fault = network.link_between("h1", "h2").drop("right", nth=1, flag="data")
        network.translate("r1", "h1")
        assert network.h1.call(talk, "h2", 2) == []
        assert fault.hits == 1
        (row,) = network.capture("h2").connections
        assert row["host_a"] != "10.0.0.1" and network.capture("h1").connections[0].retransmissions


def test_jitter_reorders_unless_the_order_is_kept(ready_lab) -> None:
    with network_of(two_hosts(channel(delay="30ms", jitter="28ms"))) as network:
        assert [*crossed(network, 1, 20)] != [*range(1, 21)]
        network.link.change("right", order="kept")
        delays = crossed(network, 100, 20)
        assert [*delays] == [*range(100, 120)]
        assert max(delays.values())[0] > 2 * min(delays.values())[0]


def test_a_policer_drops_what_exceeds_its_bucket(ready_lab) -> None:
    """A datagram takes 1042 bytes every 10 ms, which bring 100 to a bucket of 9000.

    8 leave 1464 for the ninth. The next finds 522, and the sixteenth is the first to find 1042.
    """
    policer = channel(delay="5ms", policer="80kbit", policer_burst="9000B")
    with network_of(two_hosts(policer)) as network:
        assert [*crossed(network, 1, 20, 1000)] == [*range(1, 10), 16]
        network.link.change("right", policer="0bit")
        assert len(crossed(network, 100, 20, 1000)) == 20


def test_delays_follow_a_file_and_changes_that_overlap_end_alone(ready_lab, tmp_path: Path) -> None:
    (tmp_path / "delays").write_text("0s 20ms\n1s 60ms\n")
    with network_of(two_hosts(LINK)) as network:
        network.link.follow(tmp_path / "delays", "right")
        assert min(crossed(network, 1).values())[0] < 21e6
        network.link.change(for_="10s", loss="0.5%")
        network.sleep("2s")
        network.link.change(at="1s", for_="1s", queue="20")
        network.sleep("9s")
        late = crossed(network, 100)
        assert all(60e6 < times[0] < 61e6 for times in late.values()) and len(late) == 6


def test_faults_repeat(ready_lab) -> None:
    def work(network: Network) -> None:
        network.h2.start(["python3", "-c", ECHO], port=7000)
        network.link.drop("right", share="20%", flag="data")
        network.link.delay("left", by="7ms", share="30%")
        assert network.h1.call(talk, "h2", 20, 0.01) == []
        assert network.capture("h1").connections[0].retransmissions > 0

    assert twice(work, delay="20ms", project=ROOT) == []


def test_what_cannot_be_is_refused(ready_lab) -> None:
    with network_of(star(LINK)) as network:
        for wrong, match in (
            (lambda: network.link.drop("up"), "no side 'up'"),  # type: ignore[arg-type]
            (lambda: network.link.drop(flag="SYNN"), "'SYNN' is not one of"),  # type: ignore[arg-type]
            (lambda: network.link.drop(larger="4 apples"), "4 apples"),
            (lambda: network.link.drop(address="h2"), "'h2' is no address"),
            (lambda: network.link.drop(port=70000), "70000 is no port"),
            (lambda: network.link.drop(nth=0), "nth of 0"),
            (lambda: network.link.delay(by="0s"), "delay of 0s"),
            (lambda: network.link_between("left", "nobody"), "no node 'nobody'"),
            (lambda: network.link_between("left", "left"), "from left to left"),
            (lambda: network.link_between("left", "top").change(loss="1%"), "no link with a delay"),
        ):
            with pytest.raises(TcplabError, match=match):
                wrong()
