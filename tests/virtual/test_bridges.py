"""A network of bridges, as kernels without Open vSwitch need, carries the same packets."""

import json
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

from analysis.flows.reader import read
from experiments.sack import SackParameters, experiment
from testbed.host.supervise import Limits
from testbed.lab.ready import Lab
from testbed.virtual.run import run_in_guest
from topologies.data import to_data
from topologies.units import Duration, Share

pytestmark = pytest.mark.virtual
FIELDS = ("forward", "sequence", "acknowledgement", "payload", "window", "flags", "ttl")
# Nanoseconds of the guest: every look at the clock takes 256, and without the daemons of Open
# vSwitch there are fewer. Up to a millisecond where a program decides when something ends.
MOST, ANY = 1024, 1_000_000


def test_bridges_and_open_vswitch_carry_the_same_packets(ready_lab: Lab, tmp_path: Path) -> None:
    """On a link without loss: chance has been used otherwise before, so losses would be others."""
    switched = packets(ready_lab, tmp_path / "switched", "Open vSwitch")
    bridged = packets(replace(ready_lab, open_vswitch=False), tmp_path / "bridged", "bridge")
    assert len(switched) > 300
    assert switched.select(FIELDS).equals(bridged.select(FIELDS))
    later = (since_the_first(switched) - since_the_first(bridged)).abs()
    assert later.quantile(0.9) <= MOST
    assert later.max() < ANY


def packets(lab: Lab, out: Path, switches: str) -> pl.DataFrame:
    out.mkdir()
    lossless = experiment(SackParameters(duration=Duration.parse("4s"), loss=Share.parse("0%")))
    limits = Limits(120)
    data = to_data(lossless)
    run_in_guest(lab, "experiments.flows.procedure", data, 7, out, lambda *_: None, limits)
    assert json.loads((out / "environment.json").read_text())["switches"] == switches
    frame = read(out / "sack_on" / "h2-eth0.pcap", packets=True).packets
    assert frame is not None
    return frame


def since_the_first(frame: pl.DataFrame) -> pl.Series:
    return frame["time"] - frame["time"][0]
