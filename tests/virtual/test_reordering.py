"""Hosts that reorder in a guest: a frozen draw changes no order, a real one does; large frames."""

import json

import pytest

from experiments.wan_reordering import WanReorderingParameters, experiment
from tests.virtual.conftest import read
from topologies.units import Duration, Packets, Rate, Size

pytestmark = pytest.mark.virtual


def small(**how: object) -> WanReorderingParameters:
    """The study at 100 Mbit/s and 10 ms: a packet takes 0.12 ms, so 1 ms is eight of them."""
    small = {
        "bw": Rate.parse("100mbit"),
        "delay": Duration.parse("5ms"),
        "queue": Packets(10_000),
        "buffer": Size.parse("6MB"),
        "duration": Duration.parse("3s"),
        "mtu": Size(1500),
    }
    return WanReorderingParameters(**(small | how))


@pytest.mark.parametrize(
    ("how", "reordered"),
    [
        ({"case": "9"}, False),
        ({"case": "9", "correlation": "off"}, True),
        # frozen below 99 %, as for all but 1 % of the seeds
        ({"case": "8", "netem": "old"}, True),
    ],
)
def test_only_a_real_draw_reorders(in_guest, how: dict[str, object], reordered: bool) -> None:
    folder = in_guest(experiment(small(**how)))[0] / "reordering"
    evidence = read(folder / "evidence.json")
    assert evidence["held"], evidence
    counters = read(folder / "counters.json")
    ahead = (
        counters["after"]["h2"]["TcpExtTCPOFOQueue"] - counters["before"]["h2"]["TcpExtTCPOFOQueue"]
    )
    assert (ahead > 100) is reordered


def test_jumbo_frames_pass_the_switch(in_guest) -> None:
    out = in_guest(experiment(small(case="baseline", mtu=Size(9000))))[0]
    settings = read(out / "environment.json")["asked_and_found"]
    assert {row["found"] for row in settings if row["field"] == "mtu"} == {"9000"}
    rows = [
        row
        for line in (out / "reordering/h1.sockets.jsonl").read_text().splitlines()
        for row in json.loads(line)["sockets"]
    ]
    assert max(row["mss"] for row in rows) == 8948
