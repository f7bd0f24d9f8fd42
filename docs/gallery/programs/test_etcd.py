"""A cluster of etcd loses no write that it confirmed, whatever the network does."""

import json
import shutil
from base64 import b64decode, b64encode
from typing import Any

import pytest

import tcplab

ETCD = shutil.which("etcd") or "etcd"
NODES = ("n1", "n2", "n3")
LINK = tcplab.Channel("100mbit", "5ms", loss="1%")
CLUSTER = tcplab.TopologySpec(
    "cluster",
    (*(tcplab.Node(name, "host") for name in NODES), tcplab.Node("s1", "switch")),
    tuple(tcplab.Link("s1", name, LINK) for name in NODES),
)
PEERS = ",".join(f"{name}=http://{name}:2380" for name in NODES)


class Cluster:
    """etcd in each host, asked by curl in that host."""

    def __init__(self, network: tcplab.Network) -> None:
        self.network = network.build(CLUSTER)
        for host in self.network.hosts:
            host.start(
                f"{ETCD} --name {host.name} --data-dir /tmp/etcd --initial-cluster {PEERS}"
                f" --initial-advertise-peer-urls http://{host.name}:2380"
                f" --listen-peer-urls http://{host.address}:2380"
                f" --listen-client-urls http://0.0.0.0:2379"
                f" --advertise-client-urls http://{host.name}:2379"
            )
        assert all(host.listens(2379, "20s") for host in self.network.hosts)

    def ask(self, name: str, path: str, **fields: str) -> dict[str, Any]:
        """Return the answer of a node; empty if it has none within 8 s."""
        data = {key: b64encode(text.encode()).decode() for key, text in fields.items()}
        url = f"http://localhost:2379/v3/{path}"
        words = ["curl", "-sS", "-m", "8", "-d", json.dumps(data), url]
        answer: dict[str, Any] = json.loads(
            self.network.host(name).run(words, check=False).stdout or "{}"
        )
        return answer

    def put(self, name: str, value: str) -> bool:
        """Return whether a node confirmed a write."""
        return "header" in self.ask(name, "kv/put", key="key", value=value)

    def value(self, name: str) -> str:
        """Return what a node answers, which after an election may take a second request."""
        for _ in range(20):
            for row in self.ask(name, "kv/range", key="key").get("kvs", ()):
                return b64decode(row["value"]).decode()
            self.network.sleep("0.5s")
        raise AssertionError(f"{name} has no value")

    def leader(self, *asked: str) -> str:
        """Wait until the nodes agree on one of them as leader, and return it."""
        for _ in range(60):
            found = [self.ask(name, "maintenance/status") for name in asked]
            names = zip((each["header"]["member_id"] for each in found), asked, strict=True)
            leaders = {each.get("leader") for each in found}
            if name := dict(names).get(*leaders) if len(leaders) == 1 else None:
                return name
            self.network.sleep("0.5s")
        raise AssertionError(f"no leader: {found}")


@pytest.fixture
def cluster(network: tcplab.Network) -> Cluster:
    return Cluster(network)


def test_a_leader_that_nobody_hears_is_replaced(cluster: Cluster) -> None:
    leader = cluster.leader(*NODES)
    assert cluster.put(leader, "before")
    others = [name for name in NODES if name != leader]
    silent = [cluster.network.link_between(leader, name).down("right") for name in others]
    cluster.leader(*others)
    assert cluster.put(others[0], "meanwhile")
    assert all(each.hits for each in silent)
    cluster.network.heal()
    cluster.leader(*NODES)
    assert [cluster.value(name) for name in NODES] == ["meanwhile"] * 3


def test_a_minority_confirms_no_write(cluster: Cluster) -> None:
    leader = cluster.leader(*NODES)
    others = [name for name in NODES if name != leader]
    parted = cluster.network.partition({leader}, others)
    assert not cluster.put(leader, "lost")
    cluster.leader(*others)
    assert cluster.put(others[1], "kept")
    parted.heal()
    cluster.leader(*NODES)
    assert [cluster.value(name) for name in NODES] == ["kept"] * 3
