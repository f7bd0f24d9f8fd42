"""Networks for programs: IPv6, cables, a second path, translation, settings, every shape."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from analysis.flows import read
from experiments.programs.links import channel
from experiments.programs.network import Network
from experiments.programs.start import NetworkOptions, started
from experiments.study.kernels import lab_sysctls
from tests.virtual.conftest import ROOT
from topologies.errors import TcplabError, UsageError
from topologies.shapes import (
    chain,
    dumbbell,
    parking_lot,
    separate_pairs,
    star,
    two_hosts,
    two_paths,
)
from topologies.spec import TopologySpec

pytestmark = pytest.mark.virtual
NEAR, FAR = channel(delay="20ms"), channel(delay="100ms")
SERVER = """
import socket
with socket.create_server(("", 7000), family=socket.AF_INET6, dualstack_ipv6=True) as server:
    while True:
        stream, (address, *_) = server.accept()
        with stream:
            stream.sendall(address.removeprefix("::ffff:").encode())
"""


def seen_as(server: str, ipv6: bool = False) -> tuple[str, str, float]:
    """Return the client's address as the server saw it, its own, and the seconds it took."""
    import socket
    import time

    begun = time.monotonic()
    with socket.socket(socket.AF_INET6 if ipv6 else socket.AF_INET) as stream:
        stream.settimeout(5)
        stream.connect((server, 7000))
        return stream.recv(100).decode(), stream.getsockname()[0], time.monotonic() - begun


def carrier(interface: str) -> str:
    from pathlib import Path

    return Path(f"/sys/class/net/{interface}/operstate").read_text().strip()


@contextmanager
def serving(topology: TopologySpec, server: str = "h2", **options: Any) -> Iterator[Network]:
    with started(topology, 1, None, NetworkOptions(project=ROOT, **options)) as network:
        network.host(server).start(["python3", "-c", SERVER], port=7000)
        yield network


def test_hosts_reach_each_other_over_ipv6_by_name(ready_lab) -> None:
    with serving(chain(2, NEAR), captures=("r1-eth1",)) as network:
        ipv4, ipv6 = (network.h1.call(seen_as, "h2", kind) for kind in (False, True))
        assert (ipv4[0], ipv6[0]) == ("10.0.0.1", "fd00::1")
        assert ipv6[2] == pytest.approx(ipv4[2], abs=0.001)
        assert len(network.capture("h1").connections) == 2
        on_the_way = read(network.out / "r1-eth1.pcap").connections
        assert on_the_way["vantage"].to_list() == ["middle", "middle"]


def test_a_pulled_cable_takes_the_carrier_and_a_plugged_one_brings_it_back(ready_lab) -> None:
    with serving(chain(1, NEAR)) as network:
        network.h1.unplug(at="1s", for_="20s")
        network.sleep("2s")
        assert network.h1.call(carrier, "h1-eth0") == "down"
        with pytest.raises(TimeoutError):
            network.h1.call(seen_as, "h2")
        network.sleep("20s")
        assert network.h1.call(carrier, "h1-eth0") == "up"
        assert network.h1.call(seen_as, "h2")[0] == "10.0.0.1"
        assert network.h1.call(seen_as, "h2", True)[0] == "fd00::1"


def test_a_host_without_its_first_uplink_sends_by_the_second(ready_lab) -> None:
    with serving(two_paths(NEAR, FAR)) as network:
        assert network.h1.call(seen_as, "h2")[0] == "10.0.0.1"
        network.h1.unplug()
        address, _own, seconds = network.h1.call(seen_as, "h2")
        assert address == "10.1.0.1" and seconds == pytest.approx(0.4, abs=0.01)
        assert network.h1.call(seen_as, "h2", True)[0] == "fd00:0:0:1::1"
        network.h1.plug()
        assert network.h1.call(seen_as, "h2")[0] == "10.0.0.1"
        assert len(network.capture("h1", 1).connections) >= 2


def test_a_router_translates_a_host_and_renews_its_address(ready_lab) -> None:
    with serving(chain(1, NEAR)) as network:
        first = network.translate("r1", "h1")
        assert network.h1.call(seen_as, "h2")[:2] == (first, "10.0.0.1")
        second = network.translate("r1", network.h1)
        assert second != first and network.h1.call(seen_as, "h2")[0] == second
        with pytest.raises(TcplabError, match="h2 is no router"):
            network.translate("h2", "h1")


def test_hosts_share_an_outer_address_by_blocks_of_ports(ready_lab) -> None:
    with serving(star(NEAR), "right") as network:
        outer = network.translate("center", "left", "top")
        for _ in range(2):
            for name in ("left", "top"):
                seen, own, _ = network.host(name).call(seen_as, "right")
                assert seen == outer and own != outer
        rows = network.capture("right").connections
        assert [int(row["port_a"]) >> 12 for row in rows] == [8, 9, 8, 9]
        network.translate("center", "top")
        seen, own, _ = network.host("top").call(seen_as, "right")
        assert seen not in (own, outer)
        assert network.host("left").call(seen_as, "right")[0] == outer
        with pytest.raises(TcplabError, match="cannot translate left, right, top to one"):
            network.translate("center", "left", "right", "top")


def test_a_host_has_settings_of_its_own(ready_lab) -> None:
    with serving(two_hosts(NEAR)) as network:
        network.h1.set_sysctls({"net.ipv4.tcp_congestion_control": "bbr"})
        command = ["cat", "/proc/sys/net/ipv4/tcp_congestion_control"]
        found = [host.run(command).stdout.strip() for host in network.hosts]
        assert found == ["bbr", "cubic"]
        with pytest.raises(TcplabError, match=r"no net.*tcp_nonsense"):
            network.h1.set_sysctls({"net.ipv4.tcp_nonsense": "1"})
        listing = network.h1.run(["find", "/proc/sys/net", "-type", "f"]).stdout.split()
        names = {path.removeprefix("/proc/sys/").replace("/", ".") for path in listing}
        per_interface = {name for name in names if ".conf." in name or ".neigh." in name}
        assert len(names - per_interface) > 100
        assert names - per_interface <= lab_sysctls()


def test_a_link_keeps_what_is_not_changed(ready_lab) -> None:
    with serving(chain(2, NEAR)) as network:
        network.link_between("r1", "r2").change(delay="120ms", for_="10s")
        assert network.h1.call(seen_as, "h2")[2] == pytest.approx(0.56, abs=0.01)
        network.sleep("10s")
        network.link.change(loss="1%")
        assert network.h1.call(seen_as, "h2")[2] == pytest.approx(0.16, abs=0.01)
        with pytest.raises(UsageError, match="no link with a delay"):
            network.link_between("h1", "h2").change(loss="1%")
        with pytest.raises(UsageError, match="loss"):
            network.link.change(loss="200%")


SHAPES = [
    (dumbbell(2, NEAR), "r2", "h1"),
    (star(NEAR), "top", "left"),
    (parking_lot(3, NEAR), "h2", "h1"),
    (separate_pairs((NEAR, FAR), (NEAR, FAR)), "r2", "h2"),
]


@pytest.mark.parametrize(("topology", "server", "client"), SHAPES, ids=lambda part: str(part)[:16])
def test_programs_run_in_every_shape(ready_lab, topology, server, client) -> None:
    with serving(topology, server) as network:
        assert network.host(client).call(seen_as, server)[2] >= 0.04
        assert len(network.capture(client).connections) == 1


TUNNEL = """
import fcntl, os, select, socket, struct, subprocess, sys
mine, other = sys.argv[1:]
tunnel = os.open("/dev/net/tun", os.O_RDWR)
fcntl.ioctl(tunnel, 0x400454CA, struct.pack("16sH22x", b"tun0", 0x1001))  # TUNSETIFF, no header
for words in (f"address add {mine} dev tun0", "link set tun0 up"):
    subprocess.run(["ip", *words.split()], check=True)
outer = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
outer.bind(("", 5000))
while True:
    for ready in select.select([tunnel, outer], [], [])[0]:
        if ready is outer:
            os.write(tunnel, outer.recv(2000))
        else:
            outer.sendto(os.read(tunnel, 2000), (other, 5000))
"""


def test_programs_make_tunnels(ready_lab) -> None:
    with started(two_hosts(NEAR), 1, None, NetworkOptions(project=ROOT)) as network:
        for number, host, other in ((1, "h1", "h2"), (2, "h2", "h1")):
            words = ["python3", "-c", TUNNEL, f"192.168.0.{number}/24", other]
            network.host(host).start(words, port=5000)
        ping = network.h1.run("ping -c 3 192.168.0.2").stdout
        assert "3 packets transmitted, 3 received" in ping and "time=40" in ping
