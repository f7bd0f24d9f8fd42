"""A shaped port of the lab kernel is a line: each packet takes its own time, exactly."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from analysis.flows.ends import journeys
from analysis.flows.reader import Reading
from analysis.flows.reader import read as read_capture
from experiments.sack import SackParameters, experiment
from experiments.spec import Condition, ExperimentSpec, Flow
from tests.virtual.conftest import read
from topologies.shapes import dumbbell, two_hosts
from topologies.spec import Channel, TopologySpec
from topologies.units import Duration, Packets, Rate, Share

pytestmark = pytest.mark.virtual

InGuest = Callable[..., tuple[Path, Any]]
FRAME, SYN = 1514, 74  # bytes, with the Ethernet header
QUEUE = 20
ENDS = ("h1-eth0", "h2-eth0")


def spec(topology: TopologySpec, *flows: Flow, captures: tuple[str, ...] = ENDS) -> ExperimentSpec:
    return ExperimentSpec("link", "", topology, flows, (Condition("only", "only"),), captures)


def one_flow(channel: Channel, seconds: str = "6s") -> ExperimentSpec:
    return spec(two_hosts(channel), Flow("flow1", "h1", "h2", Duration.parse(seconds)))


def both_ends(folder: Path) -> tuple[Reading, Reading]:
    near, far = (read_capture(folder / f"{name}.pcap", packets=True) for name in ENDS)
    return near, far


def own_time(size: int, rate: Rate) -> float:
    """Nanoseconds that a packet takes on a line."""
    return size * 8e9 / rate.base


@pytest.mark.parametrize("discipline", ["fifo", "fq_codel", "sfq"])
@pytest.mark.parametrize("bandwidth", ["10mbit", "400mbit"])
def test_every_packet_takes_its_own_time(in_guest, bandwidth, discipline) -> None:
    """A lone SYN and its answer; then full frames while the line is busy."""
    rate, delay = Rate.parse(bandwidth), Duration.parse("5ms")
    channel = Channel(rate, delay, queue=Packets(QUEUE), discipline=discipline)
    folder = in_guest(one_flow(channel, "2s"))[0] / "only"
    near, far = both_ends(folder)
    assert near.packets is not None and far.packets is not None
    syn, answer = near.packets["time"][:2]
    assert answer - syn == pytest.approx(2 * (delay.base + own_time(SYN, rate)), abs=2000)
    full = far.packets.filter(pl.col("payload") == far.packets["payload"].max())
    gaps = full["time"].diff().drop_nulls()
    busy = gaps.filter(gaps < 1.5 * own_time(FRAME, rate))
    assert len(busy) > 500
    for share in (0.01, 0.99):
        assert busy.quantile(share) == pytest.approx(own_time(FRAME, rate), abs=1000)


def test_the_queue_holds_as_many_packets_as_it_should(in_guest: InGuest) -> None:
    """Those that wait, without the one on the line: exact to a packet."""
    rate, delay = Rate.parse("10mbit"), Duration.parse("20ms")
    folder = in_guest(one_flow(Channel(rate, delay, queue=Packets(QUEUE))))[0] / "only"
    trips = journeys(*both_ends(folder)).to_polars().filter("outward")
    longest = (trips["arrived"] - trips["time"]).max()
    waited = (longest - delay.base) / own_time(FRAME, rate)
    assert QUEUE < waited <= QUEUE + 1
    assert read(folder / "qdiscs.json")["after"]["s1-eth2"][2]["drops"] > 0


def test_every_condition_meets_the_same_luck(in_guest: InGuest) -> None:
    """The nth packet that comes to the link is lost in both, or in neither."""
    parameters = SackParameters(loss=Share.parse("5%"), duration=Duration.parse("10s"))
    folder, _ = in_guest(experiment(parameters))
    assert read(folder / "environment.json")["same_draws"] is True
    off, on = (fate(folder / name) for name in ("sack_off", "sack_on"))
    common = min(len(off), len(on))
    assert sum(off[:common]) > 5
    assert off[:common] == on[:common]


def fate(folder: Path) -> list[bool]:
    """Whether each packet from h1 was lost, in the order in which they came to the link."""
    near, far = both_ends(folder)
    assert far.file.last is not None
    trips = journeys(near, far).to_polars()
    outward = trips.filter("outward", pl.col("time") < far.file.last - 10**9)
    return [arrived is None for arrived in outward["arrived"]]


def test_what_is_for_a_silent_host_goes_to_it_alone(in_guest: InGuest) -> None:
    """UDP is not answered: a switch that learns by listening would send it everywhere."""
    network = dumbbell(2, Channel(Rate.parse("10mbit"), Duration.parse("1ms")))
    udp = Flow("udp", "h1", "r1", Duration.parse("2s"), rate=Rate.parse("5mbit"))
    folder = in_guest(spec(network, udp, captures=("h2-eth0", "r2-eth0", "r1-eth0")))[0] / "only"
    strangers = [read_capture(folder / f"{name}-eth0.pcap").file.packets for name in ("h2", "r2")]
    assert strangers == [0, 0]
    assert read_capture(folder / "r1-eth0.pcap").file.packets > 500
