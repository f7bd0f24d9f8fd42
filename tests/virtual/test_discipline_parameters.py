"""Every parameter of every discipline, in one network: the kernel has what was asked for."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from experiments.spec import Condition, ExperimentSpec, Flow
from testbed.host.supervise import Usage
from topologies.disciplines import disciplines
from topologies.disciplines.base import Choice, Discipline, Setting
from topologies.spec import Channel, Link, Node, TopologySpec
from topologies.units import Duration, Packets, Rate, Share, Size

pytestmark = pytest.mark.virtual
_VALUES = """
    target=7ms interval=70ms tupdate=20ms rtt=30ms ce_threshold=3ms step_thresh=2ms
    refill_delay=50ms reset_timeout=50ms evict_timeout=2s perturb=10 maxrate=3mbit divisor=512
    buckets=512 flows=512 depth=40 flow_limit=30 min=20 max=60 probability=5% ecn_prob=20% alpha=3
    beta=19 classic_protection=15% overhead=18B mpu=64B orphan_mask=255
"""
VALUES = dict(pair.split("=") for pair in _VALUES.split())
LINK = Channel(Rate.parse("10mbit"), queue=Packets(100))
ALONE = "step_packets"  # dualpi2 has one step, which step_thresh sets in time
KINDS = {Size: "9000B", Rate: "3mbit", Share: "20%"}


def value(managed: Discipline, each: Setting | Choice) -> str:
    """Return a value of the parameter that is not its default."""
    if isinstance(each, Choice):
        return each.choices[-1][0]
    if each.name in ("min", "max") and managed.name != "choke":
        return f"{VALUES[each.name]}kB"
    if (managed.name, each.name) == ("sfq", "flows"):
        return "50"
    if each.name in ("alpha", "beta") and managed.name == "dualpi2":
        return f"{VALUES[each.name]}Hz"
    return VALUES.get(each.name) or KINDS.get(each.kind, "4")


def switched_on(managed: Discipline) -> tuple[tuple[str, str], ...]:
    """Return the first choice of each parameter that has choices, which turns most on."""
    choices = (each for each in managed.parameters if isinstance(each, Choice))
    chosen = {each.name: each.choices[0][0] for each in choices}
    needed = {each.needs for each in managed.parameters if each.needs} - chosen.keys()
    return (*chosen.items(), *((name, VALUES.get(name, "3mbit")) for name in sorted(needed)))


def network() -> TopologySpec:
    channels = [
        replace(
            LINK,
            discipline=name,
            settings=tuple(
                (each.name, value(managed, each))
                for each in managed.parameters
                if each.name != ALONE
            ),
        )
        for name, managed in disciplines().items()
    ]
    channels.append(replace(LINK, discipline="dualpi2", settings=((ALONE, "4"),)))
    channels += [
        replace(LINK, discipline=name, settings=given)
        for name, managed in disciplines().items()
        if (given := switched_on(managed))
    ]
    channels.append(replace(LINK, discipline="cake", settings=(("rtt", "satellite"),)))
    hosts = [Node(f"h{number}", "host") for number in range(len(channels))]
    links = (Link("s1", host.name, channel) for host, channel in zip(hosts, channels, strict=True))
    return TopologySpec("each", (*hosts, Node("s1", "switch")), tuple(links))


def test_the_kernel_has_every_parameter(in_guest: Callable[..., tuple[Path, Usage]]) -> None:
    """A difference fails the run; what is compared is listed."""
    topology = network()
    flows = (Flow("flow", "h0", "h1", Duration.parse("1s")),)
    out, _ = in_guest(ExperimentSpec("each", "Each.", topology, flows, (Condition("as", "as"),)))
    environment = json.loads((out / "environment.json").read_text())
    found = {(row["interface"], row["field"]) for row in environment["asked_and_found"]}
    for port in topology.ports:
        for name, _ in port.channel.settings if port.channel else ():
            assert (port.name, name) in found
