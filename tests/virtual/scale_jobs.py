"""A job for the guest: networks of several shapes, one after the other, looked at with the usual
tools.
"""

from __future__ import annotations

import json
import os
from typing import Any

from testbed.guest import rtnetlink
from testbed.guest.job_entry import JobContext
from testbed.guest.network import LiveNetwork, network
from testbed.guest.programs import run
from topologies.data import from_data
from topologies.errors import CommandError, TcplabError
from topologies.spec import TopologySpec


def perform(data: Any, room: JobContext) -> None:
    """seen.json: for each topology what the kernel has of it, and what of it is left when it is
    taken down.
    """
    seen = []
    for described in data:
        topology: TopologySpec = from_data(TopologySpec, described)
        before = _machine()
        with network(topology) as live:
            found = {
                node: _node(live, node)
                for node in topology.named("host") + topology.named("router")
            }
            said = _said(live, topology.named("host")[0])
        seen.append({"nodes": found, "said": said, "before": before, "after": _machine()})
    (room.work / "seen.json").write_text(json.dumps(seen))
    room.deliver("seen.json")


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


def _said(live: LiveNetwork, host: str) -> dict[str, str]:
    """What Mininet's own way gives, and how a command and a setting that fail are said."""
    said = {"echo": live.mininet.get(host).cmd("echo", "$((6 * 7))")}
    try:
        live.mininet.get(host).cmd("false")
    except CommandError as error:
        said["false"] = str(error)
    try:
        rtnetlink.apply([rtnetlink.up("lo"), rtnetlink.route("10.200.0.0", 16, "192.0.2.1")])
    except TcplabError as error:
        said["route"] = str(error)
    return said
