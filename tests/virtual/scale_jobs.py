"""A job for the guest: networks of several shapes, one after the other, seen by usual tools."""

import json
import os
from typing import Any

from testbed.guest import netlink
from testbed.guest.job_entry import JobContext
from testbed.guest.network import LiveNetwork, network
from testbed.guest.programs import run
from topologies.data import from_data
from topologies.errors import CommandError, TcplabError
from topologies.spec import TopologySpec


def perform(data: Any, job: JobContext) -> None:
    """seen.json: what the kernel has of each topology, and what is left when it is taken down."""
    seen = []
    for described in data:
        topology: TopologySpec = from_data(TopologySpec, described)
        before = _machine()
        with network(topology) as live:
            nodes = {
                node: _node(live, node)
                for node in topology.named("host") + topology.named("router")
            }
            messages = _messages(live, topology.named("host")[0])
        seen.append({"nodes": nodes, "messages": messages, "before": before, "after": _machine()})
    (job.work / "seen.json").write_text(json.dumps(seen))
    job.deliver("seen.json")


def _machine() -> dict[str, Any]:
    bridges = run(["ovs-vsctl", "list-br"])
    return {
        "links": sorted(os.listdir("/sys/class/net")),
        "bridges": bridges,
        "namespaces": run(["lsns", "-nt", "net"]),
    }


def _node(live: LiveNetwork, node: str) -> dict[str, Any]:
    words = ("address", "neighbour", "route")
    return {word: json.loads(live.output(node, ["ip", "-4", "-j", word, "show"])) for word in words}


def _messages(live: LiveNetwork, host: str) -> dict[str, str]:
    """What Mininet's own way gives, and the messages of a command and a setting that fail."""
    messages = {"echo": live.mininet.get(host).cmd("echo", "$((6 * 7))")}
    try:
        live.mininet.get(host).cmd("false")
    except CommandError as error:
        messages["false"] = str(error)
    try:
        netlink.apply([netlink.up("lo"), netlink.route("10.200.0.0/16", "192.0.2.1")])
    except TcplabError as error:
        messages["route"] = str(error)
    return messages
