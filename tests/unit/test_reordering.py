"""Hosts that reorder: tc's commands, the check of what the kernel has, the proof; real output."""

import copy
import dataclasses
import json
from pathlib import Path

import pytest

from analysis.measures.results import readings_of, rows_of
from analysis.records.run_directory import run_of
from experiments.flows.link_proof import reorderings
from experiments.run.seed import needed_mib
from experiments.spec import ExperimentSpec
from experiments.wan_reordering import WanReorderingParameters, experiment
from testbed.guest.shaping import compare_reordering, reordering_commands
from topologies.data import from_data, to_data
from topologies.errors import TcplabError, UsageError
from topologies.shapes import two_hosts
from topologies.spec import HostReordering
from topologies.units import WHOLE, Duration, Packets, Share, Size

PEER = "10.0.0.2"
FROZEN = HostReordering("h1", "h2", "1ms", "99%", WHOLE)
DRAWN = dataclasses.replace(FROZEN, correlation=Share(0))
# iproute2 6.1.0 in the lab kernel, 7.2.12
QDISCS = json.loads(
    '[{"kind":"prio","handle":"1:","dev":"h1-eth0","root":true,"options":{"bands":3}},{"kind":"netem","handle":"10:",'
    '"dev":"h1-eth0","parent":"1:1","options":{"limit":1000,"delay":{"delay":0.001,"jitter":0,"correlation":0},'
    '"reorder":{"reorder":0.99,"correlation":1},"ecn":false,"gap":1},"packets":137552,"drops":0,"requeues":23359}]'
)
FILTERS = json.loads(
    '[{"parent":"1:","protocol":"ip","pref":3,"kind":"u32","chain":0},{"parent":"1:","protocol":"ip","pref":3,"kind":'
    '"u32","options":{"fh":"800:","ht_divisor":1}},{"parent":"1:","protocol":"ip","pref":3,"kind":"u32","options":'
    '{"fh":"800::800","order":2048,"key_ht":"800","bkt":"0","flowid":"1:1","not_in_hw":true,"match":{"value":"a000002",'
    '"mask":"ffffffff","offmask":"","off":16}}}]'
)


def test_the_commands_are_the_published_ones() -> None:
    assert reordering_commands("h1-eth0", PEER, FROZEN) == [
        "qdisc add dev h1-eth0 root handle 1: prio",
        "qdisc add dev h1-eth0 parent 1:1 handle 10:"
        " netem limit 1000 delay 1000.000us reorder 99% 100%",
        "filter add dev h1-eth0 protocol ip parent 1:0 prio 3 u32"
        " match ip dst 10.0.0.2/32 flowid 1:1",
    ]


def test_no_correlation_is_left_out_and_a_gap_is_said() -> None:
    _, netem, _ = reordering_commands("h1-eth0", PEER, dataclasses.replace(DRAWN, gap=Packets(2)))
    assert netem.endswith("reorder 99% gap 2")


def test_what_the_kernel_has_is_what_was_asked() -> None:
    compared = compare_reordering("h1-eth0", PEER, FROZEN, QDISCS, FILTERS)
    assert {setting.field: setting.found for setting in compared} == {
        "prio": "3 bands",
        "delay": "1ms",
        "share sent at once": "99%",
        "correlation": "100%",
        "gap": "1",
        "netem limit": "1000 packets",
        "filter": "10.0.0.2 to 1:1",
    }


@pytest.mark.parametrize(
    ("field", "value", "expected"),
    [
        ("delay", Duration.parse("2ms"), "2ms"),
        ("at_once", Share.parse("98%"), "98%"),
        ("correlation", Share(0), "0%"),
        ("gap", Packets(2), "2"),
        ("limit", Packets(999), "999 packets"),
    ],
)
def test_a_difference_names_interface_and_what_was_asked(field: str, value, expected: str) -> None:
    asked = dataclasses.replace(FROZEN, **{field: value})
    with pytest.raises(TcplabError) as caught:
        compare_reordering("h1-eth0", PEER, asked, QDISCS, FILTERS)
    assert "h1-eth0" in caught.value.problem and expected in caught.value.problem


def test_another_or_no_filter_is_found() -> None:
    other = copy.deepcopy(FILTERS)
    other[2]["options"]["match"]["mask"] = "ffffff00"
    for filters in (FILTERS[:2], other):
        with pytest.raises(TcplabError, match="filter"):
            compare_reordering("h1-eth0", PEER, FROZEN, QDISCS, filters)
    with pytest.raises(TcplabError, match=r"10\.0\.0\.3"):
        compare_reordering("h1-eth0", "10.0.0.3", FROZEN, QDISCS, FILTERS)


@pytest.mark.parametrize("wrong", [{"host": "h9"}, {"peer": "s1"}, {"peer": "h1"}])
def test_who_reorders_must_be_two_hosts(wrong: dict[str, str]) -> None:
    plain = experiment(WanReorderingParameters()).topology
    with pytest.raises(UsageError):
        dataclasses.replace(plain, reordering=(dataclasses.replace(FROZEN, **wrong),))
    with pytest.raises(UsageError):
        dataclasses.replace(plain, reordering=(FROZEN, FROZEN))


@pytest.mark.parametrize(
    "wrong", [{"delay": Duration(0)}, {"at_once": Share(0)}, {"limit": Packets(0)}]
)
def test_a_reordering_that_netem_cannot_do_is_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(UsageError):
        dataclasses.replace(FROZEN, **wrong)


@pytest.mark.parametrize("name", ["case", "correlation", "netem", "sack", "tso"])
def test_words_of_the_study_are_checked(name: str) -> None:
    with pytest.raises(UsageError, match="'nothing'"):
        WanReorderingParameters(**{name: "nothing"})


def test_the_study_is_data_and_has_room_for_its_windows() -> None:
    spec = experiment(WanReorderingParameters(case="7", correlation="off", netem="old"))
    assert from_data(ExperimentSpec, to_data(spec)) == spec
    first = HostReordering("h1", "h2", "900us", "75%", Share(0), Packets(2))
    second = dataclasses.replace(first, host="h2", peer="h1")
    assert spec.topology.reordering == (first, second)
    assert spec.topology.mtu == Size(9000)
    assert 3000 < needed_mib(spec) < 5000
    assert not experiment(WanReorderingParameters(case="baseline")).topology.reordering


def written(folder: Path, data: int, at_once: int, acks: int, acks_at_once: int, seen: int) -> None:
    """Counters of a run in which both hosts' netem had done nothing before."""

    def netem(packets: int, requeues: int) -> list[dict]:
        return [{"handle": "10:", "packets": packets, "requeues": requeues, "drops": 0}]

    after = {"h1-eth0": netem(data, at_once), "h2-eth0": netem(acks, acks_at_once)}
    readings = {"before": dict.fromkeys(after, netem(0, 0)), "after": after}
    (folder / "reordering.json").write_text(json.dumps(readings))
    nothing: dict[str, dict] = {"h1": {}, "h2": {}}
    tcp = {"before": nothing, "after": nothing | {"h1": {"TcpExtTCPSACKReorder": seen}}}
    (folder / "counters.json").write_text(json.dumps(tcp))


@pytest.mark.parametrize(
    ("how", "numbers", "held"),
    [
        ({}, (1000, 150, 500, 500, 0), True),
        ({}, (1000, 0, 500, 0, 0), True),
        ({}, (1000, 150, 500, 500, 1), False),
        ({}, (1000, 0, 500, 0, 30), True),  # netem before Linux 3.6, which counts nothing
        ({}, (1000, 150, 500, 250, 0), False),
        ({"correlation": "off"}, (1000, 150, 500, 495, 20), True),
        ({"correlation": "off"}, (1000, 150, 500, 470, 20), False),
        ({"correlation": "off"}, (1000, 150, 500, 495, 0), False),
        ({"netem": "old"}, (1000, 75, 500, 250, 90), True),
        ({"netem": "old"}, (1000, 75, 500, 300, 90), False),
        ({"netem": "old", "correlation": "off"}, (1000, 75, 500, 249, 90), True),
    ],
)
def test_the_proof_follows_the_counters(tmp_path, how: dict, numbers: tuple, held: bool) -> None:
    written(tmp_path, *numbers)
    rows = reorderings(experiment(WanReorderingParameters(case="8", **how)), tmp_path)
    assert len(rows) == 2 and all(row["held"] for row in rows) is held


def test_a_topology_without_reordering_has_nothing_to_prove(tmp_path: Path) -> None:
    assert reorderings(experiment(WanReorderingParameters(case="baseline")), tmp_path) == []


def test_a_sweep_counts_what_hosts_drop(tmp_path: Path) -> None:
    spec = to_data(experiment(WanReorderingParameters()))
    folder = tmp_path / "reordering"
    folder.mkdir()
    written(folder, 1000, 150, 500, 500, 7)
    (folder / "qdiscs.json").write_text('{"before": {}, "after": {}}')
    (row,) = rows_of(readings_of(run_of(tmp_path, spec)))
    assert (row["reorderings"], row["host_drops"]) == (7, 0)


def test_two_hosts_alone_still_have_ethernets_mtu() -> None:
    channel = experiment(WanReorderingParameters()).topology.bottleneck("h1", "h2")
    assert two_hosts(channel).mtu == Size(1500)
