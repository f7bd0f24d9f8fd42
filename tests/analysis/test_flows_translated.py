"""Connections are known again behind a NAT, by what it leaves alone."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Any

import pytest

from analysis.flows.ends import match_captures
from analysis.flows.matching import summary
from tests.analysis.captures import MadeCapture, MadeFlow
from tests.analysis.test_analyze import analyze

OUTSIDE = {"hosts": ("203.0.113.5", "10.0.0.2")}


def translated(
    folder: Path,
    flows: int = 3,
    timestamps: bool = True,
    handshake: bool = True,
    same_sizes: bool = False,
) -> list[Path]:
    """Flows of one inner host whose address and ports a NAT changes, and one that it does not.

    The third data segment of each is lost behind the NAT. Ports are given in turned order.
    """
    near, far = MadeCapture(), MadeCapture()
    chance = Random(1)
    for number in range(flows):
        settings: dict[str, Any] = {"timestamps": timestamps}
        inside = near.flow(ports=(40000 + number, 5001), **settings)
        outside = far.flow(ports=(61000 - number, 5001), **OUTSIDE, **settings)
        stamps = 1000 * chance.randrange(1000)
        _packets(inside, outside, stamps, chance, handshake, same_sizes)
    return [near.write(folder, name="near.pcap"), far.write(folder, name="far.pcap")]


def _packets(
    inside: MadeFlow, outside: MadeFlow, stamps: int, chance: Random, handshake: bool, same: bool
) -> None:
    for flow, way in ((inside, 0.0), (outside, 0.02)):
        if handshake:
            flow.a.syn(way, stamp=stamps, echo=0)
            flow.b.syn(0.04 - way, stamp=stamps, echo=stamps)
            flow.a.ack(0.04 + way, stamp=stamps, echo=stamps)
    for step in range(1, 20):
        size = 1000 if same else chance.randrange(100, 1400)
        fields = {"stamp": stamps + step, "echo": stamps + step - 1}
        seq = inside.a.send(step / 10, size, **fields)
        if step == 3:
            outside.a.next, outside.a.packets = seq + size, inside.a.packets
            continue
        outside.a.send(step / 10 + 0.02, size, **fields)
        for flow, time in ((outside, 0.02), (inside, 0.04)):
            flow.b.ack(step / 10 + time, to=seq + size, **fields)


@pytest.mark.parametrize(
    "how",
    [{}, {"handshake": False}, {"timestamps": False}, {"same_sizes": True}],
    ids=["usual", "no handshake", "no timestamps", "equal lengths"],
)
def test_flows_behind_a_nat_are_matched(tmp_path: Path, how: dict[str, bool]) -> None:
    connections = match_captures(*translated(tmp_path, **how))
    ports = [
        sorted((side["port_a"], side["port_b"]))[1]
        for connection in connections
        for side in (connection.near, connection.far)
    ]
    assert ports == [40000, 61000, 40001, 60999, 40002, 60998]
    for connection in connections:
        assert connection.is_translated
        assert summary(connection.forward).lost == 1
        assert summary(connection.back).lost == 0
        assert summary(connection.forward).delay_median == 20_000_000


def test_what_cannot_be_told_apart_is_not_matched(tmp_path: Path) -> None:
    """Equal numbers and lengths without timestamps are no mark of a connection."""
    assert match_captures(*translated(tmp_path, timestamps=False, same_sizes=True)) == ()


def test_analyze_names_both_ends(tmp_path: Path) -> None:
    output = analyze("--match", *translated(tmp_path, flows=1), width=120).output
    assert "Behind a NAT: the second capture has it between 203.0.113.5:61000" in output


@pytest.mark.parametrize("timestamps", [True, False])
def test_captures_of_different_flows_have_nothing_in_common(
    tmp_path: Path, timestamps: bool
) -> None:
    files = []
    for host, begin in (("10.0.0.1", 0), ("10.1.0.1", 7)):
        flow = MadeCapture().flow(hosts=(host, "10.0.0.2"), timestamps=timestamps).open()
        for step in range(20):
            flow.a.send(begin + 0.1 + step / 10)
            flow.b.ack(begin + 0.14 + step / 10)
        files.append(flow.capture.write(tmp_path, name=f"{host}.pcap"))
    assert match_captures(*files) == ()
