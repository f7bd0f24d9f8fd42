"""Proofs from counters and samples: what holds, what does not, and how far chance goes."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from experiments.flows.proof import evidence
from experiments.spec import Condition, ExperimentSpec, Flow, Proof
from experiments.study.catalogue import find
from experiments.study.grid import single
from testbed.guest.network import LiveNetwork
from topologies.errors import UsageError
from topologies.shapes import two_hosts
from topologies.spec import Channel
from topologies.units import Duration, Packets

PORTS = ("s1-eth1", "s1-eth2")


def spec(loss: str) -> ExperimentSpec:
    flows = (Flow("flow1", "h1", "h2", Duration.parse("1s")),)
    link = two_hosts(Channel("1mbit", "10ms", loss))
    return ExperimentSpec("x", "", link, flows, (Condition("c", "c"),))


def rows(left: int, lost: int, overflowed: int) -> list[dict]:
    return [
        {"handle": "1:", "packets": left, "drops": lost + overflowed},
        {"handle": "2:", "packets": left, "drops": overflowed},
        {"handle": "3:", "packets": left, "drops": overflowed},
    ]


def counted(folder: Path, left: int, lost: int, overflowed: int = 0) -> None:
    """Counters that had seen 100 packets and 50 losses before."""
    before, after = rows(100, 50, 5), rows(100 + left, 50 + lost, 5 + overflowed)
    readings = {"before": dict.fromkeys(PORTS, before), "after": dict.fromkeys(PORTS, after)}
    (folder / "qdiscs.json").write_text(json.dumps(readings))


def sampled(folder: Path, *samples: list[dict[str, object]]) -> None:
    """Samples of h1's sockets; each is connected to the receiver of the flow unless it says so."""
    usual = {"remote": "10.0.0.2:5001", "state": "ESTAB"}
    lines = [{"time": 1, "sockets": [usual | each for each in sockets]} for sockets in samples]
    (folder / "h1.sockets.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))


@pytest.mark.parametrize(
    "routes, held",
    [
        (["10.0.0.0/16 dev h1-eth0 scope link initcwnd 3"], True),
        (["10.0.0.0/16 dev h1-eth0 initcwnd 3", "10.1.0.0/16 via 10.0.0.2 initcwnd 3 "], True),
        (["10.0.0.0/16 dev h1-eth0 initcwnd 3", "10.1.0.0/16 via 10.0.0.2"], False),
        (["10.0.0.0/16 dev h1-eth0 initcwnd 32"], False),
        ([], False),
    ],
)
def test_all_routes_prove_the_initial_window(tmp_path: Path, routes: list[str], held: bool) -> None:
    (tmp_path / "routes.json").write_text(json.dumps({"h1": routes}))
    condition = Condition("from_3", "from 3", initial_window=Packets(3))
    counted(tmp_path, 1000, 0)
    assert evidence(condition, spec("0%"), tmp_path)["held"] is held


@pytest.mark.parametrize("window", [0, 1001])
def test_an_impossible_initial_window_is_refused(window: int) -> None:
    with pytest.raises(UsageError, match="initial window"):
        Condition("none", "none", initial_window=Packets(window))


def test_a_route_keeps_all_but_its_initial_window() -> None:
    route = "10.0.0.0/16 dev h1-eth0 proto kernel scope link src 10.0.0.1"
    typed: list[str] = []

    class Routes(LiveNetwork):
        def output(self, node: str, command: list[str], text: str = "") -> str:
            typed.append(text)
            return "" if text else f"{route} initcwnd 3 \n"

    live = Routes(two_hosts(Channel("1mbit")), None)
    live.set_initial_window("h1", Packets(10))
    live.set_initial_window("h1", None)
    assert [text.strip() for text in typed if text] == [
        f"route change {route} initcwnd 10",
        f"route change {route}",
    ]


@pytest.mark.parametrize(
    ("loss", "left", "lost", "overflowed", "held"),
    [
        ("10%", 900, 100, 0, True),
        ("10%", 860, 140, 0, True),  # 4.2 standard deviations
        ("10%", 850, 150, 0, False),  # 5.3
        ("10%", 1000, 0, 0, False),
        ("10%", 900, 80, 500, False),  # 1480 entered, so 148 were due
        ("0%", 1000, 0, 300, True),
        ("0%", 1000, 1, 0, False),
        ("100%", 0, 1000, 0, True),
        ("100%", 1, 999, 0, False),
        ("0.001%", 1_000_000, 10, 0, True),
    ],
)
def test_the_loss_is_what_was_asked_within_chance(
    tmp_path: Path, loss: str, left: int, lost: int, overflowed: int, held: bool
) -> None:
    counted(tmp_path, left, lost, overflowed)
    proof = evidence(Condition("c", "c"), spec(loss), tmp_path)
    assert proof["held"] is held
    assert [row["held"] for row in proof["proofs"]] == [held, held]


def test_a_port_that_nothing_entered_proves_nothing(tmp_path: Path) -> None:
    counted(tmp_path, 0, 0)
    assert evidence(Condition("c", "c"), spec("10%"), tmp_path) == {"held": True, "proofs": []}


@pytest.mark.parametrize(
    ("names", "held"),
    [
        (["bbr"], True),
        (["cubic"], False),
        (["bbr", "cubic"], False),
        ([], False),
        (["", "bbr"], True),  # an old kernel's half-open socket
        ([""], False),
    ],
)
def test_the_congestion_control_is_that_of_every_sample(tmp_path, names, held) -> None:
    counted(tmp_path, 0, 0)
    other = {"remote": "10.0.0.2:9", "congestion_control": "reno"}
    sampled(tmp_path, *([{"congestion_control": name}, other] for name in names))
    condition = Condition("c", "c", proofs=(Proof("congestion_control", "bbr"),))
    assert evidence(condition, spec("0%"), tmp_path)["held"] is held


@pytest.mark.parametrize(
    ("states", "held"),
    [
        ([("ESTAB", True)], True),
        ([("SYN-SENT", False), ("ESTAB", True)], True),
        ([("ESTAB", False)], False),
        ([("SYN-SENT", False)], False),
        ([], False),
    ],
)
def test_without_a_capture_sack_is_that_of_the_connected_socket(tmp_path, states, held) -> None:
    counted(tmp_path, 0, 0)
    sampled(tmp_path, *([{"state": state, "sack": sack}] for state, sack in states))
    condition = Condition("c", "c", proofs=(Proof("sack_permitted", "on"),))
    assert evidence(condition, spec("0%"), tmp_path)["held"] is held


@pytest.mark.parametrize(
    ("handed", "lost", "overflowed", "held"),
    [
        (1000, 100, 0, True),  # 20 000 segments, but 1000 draws
        (20_000, 100, 0, False),
        (1000, 160, 0, False),
        (1000, 100, 40, True),  # of netem's drops none to all were the queue's segments
        (1000, 40, 60, True),
        (1000, 160, 40, False),
    ],
)
def test_with_segmentation_on_netem_draws_once_for_each_buffer(
    tmp_path: Path, handed: int, lost: int, overflowed: int, held: bool
) -> None:
    before, after = rows(0, 0, 0), rows(20_000, lost, overflowed)
    readings = {"before": dict.fromkeys(PORTS, before), "after": dict.fromkeys(PORTS, after)}
    (tmp_path / "qdiscs.json").write_text(json.dumps(readings))
    counters = {"before": {"IpOutRequests": 7}, "after": {"IpOutRequests": 7 + handed}}
    (tmp_path / "counters.json").write_text(
        json.dumps({when: {"h1": counters[when], "h2": counters[when]} for when in counters})
    )
    plain = spec("10%")
    big = replace(plain, topology=replace(plain.topology, segmentation="on"))
    assert evidence(Condition("c", "c"), big, tmp_path)["held"] is held


def test_dctcp_without_ecn_names_the_remedy(tmp_path: Path) -> None:
    counted(tmp_path, 1000, 0)
    made = spec("0%")
    made = replace(made, flows=(replace(made.flows[0], congestion_control="dctcp"),))
    sampled(tmp_path, [{"congestion_control": "dctcp-reno"}])
    found = evidence(made.conditions[0], made, tmp_path)
    assert not found["held"]
    (row,) = [each for each in found["proofs"] if "dctcp" in each["claim"]]
    assert "--set flows.N.ecn=accurate" in row["observed"][0]
    _, beside = single(find("cubic_vs_reno"), ["beside=dctcp"]).spec.flows
    assert beside.ecn == "accurate"
