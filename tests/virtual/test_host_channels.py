"""A sender whose own port loses packets: the loss is proved, and its TCP feels its own queue."""

import pytest

from experiments.sack_loss_sweep import SackLossSweepParameters, experiment
from tests.virtual.conftest import read
from topologies.units import Duration, Rate, Share

pytestmark = pytest.mark.virtual


def test_the_senders_own_port_loses_its_share_of_buffers(in_guest) -> None:
    parameters = SackLossSweepParameters(
        bw=Rate.parse("100mbit"),
        loss=Share.parse("1%"),
        duration=Duration.parse("5s"),
        place="host",
    )
    out = in_guest(experiment(parameters))[0]
    settings = {
        row["field"]: row["found"]
        for row in read(out / "environment.json")["asked_and_found"]
        if row["interface"] == "h1-eth0"
    }
    assert (settings["loss"], settings["delay"], settings["rate"]) == ("1%", "0s", "100mbit")
    for condition in ("sack_off", "sack_on"):
        evidence = read(out / condition / "evidence.json")
        assert evidence["held"], evidence
        counters = read(out / condition / "qdiscs.json")
        drops = {row["handle"]: row["drops"] for row in counters["after"]["h1-eth0"]}
        assert drops["1:"] > 0 and drops["3:"] == 0


def test_whole_buffers_arrive_so_acknowledgements_are_few(in_guest) -> None:
    """A frame of its own for each segment has an ACK for every second one."""
    acknowledgements = {}
    for place in ("path", "host"):
        parameters = SackLossSweepParameters(
            bw=Rate.parse("100mbit"), loss=Share(0), duration=Duration.parse("3s"), place=place
        )
        folder = in_guest(experiment(parameters))[0] / "sack_on"
        counters = read(folder / "counters.json")
        grown = {
            host: counters["after"][host]["TcpOutSegs"] - counters["before"][host]["TcpOutSegs"]
            for host in ("h1", "h2")
        }
        acknowledgements[place] = grown["h2"] / grown["h1"]
    assert acknowledgements["path"] == pytest.approx(0.5, abs=0.05)
    assert acknowledgements["host"] < 0.1
