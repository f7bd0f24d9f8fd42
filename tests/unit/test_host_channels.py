"""A host's own port may lose and queue packets: only if the spec names the host, and undelayed."""

import dataclasses
import json

import pytest

from experiments.sack_loss_sweep import SackLossSweepParameters, experiment
from experiments.spec import ExperimentSpec
from testbed.guest.shaping import FRAME, buffer, commands, compare
from topologies.data import from_data, to_data
from topologies.errors import TcplabError, UsageError
from topologies.spec import TopologySpec
from topologies.units import Duration, Packets, Share

# iproute2 6.1.0 in the lab kernel, 7.2.12
QDISCS = json.loads(
    '[{"kind":"netem","handle":"1:","dev":"h1-eth0","root":true,"options":{"limit":1000,'
    '"loss-random":{"loss":0.005,"correlation":0},"ecn":false,"gap":0}},{"kind":"tbf","handle":'
    '"2:","dev":"h1-eth0","parent":"1:1","options":{"rate":123050000,"burst":68130,"lat":0}},'
    '{"kind":"pfifo","handle":"3:","dev":"h1-eth0","parent":"2:1","options":{"limit":1000}}]'
)


def spec(**changes: str) -> ExperimentSpec:
    parameters = {"place": "host", "tso": "on"} | changes
    return experiment(
        SackLossSweepParameters(**parameters, loss=Share.parse("0.5%"))  # type: ignore[arg-type]
    )


def own(topology: TopologySpec) -> TopologySpec:
    """The same network without the host's leave."""
    return dataclasses.replace(topology, shaping_hosts=())


def test_a_host_shapes_only_if_it_is_named_and_never_delays() -> None:
    topology = spec().topology
    assert topology.shaping_hosts == ("h1",)
    with pytest.raises(UsageError, match="shaping_hosts"):
        own(topology)
    cable, *others = topology.links
    assert cable.rightward is not None
    late = dataclasses.replace(cable.rightward, delay=Duration.parse("1ms"))
    delaying = (dataclasses.replace(cable, rightward=late), *others)
    with pytest.raises(UsageError, match="delay of 1ms"):
        dataclasses.replace(topology, links=delaying)


def test_the_study_keeps_its_round_trip_and_is_data() -> None:
    host, path = spec(), spec(place="path")
    assert from_data(ExperimentSpec, to_data(host)) == host
    assert {
        (study.topology.round_trip("h1", "h2"), study.topology.bottleneck("h1", "h2").bandwidth)
        for study in (host, path)
    } == {(Duration.parse("200us"), path.topology.bottleneck("h1", "h2").bandwidth)}
    assert not path.topology.shaping_hosts


def test_its_netem_detaches_nothing_and_hands_out_whole_buffers() -> None:
    cable = spec().topology.links[0]
    assert cable.rightward is not None
    frame = buffer(FRAME)
    assert frame == 45 * FRAME
    lines = commands("h1-eth0", cable.rightward, frame, is_line=False, of_host=True)
    assert lines[0].endswith("netem limit 1000 delay 0.000us loss 0.5%")
    assert f"burst {frame} " in lines[1]


def test_what_the_kernel_has_is_compared() -> None:
    channel = spec().topology.links[0].rightward
    assert channel is not None
    channel = dataclasses.replace(channel, bandwidth=type(channel.bandwidth)(984_400_000))
    frame = buffer(FRAME)
    fields = {
        row.field: row.found for row in compare("h1-eth0", channel, QDISCS, frame, of_host=True)
    }
    assert fields["delay"] == "0s" and fields["loss"] == "0.5%"
    assert fields["delay line"] == "1000 packets"
    with pytest.raises(TcplabError, match="loss of 1%"):
        other = dataclasses.replace(channel, loss=Share.parse("1%"))
        compare("h1-eth0", other, QDISCS, frame, of_host=True)
    with pytest.raises(TcplabError, match="delay line"):
        short = dataclasses.replace(channel, line=Packets(999))
        compare("h1-eth0", short, QDISCS, frame, of_host=True)
